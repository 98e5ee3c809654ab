// MPI: files, messages between ranks, and collectives. A function MPI_x and its PMPI_x
// can lie at one address; then the probe is at both.
//layer mpi "libmpich.so*" "libmpi.so*"
#include <mpi.h>

// Handles are numbers in MPICH and its relatives, and addresses in Open MPI.
//pointers ompi_mpi_comm_world MPI_Comm MPI_Datatype MPI_Request MPI_Op MPI_Group MPI_Info MPI_Message MPI_Errhandler MPI_Win

// The player also needs C of its own.
//support "mpi.c"

// Files: MPI-IO.
int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh); //span open //map comm comm //path filename //map info info //define file *fh //error result != 0
int MPI_File_close(MPI_File *fh); //span close //undefine file *fh //error result != 0
int MPI_File_delete(const char *filename, MPI_Info info); //span metadata //path filename //map info info //error result != 0
int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, MPI_Info info); //span metadata //map file fh //map datatype etype //map datatype filetype //map info info //error result != 0
//name datarep
int MPI_File_get_size(MPI_File fh, MPI_Offset *size); //span metadata //map file fh //error result != 0
int MPI_File_set_size(MPI_File fh, MPI_Offset size); //span metadata //map file fh //error result != 0
int MPI_File_preallocate(MPI_File fh, MPI_Offset size); //span metadata //map file fh //error result != 0
int MPI_File_seek(MPI_File fh, MPI_Offset offset, int whence); //span metadata //map file fh //error result != 0
int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence); //span metadata //map file fh //error result != 0
int MPI_File_set_atomicity(MPI_File fh, int flag); //span metadata //map file fh //error result != 0
int MPI_File_sync(MPI_File fh); //span sync //map file fh //error result != 0
int MPI_File_read(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0 //always
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0
//pass buf received(call_, 2, count, datatype)
int MPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0 //always
//pass buf received(call_, 2, count, datatype)
int MPI_File_read_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_ordered(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span read //map file fh //map datatype datatype //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_iread(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf received(call_, 2, count, datatype)
int MPI_File_iread_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //map datatype datatype //define request *request //error result != 0 //always
//pass buf received(call_, 1, count, datatype)
int MPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //map datatype datatype //define request *request //error result != 0 //always
//pass buf received(call_, 2, count, datatype)
int MPI_File_iread_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span read //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_all_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //map datatype datatype //error result != 0 //always
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0 //always
//pass buf received(call_, 1, 0, MPI_BYTE)
int MPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //map datatype datatype //error result != 0 //always
//pass buf received(call_, 2, count, datatype)
int MPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0 //always
//pass buf received(call_, 1, 0, MPI_BYTE)
int MPI_File_read_ordered_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype); //span read //map file fh //map datatype datatype //error result != 0
//pass buf received(call_, 1, count, datatype)
int MPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status); //span read //map file fh //error result != 0
//pass buf received(call_, 1, 0, MPI_BYTE)
int MPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0 //always
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0
//pass buf sent(call_, 2, count, datatype)
int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0 //always
//pass buf sent(call_, 2, count, datatype)
int MPI_File_write_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_ordered(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); //span write //map file fh //map datatype datatype //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_iwrite(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 2, count, datatype)
int MPI_File_iwrite_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //map datatype datatype //define request *request //error result != 0 //always
//pass buf sent(call_, 1, count, datatype)
int MPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //map datatype datatype //define request *request //error result != 0 //always
//pass buf sent(call_, 2, count, datatype)
int MPI_File_iwrite_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); //span write //map file fh //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_all_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //map datatype datatype //error result != 0 //always
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0 //always
//pass buf sent(call_, 1, 0, MPI_BYTE)
int MPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //map datatype datatype //error result != 0 //always
//pass buf sent(call_, 2, count, datatype)
int MPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0 //always
//pass buf sent(call_, 1, 0, MPI_BYTE)
int MPI_File_write_ordered_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); //span write //map file fh //map datatype datatype //error result != 0
//pass buf sent(call_, 1, count, datatype)
int MPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status); //span write //map file fh //error result != 0
//pass buf sent(call_, 1, 0, MPI_BYTE)

