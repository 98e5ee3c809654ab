// Prints the nanoseconds that a page fault of a kind takes: the fastest of some rounds.
//
//	faults KIND FILE [wait]
//
// With wait it waits for a byte on standard input first, and after it has printed for the end of that.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096, AROUND = 16, ROUNDS = 12, COLD_ROUNDS = 2 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int anonymous = !strcmp(kind, "anonymous") || !strcmp(kind, "zero"), cold = !strcmp(kind, "cold"), step = 1;
	int write = !strcmp(kind, "anonymous") || !strcmp(kind, "dirty") || !strcmp(kind, "cow");
	int fd, flags = anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : !strcmp(kind, "cow") ? MAP_PRIVATE : MAP_SHARED;
	size_t bytes = (size_t)PAGES * PAGE;
	char byte = 0, page[PAGE] = {0};
	double best = 1e18;

	if (argc < 3 || (fd = open(argv[2], O_RDWR | O_CREAT, 0600)) < 0)
		return 2;
	for (int i = 0; i < PAGES; i++)
		if (pwrite(fd, page, PAGE, (off_t)i * PAGE) != PAGE)
			return 2;
	fsync(fd);
	if (!strcmp(kind, "around"))
		step = AROUND;
	if (argc > 3 && read(0, &byte, 1) != 1)
		return 2;
	for (int round = 0; round < (cold ? COLD_ROUNDS : ROUNDS); round++) {
		volatile char *p;
		double took;

		if (cold)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (!strcmp(kind, "dirty"))
			fsync(fd); // clean again
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, anonymous ? -1 : fd, 0);
		if (p == MAP_FAILED)
			return 2;
		madvise((void *)p, bytes, anonymous ? MADV_NOHUGEPAGE : MADV_RANDOM);
		took = now();
		for (int i = 0; i < PAGES; i += step)
			if (write)
				p[(size_t)i * PAGE] = 1;
			else
				byte += p[(size_t)i * PAGE];
		took = (now() - took) / (PAGES / step);
		if (took < best)
			best = took;
		munmap((void *)p, bytes);
	}
	printf("%.1f\n", best);
	fflush(stdout);
	if (argc > 3)
		(void)!read(0, &byte, 1);
	return 0;
}
