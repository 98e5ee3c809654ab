//go:build ignore

// ranks is a parallel program of which one process does the I/O: it writes what
// the others compute and send it through pipes.
//
//	ranks FILE PROCESSES STEPS
//
// Each process reads FILE, the input, and before each step looks whether FILE.stop
// is there, which isn't. Then all but the last compute 1 ms and send 64 KiB, which
// the last writes into FILE.out, with an fsync every 10 steps.

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

enum { SIZE = 64 << 10, MAX = 64 };

static char buf[SIZE];

static void compute(double seconds)
{
	for (double from = now(); now() - from < seconds;)
		;
}

static void input(const char *file)
{
	int fd = open(file, O_RDONLY);
	check(fd >= 0, file);
	while (read(fd, buf, 4096) > 0)
		;
	close(fd);
}

// stopped reports whether the end was requested.
static int stopped(const char *file)
{
	char name[4096];
	snprintf(name, sizeof name, "%s.stop", file);
	return access(name, F_OK) == 0;
}

static void sends(const char *file, int to, long steps)
{
	input(file);
	for (long i = 0; i < steps && !stopped(file); i++) {
		compute(1e-3);
		for (long sent = 0, n; sent < SIZE; sent += n)
			check((n = write(to, buf, SIZE - sent)) > 0, "write");
	}
	_exit(0);
}

static void receives(const char *file, int *from, long senders, long steps)
{
	char name[4096];
	input(file);
	snprintf(name, sizeof name, "%s.out", file);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0, name);
	for (long i = 0; i < steps && !stopped(file); i++) {
		for (long k = 0; k < senders; k++) {
			for (long got = 0, n; got < SIZE; got += n)
				check((n = read(from[k], buf + got, SIZE - got)) > 0, "read");
			check(write(fd, buf, SIZE) == SIZE, "write");
		}
		if (i % 10 == 9)
			check(fsync(fd) == 0, "fsync");
	}
	check(close(fd) == 0, "close");
	_exit(0);
}

int main(int argc, char **argv)
{
	int pipes[MAX][2], from[MAX], status;
	long processes = argc == 4 ? atol(argv[2]) : 0;
	if (processes < 2 || processes > MAX) {
		fprintf(stderr, "ranks: want FILE PROCESSES STEPS\n");
		return 2;
	}
	memset(buf, 1, sizeof buf);
	for (long i = 0; i < processes; i++) {
		if (i < processes - 1) {
			check(pipe(pipes[i]) == 0, "pipe");
			from[i] = pipes[i][0];
		}
		pid_t pid = fork();
		check(pid >= 0, "fork");
		if (pid == 0 && i < processes - 1)
			sends(argv[1], pipes[i][1], atol(argv[3]));
		if (pid == 0)
			receives(argv[1], from, processes - 1, atol(argv[3]));
	}
	for (long i = 0; i < processes; i++)
		check(wait(&status) > 0 && status == 0, "a process failed");
	return 0;
}
