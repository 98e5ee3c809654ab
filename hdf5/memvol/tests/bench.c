/* bench DIR RUNS LARGE: times H5Dwrite, H5Dread and a whole file, from H5Fcreate to
   H5Fclose, of a file with one dataset of integers: on native files, on HDF5's core
   driver without its file, and on the connector, in turn. RUNS of 10x10, 50x50 and
   100x100, LARGE of 64 MiB. Prints microseconds: the median, and the quartiles.

   bench samples DIR RUNS SIDE WAY: times the write and the read of SIDExSIDE integers in one
   way, native, core or connector, and prints both of each run. */
#include "test.h"
#include <time.h>
#include <unistd.h>

enum { WAYS = 3 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static hid_t fapl[WAYS];

/* once writes and reads a new file in one way. times has the microseconds of the write, the
   read, and the whole file. */
static void once(const char *path, int way, hid_t space, const int *data, int *back, size_t size, double times[3])
{
	double z = now();
	hid_t file = OK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl[way]));
	hid_t set = OK(H5Dcreate2(file, "set", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	double a = now();
	OK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	double b = now();
	OK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
	double c = now();
	OK(H5Dclose(set));
	OK(H5Fclose(file));
	double d = now();
	if (memcmp(data, back, size)) {
		fprintf(stderr, "bench: other data were read\n");
		exit(1);
	}
	memset(back, 0, size);
	if (way != 1)
		OK(H5Fdelete(path, fapl[way]));
	times[0] = b - a;
	times[1] = c - b;
	times[2] = d - z;
}

int main(int argc, char **argv)
{
	int samples = argc == 6 && !strcmp(argv[1], "samples"), way = 0, sides[] = {10, 50, 100, 4096};
	const char *ways[WAYS] = {"native", "core driver", "connector"}, *what[3] = {"write", "read", "whole file"};
	if (samples)
		while (way < WAYS && strncmp(ways[way], argv[5], strlen(argv[5])))
			way++;
	if ((argc != 4 && !samples) || way == WAYS) {
		fprintf(stderr, "usage: bench DIR RUNS LARGE, or bench samples DIR RUNS SIDE native|core|connector\n");
		return 2;
	}
	if (samples) {
		argv++;
		sides[0] = atoi(argv[3]);
	}
	for (int i = 0; i < WAYS; i++) {
		fapl[i] = OK(H5Pcreate(H5P_FILE_ACCESS));
		if (i < 2)
			OK(H5Pset_vol(fapl[i], H5VL_NATIVE, NULL));
	}
	OK(H5Pset_fapl_core(fapl[1], 1 << 20, 0));
	char path[4096];
	snprintf(path, sizeof path, "%s/bench.h5", argv[1]);
	if (!samples)
		printf("%-12s %-12s %-12s %10s %10s %10s\n", "integers", "us", "", "median", "quartile", "quartile");
	for (int s = 0; s < (samples ? 1 : 4); s++) {
		size_t runs = (size_t)atoi(argv[s < 3 ? 2 : 3]), n = (size_t)sides[s] * (size_t)sides[s];
		if (runs == 0)
			continue;
		hsize_t dims[] = {(hsize_t)sides[s], (hsize_t)sides[s]};
		int *data = malloc(n * sizeof *data), *back = calloc(n, sizeof *back);
		double *times[WAYS][3];
		for (int w = 0; w < WAYS; w++)
			for (int k = 0; k < 3; k++)
				times[w][k] = calloc(runs, sizeof(double));
		for (size_t i = 0; i < n; i++)
			data[i] = (int)i;
		hid_t space = OK(H5Screate_simple(2, dims, NULL));
		for (size_t r = 0; r < runs + 3; r++) /* the first three are not counted */
			for (int w = samples ? way : 0; w < (samples ? way + 1 : WAYS); w++) {
				double took[3];
				once(path, w, space, data, back, n * sizeof *data, took);
				for (int k = 0; k < 3 && r >= 3; k++)
					times[w][k][r - 3] = took[k];
			}
		for (size_t r = 0; samples && r < runs; r++)
			printf("%.2f %.2f\n", times[way][0][r], times[way][1][r]);
		char name[24];
		if (s < 3)
			snprintf(name, sizeof name, "%dx%d", sides[s], sides[s]);
		else
			strcpy(name, "64 MiB");
		for (int k = 0; k < 3 && !samples; k++)
			for (int w = 0; w < WAYS; w++) {
				double *t = times[w][k];
				qsort(t, runs, sizeof *t, rising);
				printf("%-12s %-12s %-12s %10.2f %10.2f %10.2f\n", name, what[k], ways[w], t[runs / 2], t[runs / 4], t[runs * 3 / 4]);
			}
		for (int w = 0; w < WAYS; w++)
			for (int k = 0; k < 3; k++)
				free(times[w][k]);
		free(data);
		free(back);
		OK(H5Sclose(space));
	}
	for (int i = 0; i < WAYS; i++)
		OK(H5Pclose(fapl[i]));
	return 0;
}
