//go:build ignore

// mpifile writes a file with all ranks at once, syncs it, and reads a part that another
// rank wrote.
//
//	mpiexec -n RANKS mpifile FILE TIMES

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	enum { BYTES = 1 << 20 };
	int rank, ranks;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	char *data = malloc(BYTES);
	memset(data, rank, BYTES);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (int i = 0; i < atoi(argv[2]); i++)
		MPI_File_write_at_all(file, (MPI_Offset)(i * ranks + rank) * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_read_at(file, (MPI_Offset)((rank + 1) % ranks) * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	MPI_Finalize();
	free(data);
	return 0;
}
