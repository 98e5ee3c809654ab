#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { steps = 24, rows = 512, columns = 512 };
static double cells[rows][columns];

static void simulate(const char *name)
{
	hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hsize_t all[3] = {0, rows, columns}, most[3] = {H5S_UNLIMITED, rows, columns}, chunk[3] = {1, 64, 64};
	hid_t space = H5Screate_simple(3, all, most), made = H5Pcreate(H5P_DATASET_CREATE), sets[3];
	H5Pset_chunk(made, 3, chunk);
	for (int k = 0; k < 3; k++) {
		char label[16];
		snprintf(label, sizeof label, "field%d", k);
		sets[k] = H5Dcreate(file, label, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, made, H5P_DEFAULT);
	}
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < columns; j++)
				cells[i][j] = cells[i][j] * 0.5 + (i * j + step) % 1000;
		for (int k = 0; k < 3; k++) {
			hsize_t size[3] = {step + 1, rows, columns}, at[3] = {step, 0, 0}, count[3] = {1, rows, columns};
			H5Dset_extent(sets[k], size);
			hid_t whole = H5Dget_space(sets[k]), part = H5Screate_simple(3, count, NULL);
			H5Sselect_hyperslab(whole, H5S_SELECT_SET, at, NULL, count, NULL);
			H5Dwrite(sets[k], H5T_NATIVE_DOUBLE, part, whole, H5P_DEFAULT, cells);
			H5Sclose(part);
			H5Sclose(whole);
		}
		H5Fflush(file, H5F_SCOPE_GLOBAL);
	}
	for (int k = 0; k < 3; k++)
		H5Dclose(sets[k]);
	H5Fclose(file);
}

static double analyse(const char *name)
{
	hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen(file, "field1", H5P_DEFAULT), whole = H5Dget_space(set);
	static double column[steps][64];
	double sum = 0;
	for (int n = 0; n < 300; n++) {
		hsize_t at[3] = {0, (hsize_t)n * 37 % rows, (hsize_t)n % 8 * 64}, count[3] = {steps, 1, 64};
		hid_t part = H5Screate_simple(3, count, NULL);
		H5Sselect_hyperslab(whole, H5S_SELECT_SET, at, NULL, count, NULL);
		H5Dread(set, H5T_NATIVE_DOUBLE, part, whole, H5P_DEFAULT, column);
		sum += column[n % steps][n % 64];
		H5Sclose(part);
	}
	H5Fclose(file);
	return sum;
}

int main(int count, char **words)
{
	if (count != 3)
		return 2;
	if (!strcmp(words[1], "write"))
		simulate(words[2]);
	else
		printf("%g\n", analyse(words[2]));
	return 0;
}
