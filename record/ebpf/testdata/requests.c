/* Reads 4 KiB from a file in the page cache, 32 requests at a time, and prints how
 * long a request takes at best, in nanoseconds: requests io_uring|libaio FILE [wait] */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 32
static char page[4096];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int fd, ring;
static unsigned *sq_tail, *sq_array, *cq_head, *cq_tail, mask;
static struct io_uring_sqe *sqes;

static void uring_setup(void)
{
	struct io_uring_params p = {};
	ring = syscall(SYS_io_uring_setup, DEPTH, &p);
	if (ring < 0)
		exit(1);
	char *q = mmap(0, p.cq_off.cqes + p.cq_entries * 16 + p.sq_off.array, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqes = mmap(0, DEPTH * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	if (q == MAP_FAILED || sqes == MAP_FAILED)
		exit(1);
	sq_tail = (void *)(q + p.sq_off.tail);
	sq_array = (void *)(q + p.sq_off.array);
	cq_head = (void *)(q + p.cq_off.head);
	cq_tail = (void *)(q + p.cq_off.tail);
	mask = DEPTH - 1;
}

static void uring_round(void)
{
	for (int i = 0; i < DEPTH; i++) {
		unsigned at = (*sq_tail + i) & mask;
		memset(&sqes[at], 0, sizeof(sqes[at]));
		sqes[at].opcode = IORING_OP_READ;
		sqes[at].fd = fd;
		sqes[at].addr = (unsigned long)page;
		sqes[at].len = sizeof(page);
		sqes[at].off = i * sizeof(page);
		sq_array[at] = at;
	}
	__atomic_store_n(sq_tail, *sq_tail + DEPTH, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, DEPTH, DEPTH, IORING_ENTER_GETEVENTS, 0, 0) != DEPTH)
		exit(1);
	__atomic_store_n(cq_head, __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static aio_context_t context;
static struct iocb blocks[DEPTH], *pointers[DEPTH];
static struct io_event events[DEPTH];

static void aio_setup(void)
{
	if (syscall(SYS_io_setup, DEPTH, &context))
		exit(1);
	for (int i = 0; i < DEPTH; i++) {
		blocks[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = fd, .aio_buf = (unsigned long)page, .aio_nbytes = sizeof(page), .aio_offset = i * sizeof(page)};
		pointers[i] = &blocks[i];
	}
}

static void aio_round(void)
{
	if (syscall(SYS_io_submit, context, DEPTH, pointers) != DEPTH || syscall(SYS_io_getevents, context, DEPTH, DEPTH, events, 0) != DEPTH)
		exit(1);
}

int main(int argc, char **argv)
{
	int uring = !strcmp(argv[1], "io_uring");
	double best = 1e18;

	if (argc > 3)
		(void)!read(0, page, 1);
	fd = open(argv[2], O_RDONLY);
	if (uring)
		uring_setup();
	else
		aio_setup();
	for (int round = 0; round < 300; round++) {
		double start = now();
		for (int i = 0; i < 8; i++)
			uring ? uring_round() : aio_round();
		double took = (now() - start) / (8 * DEPTH);
		if (took < best)
			best = took;
	}
	printf("%.1f\n", best);
	return 0;
}
