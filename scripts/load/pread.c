//go:build ignore

// pread reads 4 KiB at a time from the first MiB of a file that is in the page
// cache, as plainly as C can: what a replay of the same reads is measured by.
//
//	pread bare  FILE CALLS              as fast as it goes, without a clock in the loop
//	pread clock FILE CALLS              the same with one reading of the clock a call
//	pread means FILE CALLS              the same; prints the mean nanoseconds of each thousand calls
//	pread spin  FILE CALLS GAP          each GAP nanoseconds after the last was due, spinning until then
//	pread after FILE CALLS GAP          each GAP nanoseconds after the last ended, spinning until then
//	pread sleep FILE CALLS GAP THREADS  as spin, in so many threads that sleep until then
//
// All others print the seconds from the first call to the end of the last.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4096, PAGES = 256, MAX_THREADS = 64 };

static int fd;
static long calls, gap, threads = 1;
static long start; // ns of CLOCK_MONOTONIC

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void call(char *buf, long i)
{
	if (syscall(SYS_pread64, fd, buf, SIZE, i % PAGES * SIZE) != SIZE) {
		perror("pread");
		exit(1);
	}
}

static void *sleeper(void *number)
{
	char buf[SIZE];
	long due = start + (long)number * gap / threads;
	prctl(PR_SET_TIMERSLACK, 1);
	memset(buf, 1, SIZE);
	for (long i = 0; i < calls; i++, due += gap) {
		struct timespec t = {due / 1000000000, due % 1000000000};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		call(buf, i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char buf[SIZE] __attribute__((aligned(SIZE)));
	if (argc < 4 || (fd = open(argv[2], O_RDONLY)) < 0 || (calls = atol(argv[3])) < 1) {
		fprintf(stderr, "pread: want bare|clock|means|spin|after|sleep FILE CALLS [GAP [THREADS]]\n");
		return 2;
	}
	if (argc > 4)
		gap = atol(argv[4]);
	if (argc > 5)
		threads = atol(argv[5]);
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	memset(buf, 1, SIZE); // faults it in
	start = now();
	if (!strcmp(argv[1], "bare")) {
		for (long i = 0; i < calls; i++)
			call(buf, i);
	} else if (!strcmp(argv[1], "clock")) {
		volatile long last;
		for (long i = 0; i < calls; i++) {
			call(buf, i);
			last = now();
		}
		(void)last;
	} else if (!strcmp(argv[1], "means")) {
		for (long i = 0; i < calls / 1000; i++, start = now()) {
			for (int k = 0; k < 1000; k++)
				call(buf, k);
			printf("%.3f\n", (now() - start) / 1e3);
		}
		return 0;
	} else if (!strcmp(argv[1], "spin")) {
		for (long i = 0, due = start + gap; i < calls; i++, due += gap) {
			while (now() < due)
				;
			call(buf, i);
		}
	} else if (!strcmp(argv[1], "after")) {
		for (long i = 0; i < calls; i++) {
			long due = now() + gap;
			while (now() < due)
				;
			call(buf, i);
		}
	} else {
		pthread_t t[MAX_THREADS];
		start += 1000000; // until all of them are there
		for (long k = 0; k < threads; k++)
			if (pthread_create(&t[k], NULL, sleeper, (void *)k))
				return 1;
		for (long k = 0; k < threads; k++)
			pthread_join(t[k], NULL);
	}
	printf("%.9f\n", (now() - start) / 1e9);
	return 0;
}
