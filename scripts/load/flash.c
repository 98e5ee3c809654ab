//go:build ignore

// flash writes a checkpoint through HDF5 as the I/O kernel of FLASH does, from eight processes:
// for each unknown a dataset of all blocks, and attributes of 4 and 8 bytes.
//
//	flash FILE TIMES
//
// Each process writes a file of its own, FILE.0 to FILE.7, so many times.

#include <hdf5.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

enum { PROCESSES = 8, UNKNOWNS = 24, BLOCKS = 80, CELLS = 8, ATTRIBUTES = 5 };

static double block[BLOCKS][CELLS][CELLS][CELLS];

static void attribute(hid_t set, int k)
{
	char name[32];
	long value = k;
	hid_t type = k % 2 ? H5T_NATIVE_INT : H5T_NATIVE_LONG, space = H5Screate(H5S_SCALAR);
	snprintf(name, sizeof name, "attribute%d", k);
	hid_t a = H5Acreate2(set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	check(a >= 0 && H5Awrite(a, type, &value) >= 0 && H5Aclose(a) >= 0 && H5Sclose(space) >= 0, name);
}

static void checkpoint(const char *path)
{
	hsize_t dims[] = {BLOCKS, CELLS, CELLS, CELLS};
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(4, dims, NULL);
	check(file >= 0 && space >= 0, path);
	for (int u = 0; u < UNKNOWNS; u++) {
		char name[32];
		snprintf(name, sizeof name, "unknown%02d", u);
		hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		check(set >= 0, name);
		for (int k = 0; k < ATTRIBUTES; k++)
			attribute(set, k);
		check(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, block) >= 0, name);
		check(H5Dclose(set) >= 0, name);
		check(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0, path); // a file that is cut off has what was written
	}
	check(H5Sclose(space) >= 0 && H5Fclose(file) >= 0, path);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "flash: want FILE TIMES\n");
		return 2;
	}
	memset(block, 1, sizeof block);
	for (int p = 0; p < PROCESSES; p++) {
		pid_t child = fork();
		check(child >= 0, "fork");
		if (child == 0) {
			char path[4096];
			snprintf(path, sizeof path, "%s.%d", argv[1], p);
			for (int i = atoi(argv[2]); i > 0; i--)
				checkpoint(path);
			return 0;
		}
	}
	for (int p = 0, status; p < PROCESSES; p++)
		check(wait(&status) > 0 && status == 0, "wait");
	return 0;
}
