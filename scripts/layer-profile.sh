#!/bin/sh
# layer-profile.sh DIR: what share of the time in a library is system calls, waiting and its
# own, for programs of HDF5, MPI-IO, SQLite and the streams of C. It prints a table for
# docs/internals/layers.md. All that it makes stands in DIR.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pianola=$(pwd)/bin/pianola
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
cat >checkpoint.c <<'C'
#include <hdf5.h>
#include <stdio.h>

int main(void) {
	hsize_t size[2] = {1000, 1000}, chunk[2] = {100, 100};
	static double data[1000][1000];
	hid_t file = H5Fcreate("checkpoint.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t space = H5Screate_simple(2, size, NULL), chunks = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(chunks, 2, chunk);
	for (int step = 0; step < 5; step++) {
		char name[20];
		snprintf(name, sizeof name, "step%d", step);
		hid_t set = H5Dcreate(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, chunks, H5P_DEFAULT);
		H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
		H5Dclose(set);
	}
	return H5Fclose(file) < 0;
}
C
cat >collective.c <<'C'
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	int rank, size, block = 1 << 20;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	char *data = calloc(1, block);
	MPI_File file;
	MPI_File_open(MPI_COMM_WORLD, "collective.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (int i = 0; i < 16; i++)
		MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * block, data, block, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_close(&file);
	return MPI_Finalize();
}
C
cat >copy.c <<'C'
#include <stdio.h>

int main(void) {
	char line[200];
	FILE *in = fopen("lines.txt", "r"), *out = fopen("copy.txt", "w");
	while (fgets(line, sizeof line, in))
		fputs(line, out);
	return fclose(in) || fclose(out);
}
C
h5cc -shlib -O2 -o checkpoint checkpoint.c
mpicc.mpich -O2 -o collective collective.c
cc -O2 -o copy copy.c
seq 100000 | sed 's/$/ and the rest of a line of some length/' >lines.txt
{
	echo "CREATE TABLE event (id INTEGER PRIMARY KEY, data BLOB);"
	seq 200 | sed 's/.*/INSERT INTO event VALUES (&, zeroblob(500));/'
	echo "SELECT count(*), sum(length(data)) FROM event;"
} >load.sql

echo "| program | layer | calls | time | system calls | waiting | ready | own |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
# row NAME LAYER COMMAND…: the row of a program.
row() {
	at "$1"
	name=$1 layer=$2
	shift 2
	"$pianola" record --layer "$layer" --slow-functions -o "$layer-$name.txt" -- "$@" >"$layer-$name.out" 2>&1
	"$pianola" profile --by layer --format csv "$layer-$name.txt" | awk -F, -v name="$name" -v layer="$layer" '
		$1 == layer { printf "| %s | %s | %d | %.1f ms | %.0f %% | %.0f %% | %.0f %% | %.0f %% |\n", name, $1, $3, 1e3 * $5, 100 * $7 / $6, 100 * $8 / $6, 100 * $9 / $6, 100 * $10 / $6 }'
}
row checkpoint hdf5 ./checkpoint
row h5repack hdf5 h5repack -f GZIP=6 checkpoint.h5 small.h5
row collective mpi mpiexec.mpich -n 4 ./collective
row sqlite3 sqlite3 sqlite3 app.db '.read load.sql'
row copy stdio ./copy