// Messages.
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //map datatype datatype //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //map datatype datatype //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //map datatype datatype //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); //span send //map comm comm //map datatype datatype //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span send //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span setup //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span setup //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span setup //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); //span setup //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)
int MPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); //span setup //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf received(call_, 0, count, datatype)
int MPI_Start(MPI_Request *request); //span send //map request *request //error result != 0
int MPI_Startall(int count, MPI_Request array_of_requests[]); //span send //array array_of_requests count before //error result != 0
//play start_all(call_)
int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //map datatype datatype //array status 6 //error result != 0
//pass source matched(call_, 3, 6, MPI_ANY_SOURCE) //pass tag matched(call_, 4, 6, MPI_ANY_TAG) //pass buf received(call_, 0, count, datatype)
int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); //span receive //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf received(call_, 0, count, datatype)
int MPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status); //span receive //map datatype datatype //undefine message *message //array status 6 //error result != 0
//pass buf received(call_, 0, count, datatype)
int MPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request); //span receive //map datatype datatype //undefine message *message //define request *request //error result != 0
//pass buf received(call_, 0, count, datatype)
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //array status 6 //error result != 0
//pass source matched(call_, 0, 3, MPI_ANY_SOURCE) //pass tag matched(call_, 1, 3, MPI_ANY_TAG)
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status); //span receive //map comm comm //number flag //array status 6 //error result != 0
//play iprobe(call_, comm)
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status); //span receive //map comm comm //define message *message //array status 6 //error result != 0
//pass source matched(call_, 0, 4, MPI_ANY_SOURCE) //pass tag matched(call_, 1, 4, MPI_ANY_TAG)
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status); //span receive //map comm comm //number flag //define message *message //array status 6 //error result != 0
//play improbe(call_, comm, message)
int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //map datatype sendtype //map datatype recvtype //array status 6 //error result != 0
//pass source matched(call_, 8, 11, MPI_ANY_SOURCE) //pass recvtag matched(call_, 9, 11, MPI_ANY_TAG) //pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 5, recvcount, recvtype)
int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status); //span receive //map comm comm //map datatype datatype //array status 6 //error result != 0
//pass source matched(call_, 5, 8, MPI_ANY_SOURCE) //pass recvtag matched(call_, 6, 8, MPI_ANY_TAG) //pass buf sent(call_, 0, count, datatype)
int MPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request); //span receive //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 5, recvcount, recvtype)
int MPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request); //span receive //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buf sent(call_, 0, count, datatype)

// Waits.
int MPI_Wait(MPI_Request *request, MPI_Status *status); //span wait //map request *request //array status 6 //error result != 0
//play completes(call_, WAIT)
int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]); //span wait //array array_of_requests count before //array array_of_statuses count * 6 //error result != 0 //always
//play completes(call_, WAITALL)
int MPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status); //span wait //array array_of_requests count before //number indx //array status 6 //error result != 0
//play completes(call_, WAITANY)
int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status array_of_statuses[]); //span wait //array array_of_requests incount before //number outcount //array array_of_indices *outcount //array array_of_statuses *outcount * 6 //error result != 0
//play completes(call_, WAITSOME)
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status); //span wait //map request *request //number flag //array status 6 //error result != 0
//play completes(call_, TEST)
int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]); //span wait //array array_of_requests count before //number flag //array array_of_statuses count * 6 //error result != 0
//play completes(call_, TESTALL)
int MPI_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status); //span wait //array array_of_requests count before //number indx flag //array status 6 //error result != 0
//play completes(call_, TESTANY)
int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status array_of_statuses[]); //span wait //array array_of_requests incount before //number outcount //array array_of_indices *outcount //array array_of_statuses *outcount * 6 //error result != 0
//play completes(call_, TESTSOME)
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status); //span wait //map request request //number flag //array status 6 //error result != 0
int MPI_Cancel(MPI_Request *request); //span setup //map request *request //error result != 0 //always
int MPI_Request_free(MPI_Request *request); //span setup //undefine request *request //error result != 0 //always

