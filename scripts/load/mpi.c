//go:build ignore

// mpi is a parallel program of MPI, in four kinds:
//
//	mpi KIND PATH STEPS [MICROSECONDS]
//
//	collective  all ranks write one file by collective calls, 64 KiB each in a step
//	each        each rank writes a file of its own, 64 KiB in a step, and syncs it every 10
//	            steps; then all meet at a barrier
//	pipeline    each rank receives 64 KiB from the rank before it, works, writes them into
//	            a file of its own, syncs it and sends them on. Rank 2 works five times as long.
//	metadata    each rank creates, looks at, renames and removes 10 files in a step, and syncs
//	            its directory every 10 steps; then all meet at a barrier
//
// PATH is the file of collective. For the others it is a directory, in which each rank has one
// of its own. To work is to sleep for so many microseconds, 2000 by default, so that more ranks
// than processors don't disturb one another.

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

enum { SIZE = 64 << 10, SYNC = 10, FILES = 10 };

static char buf[SIZE], name[4096];
static int rank, size, work = 2000;

/* own makes the directory of this rank and, with flags, opens the file in it or itself. */
static int own(const char *path, const char *file, int flags)
{
	if (rank == 0)
		check(mkdir(path, 0755) == 0 || errno == EEXIST, path);
	MPI_Barrier(MPI_COMM_WORLD);
	snprintf(name, sizeof(name), "%s/%d", path, rank);
	check(mkdir(name, 0755) == 0 || errno == EEXIST, name);
	snprintf(name, sizeof(name), "%s/%d/%s", path, rank, file);
	int fd = open(name, flags, 0644);
	check(fd >= 0, name);
	return fd;
}

static void collective(const char *path, int steps)
{
	MPI_File file;
	int failed = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	check(failed == MPI_SUCCESS, path);
	for (int i = 0; i < steps; i++) {
		usleep(work);
		failed = MPI_File_write_at_all(file, ((MPI_Offset)i * size + rank) * SIZE, buf, SIZE, MPI_CHAR, MPI_STATUS_IGNORE);
		check(failed == MPI_SUCCESS, path);
	}
	MPI_File_close(&file);
}

static void each(const char *path, int steps)
{
	int fd = own(path, "data", O_WRONLY | O_CREAT | O_TRUNC);
	for (int i = 1; i <= steps; i++) {
		usleep(work);
		check(write(fd, buf, SIZE) == SIZE, name);
		if (i % SYNC == 0) {
			check(fsync(fd) == 0, name);
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	close(fd);
}

static void pipeline(const char *path, int steps)
{
	int fd = own(path, "data", O_WRONLY | O_CREAT | O_TRUNC);
	for (int i = 0; i < steps; i++) {
		if (rank > 0)
			MPI_Recv(buf, SIZE, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		usleep(rank == 2 ? 5 * work : work);
		check(write(fd, buf, SIZE) == SIZE, name);
		check(fsync(fd) == 0, name);
		if (rank < size - 1)
			MPI_Send(buf, SIZE, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
	}
	close(fd);
}

static void metadata(const char *path, int steps)
{
	static char other[4096];
	struct stat st;
	int dir = own(path, ".", O_RDONLY | O_DIRECTORY);
	for (int i = 1; i <= steps; i++) {
		usleep(work);
		for (int k = 0; k < FILES; k++) {
			snprintf(name, sizeof(name), "%s/%d/%d.%d", path, rank, i, k);
			snprintf(other, sizeof(other), "%s/%d/%d.%d.done", path, rank, i, k);
			int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
			check(fd >= 0, name);
			close(fd);
			check(stat(name, &st) == 0 && rename(name, other) == 0 && unlink(other) == 0, name);
		}
		if (i % SYNC == 0) {
			check(fsync(dir) == 0, path);
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	close(dir);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *, int);
	} kinds[] = {{"collective", collective}, {"each", each}, {"pipeline", pipeline}, {"metadata", metadata}};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	memset(buf, rank, sizeof(buf));
	if (argc == 5)
		work = atoi(argv[4]);
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if ((argc == 4 || argc == 5) && strcmp(argv[1], kinds[k].name) == 0) {
			kinds[k].run(argv[2], atoi(argv[3]));
			MPI_Finalize();
			return 0;
		}
	fprintf(stderr, "usage: mpi collective|each|pipeline|metadata PATH STEPS [MICROSECONDS]\n");
	MPI_Abort(MPI_COMM_WORLD, 2);
}
