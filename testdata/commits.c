// commits FILE THREADS COMMITS: threads that append to a log and wait until it is durable, in
// groups: a thread writes and syncs for all that wait, if no other thread is writing.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t synced = PTHREAD_COND_INITIALIZER;
static long wanted, durable; // commits
static int fd, writing, commits;
static char bytes[1 << 16];

static void commit(void)
{
	pthread_mutex_lock(&lock);
	long mine = ++wanted;
	while (durable < mine) {
		if (writing) {
			pthread_cond_wait(&synced, &lock);
			continue;
		}
		long upto = wanted, size = 100 * (upto - durable);
		writing = 1;
		pthread_mutex_unlock(&lock);
		if (write(fd, bytes, size) != size || fdatasync(fd))
			exit(1);
		pthread_mutex_lock(&lock);
		durable = upto;
		writing = 0;
		pthread_cond_broadcast(&synced);
	}
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	unsigned seed = (long)arg;
	volatile unsigned sum = 0;
	for (int i = 0; i < commits; i++) {
		for (int n = rand_r(&seed) % 20000; n; n--)
			sum += n;
		commit();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t all[64];
	int threads = argc == 4 ? atoi(argv[2]) : 0;
	if (threads < 1 || threads > 64)
		return 2;
	commits = atoi(argv[3]);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	for (long i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return fd < 0 || close(fd);
}
