/* Makes processes, whose number is the argument, with two threads that each map the file data at the
 * same time, far apart, and unmap it. One is later than the other by a little more each time, for
 * the kernel lets only one map at a time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH (3 * 65536)
#define FAR (void *)((uintptr_t)6 << 44)

static atomic_int waiting, failed;
static int fd, late;

static void *map(void *address)
{
	void *at;

	atomic_fetch_sub(&waiting, 1);
	while (atomic_load(&waiting))
		;
	for (volatile int i = 0; address == FAR && i < late; i++)
		;
	at = mmap(address, LENGTH, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || munmap(at, LENGTH))
		atomic_store(&failed, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	int status;

	fd = open("data", O_RDONLY);
	for (int i = 0; i < atoi(argv[1]); i++) {
		pthread_t other;

		if (!fork()) {
			waiting = 2;
			late = i % 100 * 50;
			if (pthread_create(&other, NULL, map, (void *)((uintptr_t)1 << 40)))
				_exit(1);
			map(FAR);
			pthread_join(other, NULL);
			_exit(failed);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	return 0;
}
