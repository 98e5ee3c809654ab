//go:build ignore

// slowdisk mounts a directory with one file, "image", whose bytes are those of
// STORE. Each read of it takes READ milliseconds, and each write WRITE, however many
// are on their way: a loop device on it is a disk with that access time. A cgroup's
// throttle can't make one, since it bounds the rate of requests and lets those
// through that come after a pause.
//
//	slowdisk STORE READ WRITE DIRECTORY [seek=NEAR:FAR] [rate=RATE]
//
// With seek= or rate= it is a disk with one arm, which serves one request at a time, in
// the order of their arrival. A request that does not begin where the last one ended
// takes NEAR milliseconds longer, and one at the other end of the disk FAR, with
// distances between in proportion. Each also takes the time of its bytes at RATE MB/s.
//
// It speaks the protocol of fuse(4) itself, since a library for that, such as one in Go,
// would be one more dependency. It ends when the directory is unmounted, and
// needs root. Reads and writes go to STORE through the page cache.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILE_NODE = 2, MAX_WRITE = 128 << 10, THREADS = 32 };

static int channel, store;
static long read_delay, write_delay; // nanoseconds

static struct {
	int there;
	double near, far; // nanoseconds
	double byte;	  // nanoseconds
	double capacity;  // bytes
	uint64_t at;	  // where the last request ended
	int64_t free;	  // when it has done all requests
	pthread_mutex_t lock;
} arm = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void attributes(struct fuse_attr *a, uint64_t node)
{
	struct stat s;
	fstat(store, &s);
	a->ino = node;
	a->nlink = 1;
	a->mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700;
	a->size = node == FILE_NODE ? s.st_size : 0;
	a->blksize = 4096;
}

static void answer(uint64_t unique, int error, void *data, size_t size)
{
	struct fuse_out_header h = {sizeof h + size, -error, unique};
	struct iovec v[2] = {{&h, sizeof h}, {data, size}};
	if (writev(channel, v, 2) < 0 && errno != ENOENT && errno != ENODEV)
		perror("slowdisk");
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* finish waits until a request is done that came at a time. */
static void finish(int64_t came, int64_t delay, uint64_t offset, uint32_t size)
{
	struct timespec t;
	if (arm.there) {
		pthread_mutex_lock(&arm.lock);
		if (offset != arm.at)
			delay += arm.near + (arm.far - arm.near) * (offset > arm.at ? offset - arm.at : arm.at - offset) / arm.capacity;
		if (came < arm.free)
			came = arm.free;
		delay += arm.byte * size;
		arm.free = came + delay;
		arm.at = offset + size;
		pthread_mutex_unlock(&arm.lock);
	}
	t.tv_sec = (came + delay) / 1000000000;
	t.tv_nsec = (came + delay) % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void serve(struct fuse_in_header *h, char *data)
{
	static const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_readahead = MAX_WRITE, .max_write = MAX_WRITE,
		.flags = FUSE_ASYNC_READ | FUSE_ASYNC_DIO | FUSE_BIG_WRITES, .max_background = THREADS, .congestion_threshold = THREADS, .time_gran = 1,
	};
	static const struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
	union {
		struct fuse_init_out init;
		struct fuse_open_out open;
		struct fuse_entry_out entry;
		struct fuse_attr_out attr;
		struct fuse_write_out write;
		struct fuse_statfs_out statfs;
	} out = {0};
	struct fuse_read_in *r = (void *)data;
	struct fuse_write_in *w = (void *)data;
	int64_t came;
	char *bytes;
	long n;

	switch (h->opcode) {
	case FUSE_INIT:
		out.init = init;
		answer(h->unique, 0, &out, sizeof out.init);
		break;
	case FUSE_LOOKUP:
		out.entry.nodeid = FILE_NODE;
		attributes(&out.entry.attr, FILE_NODE);
		answer(h->unique, strcmp(data, "image") ? ENOENT : 0, &out, strcmp(data, "image") ? 0 : sizeof out.entry);
		break;
	case FUSE_GETATTR:
		attributes(&out.attr.attr, h->nodeid);
		answer(h->unique, 0, &out, sizeof out.attr);
		break;
	case FUSE_OPEN:
		out.open = opened;
		answer(h->unique, 0, &out, sizeof out.open);
		break;
	case FUSE_READ:
		came = now();
		if ((bytes = malloc(r->size)) == NULL) {
			answer(h->unique, ENOMEM, NULL, 0);
			break;
		}
		n = pread(store, bytes, r->size, r->offset);
		finish(came, read_delay, r->offset, r->size);
		answer(h->unique, n < 0 ? EIO : 0, bytes, n < 0 ? 0 : n);
		free(bytes);
		break;
	case FUSE_WRITE:
		came = now();
		n = pwrite(store, data + sizeof *w, w->size, w->offset);
		out.write.size = n < 0 ? 0 : n;
		finish(came, write_delay, w->offset, w->size);
		answer(h->unique, n < 0 ? EIO : 0, &out, n < 0 ? 0 : sizeof out.write);
		break;
	case FUSE_STATFS:
		answer(h->unique, 0, &out, sizeof out.statfs);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer(h->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; // these are not answered
	default:
		answer(h->unique, ENOSYS, NULL, 0);
	}
}

static void *server(void *unused)
{
	size_t size = MAX_WRITE + 4096;
	char *request = malloc(size);
	(void)unused;
	for (;;) {
		ssize_t n = request ? read(channel, request, size) : -1;
		if (n < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
			exit(errno == ENODEV ? 0 : 1); // ENODEV: it was unmounted
		if (n > 0)
			serve((void *)request, request + sizeof(struct fuse_in_header));
	}
}

/* option takes seek=NEAR:FAR and rate=RATE. */
static int option(const char *text)
{
	double rate;
	arm.there = 1;
	if (sscanf(text, "seek=%lf:%lf", &arm.near, &arm.far) == 2) {
		arm.near *= 1e6;
		arm.far *= 1e6;
		return 0 <= arm.near && arm.near <= arm.far;
	}
	if (sscanf(text, "rate=%lf", &rate) != 1 || !(rate > 0))
		return 0;
	arm.byte = 1e3 / rate;
	return 1;
}

int main(int argc, char **argv)
{
	char options[100];
	struct stat s;
	pthread_t t;
	int fine = argc >= 5 && (read_delay = atof(argv[2]) * 1e6) >= 0 && (write_delay = atof(argv[3]) * 1e6) >= 0;
	for (int i = 5; i < argc; i++)
		fine = fine && option(argv[i]);
	if (!fine) {
		fprintf(stderr, "slowdisk: want STORE READ WRITE DIRECTORY [seek=NEAR:FAR] [rate=RATE]\n");
		return 2;
	}
	store = open(argv[1], O_RDWR);
	channel = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,max_read=%d", channel, MAX_WRITE);
	if (store < 0 || fstat(store, &s) < 0 || channel < 0 || mount("slowdisk", argv[4], "fuse.slowdisk", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("slowdisk");
		return 1;
	}
	arm.capacity = s.st_size + 1;
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, server, NULL))
			return 1;
	server(NULL);
	return 0;
}
