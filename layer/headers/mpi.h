// MPI: files, messages between ranks, and collectives. A function MPI_x and its PMPI_x
// can lie at one address; then the probe is at both.
//layer mpi "libmpich.so*" "libmpi.so*"
#include <mpi.h>

// Files: MPI-IO.
int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh); //span open //map comm comm //path filename //define file *fh //error result != 0
int MPI_File_close(MPI_File *fh); //span close //undefine file *fh //error result != 0
int MPI_File_delete(const char *filename, MPI_Info info); //span metadata //path filename //error result != 0
int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, MPI_Info info); //span metadata //map file fh //error result != 0
int MPI_File_get_size(MPI_File fh, MPI_Offset *size); //span metadata //map file fh //error result != 0
int MPI_File_set_size(MPI_File fh, MPI_Offset size); //span metadata //map file fh //error result != 0
int MPI_File_preallocate(MPI_File fh, MPI_Offset size); //span metadata //map file fh //error result != 0
int MPI_File_seek(MPI_File fh, MPI_Offset offset, int whence); //span metadata //map file fh //error result != 0
int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence); //span metadata //map file fh //error result != 0
int MPI_File_set_atomicity(MPI_File fh, int flag); //span metadata //map file fh //error result != 0
int MPI_File_sync(MPI_File fh); //span sync //map file fh //error result != 0
int MPI_File_read(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_ordered(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_iread(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //define request *request //error result != 0
int MPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //define request *request //error result != 0
int MPI_File_iread_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //define request *request //error result != 0
int MPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //define request *request //error result != 0
int MPI_File_iread_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //define request *request //error result != 0
int MPI_File_read_all_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //error result != 0
int MPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //error result != 0
int MPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_read_ordered_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //error result != 0
int MPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0
int MPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_ordered(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_iwrite(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //define request *request //error result != 0
int MPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //define request *request //error result != 0
int MPI_File_iwrite_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //define request *request //error result != 0
int MPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //define request *request //error result != 0
int MPI_File_iwrite_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //define request *request //error result != 0
int MPI_File_write_all_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //error result != 0
int MPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //error result != 0
int MPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0
int MPI_File_write_ordered_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //error result != 0
int MPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0

// Messages.
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //error result != 0
int MPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //error result != 0
int MPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //error result != 0
int MPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //error result != 0
int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //define request *request //error result != 0
int MPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //define request *request //error result != 0
int MPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //define request *request //error result != 0
int MPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //define request *request //error result != 0
int MPI_Start(MPI_Request *request); //span send //define request *request //error result != 0
int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); //span receive //map comm comm //define request *request //error result != 0
int MPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status); //span receive //error result != 0
int MPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request); //span receive //define request *request //error result != 0
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //error result != 0
int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //error result != 0

// Waits.
int MPI_Wait(MPI_Request *request, MPI_Status *status); //span wait //undefine request *request //error result != 0
int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]); //span wait //error result != 0
int MPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status); //span wait //error result != 0
int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status array_of_statuses[]); //span wait //error result != 0
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status); //span wait //undefine request *request //error result != 0
int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]); //span wait //error result != 0
int MPI_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status); //span wait //error result != 0
int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status array_of_statuses[]); //span wait //error result != 0

// Collectives.
int MPI_Barrier(MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0

// The library and its communicators.
int MPI_Init(int *argc, char ** *argv); //span setup //error result != 0
int MPI_Init_thread(int *argc, char ** *argv, int required, int *provided); //span setup //error result != 0
int MPI_Finalize(void); //span setup //error result != 0
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_free(MPI_Comm *comm); //span setup //undefine comm *comm //error result != 0
