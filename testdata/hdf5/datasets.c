/* datasets FILE N TIMES: writes TIMES datasets of N by N integers into an HDF5
   file, closes it, opens it again and reads them all. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static hid_t checked(hid_t id, const char *what)
{
	if (id < 0) {
		fprintf(stderr, "datasets: %s failed\n", what);
		exit(1);
	}
	return id;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: datasets FILE N TIMES\n");
		return 2;
	}
	int n = atoi(argv[2]), times = atoi(argv[3]);
	hsize_t dims[] = {n, n};
	int *data = malloc(sizeof *data * n * n), *back = malloc(sizeof *back * n * n);
	char name[32];

	hid_t file = checked(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate");
	hid_t space = checked(H5Screate_simple(2, dims, NULL), "H5Screate_simple");
	for (int t = 0; t < times; t++) {
		for (int i = 0; i < n * n; i++)
			data[i] = t + i;
		snprintf(name, sizeof name, "set%04d", t);
		hid_t set = checked(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2");
		checked(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "H5Dwrite");
		checked(H5Dclose(set), "H5Dclose");
	}
	checked(H5Sclose(space), "H5Sclose");
	checked(H5Fclose(file), "H5Fclose");

	file = checked(H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
	for (int t = 0; t < times; t++) {
		snprintf(name, sizeof name, "set%04d", t);
		hid_t set = checked(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
		checked(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back), "H5Dread");
		checked(H5Dclose(set), "H5Dclose");
		if (back[0] != t || back[n * n - 1] != t + n * n - 1) {
			fprintf(stderr, "datasets: %s holds something else\n", name);
			return 1;
		}
	}
	checked(H5Fclose(file), "H5Fclose");
	return 0;
}
