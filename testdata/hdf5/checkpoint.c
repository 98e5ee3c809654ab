/* checkpoint FILE: writes a checkpoint as simulations do into an HDF5 file: groups,
   attributes, a compound type, a chunked and compressed dataset by hyperslabs, one that
   grows, links; then it reads some of it. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define N 64
#define STEPS 4

static hid_t checked(hid_t id, const char *what)
{
	if (id < 0) {
		fprintf(stderr, "checkpoint: %s failed\n", what);
		exit(1);
	}
	return id;
}
#define CHECK(call) checked(call, #call)

struct particle { double x, y, z; int id; };

static void attribute(hid_t at, const char *name, hid_t type, const void *value)
{
	hid_t space = CHECK(H5Screate(H5S_SCALAR));
	hid_t a = CHECK(H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
	CHECK(H5Awrite(a, type, value));
	CHECK(H5Aclose(a));
	CHECK(H5Sclose(space));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: checkpoint FILE\n");
		return 2;
	}
	hid_t file = CHECK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	hid_t group = CHECK(H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	double time = 1.5;
	int step = 7;
	attribute(file, "time", H5T_NATIVE_DOUBLE, &time);
	attribute(group, "step", H5T_NATIVE_INT, &step);
	hid_t text = CHECK(H5Tcopy(H5T_C_S1));
	CHECK(H5Tset_size(text, 8));
	attribute(file, "code", text, "cosmos7");

	/* A field of STEPS planes, one hyperslab each. */
	hsize_t dims[] = {STEPS, N, N}, chunk[] = {1, N / 2, N / 2}, plane[] = {1, N, N};
	hid_t space = CHECK(H5Screate_simple(3, dims, NULL)), memory = CHECK(H5Screate_simple(3, plane, NULL));
	hid_t list = CHECK(H5Pcreate(H5P_DATASET_CREATE));
	CHECK(H5Pset_chunk(list, 3, chunk));
	CHECK(H5Pset_shuffle(list));
	CHECK(H5Pset_deflate(list, 4));
	hid_t set = CHECK(H5Dcreate2(group, "density", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
	float *data = calloc(N * N, sizeof *data);
	for (int s = 0; s < STEPS; s++) {
		hsize_t start[] = {s, 0, 0};
		CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, plane, NULL));
		for (int i = 0; i < N * N; i++)
			data[i] = s + i * 0.001f;
		CHECK(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, data));
	}
	CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
	CHECK(H5Dclose(set));

	/* Particles, in a dataset that grows. */
	hid_t type = CHECK(H5Tcreate(H5T_COMPOUND, sizeof(struct particle)));
	CHECK(H5Tinsert(type, "x", HOFFSET(struct particle, x), H5T_NATIVE_DOUBLE));
	CHECK(H5Tinsert(type, "y", HOFFSET(struct particle, y), H5T_NATIVE_DOUBLE));
	CHECK(H5Tinsert(type, "z", HOFFSET(struct particle, z), H5T_NATIVE_DOUBLE));
	CHECK(H5Tinsert(type, "id", HOFFSET(struct particle, id), H5T_NATIVE_INT));
	hsize_t now[] = {100}, most[] = {H5S_UNLIMITED}, grown[] = {200}, piece[] = {50};
	hid_t line = CHECK(H5Screate_simple(1, now, most)), growing = CHECK(H5Pcreate(H5P_DATASET_CREATE));
	CHECK(H5Pset_chunk(growing, 1, piece));
	struct particle *all = calloc(200, sizeof *all);
	set = CHECK(H5Dcreate2(file, "particles", type, line, H5P_DEFAULT, growing, H5P_DEFAULT));
	CHECK(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
	CHECK(H5Dset_extent(set, grown));
	CHECK(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
	CHECK(H5Dclose(set));
	CHECK(H5Lcreate_soft("/fields/density", file, "latest", H5P_DEFAULT, H5P_DEFAULT));
	CHECK(H5Lcreate_hard(file, "particles", group, "particles", H5P_DEFAULT, H5P_DEFAULT));

	if (H5Lexists(file, "nothing", H5P_DEFAULT) != 0 || H5Lexists(group, "particles", H5P_DEFAULT) <= 0)
		return 1;
	H5E_BEGIN_TRY {
		if (H5Dopen2(file, "nothing", H5P_DEFAULT) >= 0)
			return 1;
	} H5E_END_TRY
	CHECK(H5Pclose(list));
	CHECK(H5Pclose(growing));
	CHECK(H5Tclose(type));
	CHECK(H5Tclose(text));
	CHECK(H5Sclose(space));
	CHECK(H5Sclose(line));
	CHECK(H5Gclose(group));
	CHECK(H5Fclose(file));

	file = CHECK(H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT));
	set = CHECK(H5Dopen2(file, "latest", H5P_DEFAULT));
	space = CHECK(H5Dget_space(set));
	hsize_t start[] = {2, 0, 0};
	CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, plane, NULL));
	CHECK(H5Dread(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, data));
	CHECK(H5Sclose(space));
	CHECK(H5Sclose(memory));
	CHECK(H5Dclose(set));
	CHECK(H5Fclose(file));
	return 0;
}