// Collectives.
int MPI_Barrier(MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //error result != 0
//pass buffer sent(call_, 0, count, datatype)
int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * at_root(root, comm), recvtype)
int MPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * members(comm), recvtype)
int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount * at_root(root, comm), sendtype) //pass recvbuf received(call_, 3, recvcount, recvtype)
int MPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount * members(comm), sendtype) //pass recvbuf received(call_, 3, recvcount * members(comm), recvtype)
int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
//pass sendbuf sent(call_, 0, recvcount * members(comm), datatype) //pass recvbuf received(call_, 1, recvcount, datatype)
int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm); //span collective //map comm comm //map datatype datatype //map op op //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Neighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * neighbours(comm), recvtype)
int MPI_Neighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Neighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
//pass sendbuf sent(call_, 0, sendcount * neighbours(comm), sendtype) //pass recvbuf received(call_, 3, recvcount * neighbours(comm), recvtype)
int MPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //error result != 0
int MPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm); //span collective //map comm comm //error result != 0
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //define request *request //error result != 0
//pass buffer sent(call_, 0, count, datatype)
int MPI_Ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * at_root(root, comm), recvtype)
int MPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * members(comm), recvtype)
int MPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount * at_root(root, comm), sendtype) //pass recvbuf received(call_, 3, recvcount, recvtype)
int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount * members(comm), sendtype) //pass recvbuf received(call_, 3, recvcount * members(comm), recvtype)
int MPI_Igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Iscatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Ialltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Ialltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0
int MPI_Ireduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
int MPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
//pass sendbuf sent(call_, 0, recvcount * members(comm), datatype) //pass recvbuf received(call_, 1, recvcount, datatype)
int MPI_Iscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Iexscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype datatype //map op op //define request *request //error result != 0
//pass sendbuf sent(call_, 0, count, datatype) //pass recvbuf received(call_, 1, count, datatype)
int MPI_Ineighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount, sendtype) //pass recvbuf received(call_, 3, recvcount * neighbours(comm), recvtype)
int MPI_Ineighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Ineighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
//pass sendbuf sent(call_, 0, sendcount * neighbours(comm), sendtype) //pass recvbuf received(call_, 3, recvcount * neighbours(comm), recvtype)
int MPI_Ineighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //map datatype sendtype //map datatype recvtype //define request *request //error result != 0
int MPI_Ineighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request); //span collective //map comm comm //define request *request //error result != 0

// Datatypes. An array of MPI_Type_create_darray is one too many to be recorded.
int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //error result != 0
int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //error result != 0
int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //error result != 0
int MPI_Type_indexed(int count, const int blocklengths[], const int displs[], MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //array blocklengths count //array displs count //error result != 0
int MPI_Type_create_hindexed(int count, const int blocklengths[], const MPI_Aint displs[], MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //array blocklengths count //array displs count //error result != 0
int MPI_Type_create_indexed_block(int count, int blocklength, const int displs[], MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //array displs count //error result != 0
int MPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint displs[], MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //array displs count //error result != 0
int MPI_Type_create_struct(int count, const int blocklengths[], const MPI_Aint displs[], const MPI_Datatype types[], MPI_Datatype *newtype); //span setup //define datatype *newtype //array blocklengths count //array displs count //array types count //error result != 0
//pass types datatypes(call_, 3, count)
int MPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //array sizes ndims //array subsizes ndims //array starts ndims //error result != 0
int MPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //error result != 0
int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype); //span setup //map datatype oldtype //define datatype *newtype //error result != 0
int MPI_Type_commit(MPI_Datatype *datatype); //span setup //map datatype *datatype //error result != 0
int MPI_Type_free(MPI_Datatype *datatype); //span setup //undefine datatype *datatype //error result != 0 //always
//play free_type(call_)

// Groups.
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group); //span setup //map comm comm //define group *group //error result != 0
int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup); //span setup //map group group //define group *newgroup //array ranks n //error result != 0
int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup); //span setup //map group group //define group *newgroup //array ranks n //error result != 0
int MPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); //span setup //map group group1 //map group group2 //define group *newgroup //error result != 0
int MPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); //span setup //map group group1 //map group group2 //define group *newgroup //error result != 0
int MPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); //span setup //map group group1 //map group group2 //define group *newgroup //error result != 0
int MPI_Group_free(MPI_Group *group); //span setup //undefine group *group //error result != 0 //always

