//go:build ignore

// stride is the program of Feign's first experiment: it loops over a file, and
// seeks 1000 KiB forward, reads 1 KiB and computes each time.
//
//	stride make FILE READS           makes the file
//	stride cold FILE                 drops it from the page cache
//	stride run  FILE READS MS AHEAD  reads it, computes MS milliseconds after each read, and
//	                                 announces (posix_fadvise) each AHEAD reads before; 0: none
//
// run prints the seconds in reads and those from the first to the end of the
// last.

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

enum { SKIP = 1000 << 10, SIZE = 1 << 10, STRIDE = SKIP + SIZE };

static char buf[STRIDE];

static void announce(int fd, long i)
{
	check(posix_fadvise(fd, i * STRIDE + SKIP, SIZE, POSIX_FADV_WILLNEED) == 0, "posix_fadvise");
}

static void run(int fd, long reads, double compute, long ahead)
{
	double start = now(), spent = 0;
	for (long i = 0; i < ahead && i < reads; i++)
		announce(fd, i);
	for (long i = 0; i < reads; i++) {
		check(lseek(fd, SKIP, SEEK_CUR) >= 0, "lseek");
		double from = now();
		check(read(fd, buf, SIZE) == SIZE, "read");
		spent += now() - from;
		if (ahead > 0 && i + ahead < reads)
			announce(fd, i + ahead);
		double until = now() + compute;
		while (now() < until)
			;
	}
	printf("%.9f %.9f\n", spent, now() - start);
}

int main(int argc, char **argv)
{
	memset(buf, 1, sizeof buf); // faults it in
	if (argc == 4 && !strcmp(argv[1], "make")) {
		int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		check(fd >= 0, argv[2]);
		for (long i = atol(argv[3]); i > 0; i--)
			check(write(fd, buf, sizeof buf) == sizeof buf, "write");
		return 0;
	}
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	if (argc == 3 && !strcmp(argv[1], "cold")) {
		check(fd >= 0, argv[2]);
		check(fsync(fd) == 0, "fsync"); // pages that are to be written would stay
		check(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "posix_fadvise");
	} else if (argc == 6 && !strcmp(argv[1], "run")) {
		check(fd >= 0, argv[2]);
		run(fd, atol(argv[3]), atof(argv[4]) / 1e3, atol(argv[5]));
	} else {
		fprintf(stderr, "stride: want make FILE READS, cold FILE or run FILE READS MS AHEAD\n");
		return 2;
	}
	return 0;
}
