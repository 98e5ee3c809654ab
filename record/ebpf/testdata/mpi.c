/* Messages of two ranks, for mpi_test.go: rank 1 sends, rank 0 receives from any rank. */
#include <mpi.h>
#include <unistd.h>

enum { PAUSE = 1000 }; /* microseconds between polls, which are all recorded */

static int number;

static void sends(void)
{
	MPI_Request two[2];

	for (int i = 0; i < 2; i++)
		MPI_Isend(&number, 1, MPI_INT, 0, 7 + i, MPI_COMM_WORLD, &two[i]);
	MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++)
		MPI_Send_init(&number, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &two[i]);
	MPI_Start(&two[0]);
	MPI_Wait(&two[0], MPI_STATUS_IGNORE);
	MPI_Startall(2, two);
	MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&two[i]);
	for (int tag = 10; tag <= 14; tag++)
		MPI_Send(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static void receives(void)
{
	MPI_Request two[2], *one = &two[1];
	MPI_Status statuses[2], status;
	MPI_Message message;
	int flag = 0, place, count, places[2];

	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &two[0]);
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &two[1]);
	MPI_Waitall(2, two, statuses);
	MPI_Recv_init(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, one);
	for (int i = 0; i < 3; i++) {
		MPI_Start(one);
		MPI_Wait(one, &status);
	}
	MPI_Request_free(one);
	MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	while (!flag) {
		usleep(PAUSE);
		MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &flag, &status);
	}
	MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &status);
	two[0] = MPI_REQUEST_NULL;
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, one);
	MPI_Waitsome(2, two, &count, places, statuses);
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 13, MPI_COMM_WORLD, one);
	for (flag = 0; !flag;) {
		usleep(PAUSE);
		MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE);
	}
	MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, one);
	MPI_Waitany(2, two, &place, &status);
}

int main(int argc, char **argv)
{
	const int dims[] = {2}, periods[] = {0};
	int rank, size;
	MPI_Comm line;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank)
		sends();
	else
		receives();
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line);
	MPI_Comm_free(&line);
	MPI_Finalize();
	return 0;
}
