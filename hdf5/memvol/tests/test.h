/* test.h: what the test programs share. */
#ifndef TEST_H
#define TEST_H
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a call has failed. */
#define OK(call) checked((long long)(call), #call, __FILE__, __LINE__)
#define IS(wanted, got) equals((long long)(wanted), (long long)(got), #got, __FILE__, __LINE__)

static inline long long checked(long long result, const char *call, const char *file, int line)
{
	if (result < 0) {
		fprintf(stderr, "%s:%d: failed: %s\n", file, line, call);
		exit(1);
	}
	return result;
}

static inline void equals(long long wanted, long long got, const char *what, const char *file, int line)
{
	if (wanted != got) {
		fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, got, wanted);
		exit(1);
	}
}
#endif