// Operations of reductions, and hints.
int MPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op); //span setup //define op *op //error result != 0
//pass user_fn combine
int MPI_Op_free(MPI_Op *op); //span setup //undefine op *op //error result != 0 //always
int MPI_Info_create(MPI_Info *info); //span setup //define info *info //error result != 0
int MPI_Info_dup(MPI_Info info, MPI_Info *newinfo); //span setup //map info info //define info *newinfo //error result != 0
int MPI_Info_set(MPI_Info info, const char *key, const char *value); //span setup //map info info //name key value //error result != 0
int MPI_Info_free(MPI_Info *info); //span setup //undefine info *info //error result != 0 //always

// Windows: memory that other ranks read and write.
int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win); //span setup //map comm comm //map info info //define win *win //error result != 0
//pass base lasting(size)
int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); //span setup //map comm comm //map info info //define win *win //error result != 0
//pass baseptr zeros(8)
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); //span setup //map comm comm //map info info //define win *win //error result != 0
//pass baseptr zeros(8)
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win); //span setup //map comm comm //map info info //define win *win //error result != 0
int MPI_Win_free(MPI_Win *win); //span setup //undefine win *win //error result != 0 //always
int MPI_Win_fence(int assert, MPI_Win win); //span collective //map win win //error result != 0
int MPI_Win_post(MPI_Group group, int assert, MPI_Win win); //span setup //map win win //map group group //error result != 0
int MPI_Win_start(MPI_Group group, int assert, MPI_Win win); //span wait //map win win //map group group //error result != 0
int MPI_Win_complete(MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_wait(MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_test(MPI_Win win, int *flag); //span wait //map win win //number flag //error result != 0
int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_unlock(int rank, MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_lock_all(int assert, MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_unlock_all(MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_flush(int rank, MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_flush_all(MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_flush_local(int rank, MPI_Win win); //span wait //map win win //error result != 0
int MPI_Win_flush_local_all(MPI_Win win); //span wait //map win win //error result != 0

// The library and its communicators.
int MPI_Init(int *argc, char ** *argv); //span setup //error result != 0 //always
//play begin_mpi(MPI_THREAD_SERIALIZED)
int MPI_Init_thread(int *argc, char ** *argv, int required, int *provided); //span setup //error result != 0 //always
//play begin_mpi(required)
int MPI_Finalize(void); //span setup //error result != 0 //always
int MPI_Comm_rank(MPI_Comm comm, int *rank); //span setup //map comm comm //number rank //error result != 0
int MPI_Comm_size(MPI_Comm comm, int *size); //span setup //map comm comm //number size //error result != 0
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //error result != 0
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm); //span setup //map comm comm //map info info //define comm *newcomm //error result != 0
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm); //span setup //map comm comm //map group group //define comm *newcomm //error result != 0
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm); //span setup //map comm comm //map group group //define comm *newcomm //error result != 0
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm); //span setup //map comm comm //map info info //define comm *newcomm //error result != 0
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request); //span setup //map comm comm //define comm *newcomm //define request *request //error result != 0
int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request); //span setup //map comm comm //map info info //define comm *newcomm //define request *request //error result != 0
int MPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *comm_cart); //span setup //map comm comm_old //define comm *comm_cart //array dims ndims //array periods ndims //error result != 0
int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm); //span setup //map comm comm //define comm *newcomm //array remain_dims 6 //error result != 0
int MPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder, MPI_Comm *comm_graph); //span setup //map comm comm_old //define comm *comm_graph //error result != 0
int MPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[], const int weights[], MPI_Info info, int reorder, MPI_Comm *comm_dist_graph); //span setup //map comm comm_old //map info info //define comm *comm_dist_graph //error result != 0
int MPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[], int outdegree, const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *comm_dist_graph); //span setup //map comm comm_old //map info info //define comm *comm_dist_graph //array sources indegree //array destinations outdegree //error result != 0
//pass sourceweights MPI_UNWEIGHTED //pass destweights MPI_UNWEIGHTED
int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *newintercomm); //span setup //map comm local_comm //map comm peer_comm //define comm *newintercomm //error result != 0
int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm); //span setup //map comm intercomm //define comm *newintracomm //error result != 0
int MPI_Comm_free(MPI_Comm *comm); //span setup //undefine comm *comm //error result != 0 //always
