//go:build ignore

// opens is threads that open, read and close, and so take one another's numbers
// of descriptors.
//
//	opens FILE THREADS TIMES

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "load.h"

enum { MAX = 64 };

static const char *file;
static int times;

static void *reader(void *unused)
{
	char buf[512];
	for (int i = 0; i < times; i++) {
		int fd = open(file, O_RDONLY);
		check(fd >= 0, file);
		check(read(fd, buf, sizeof buf) == sizeof buf, "read");
		close(fd);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX];
	check(argc == 4, "usage: opens FILE THREADS TIMES");
	file = argv[1];
	int n = atoi(argv[2]);
	times = atoi(argv[3]);
	check(n > 0 && n <= MAX, "threads");
	for (int i = 0; i < n; i++)
		check(pthread_create(&threads[i], NULL, reader, NULL) == 0, "pthread_create");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
