// load.h is what the programs of this directory share.

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// now returns seconds.
static inline double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}
