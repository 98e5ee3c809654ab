/* The I/O of a trace: 32 events of 3 threads. Processes are threads, too.

   cc -Wall -pthread -o program program.c
   ./program DIRECTORY             makes the files in an empty directory, and runs
   ./program DIRECTORY prepare     makes the files only; "run" then runs

   Left out: nothing */

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MAYBE __attribute__((unused)) static /* depends on the trace */

typedef long long number;

/* A part of a file, from the end of the last one. Only data are written. */
struct stretch {
	char data;
	number bytes;
};

/* A file that must exist before the run: a directory, a file, a symbolic link or another name. */
struct file {
	const char *name;
	char type; /* d, f, s, n */
	int mode;
	number size;
	const char *to; /* of a link, or the first name */
	const struct stretch *blocks;
};

/* A descriptor that is open before the first event. */
struct descriptor {
	int process, number;
	const char *name;
	int flags;
	number offset;
};

/* An event starts no earlier than so many nanoseconds after the end of an event of a thread,
   counted from 0 and from 1. Thread 0 is the start of the run. */
struct edge {
	int thread;
	number event, delay;
};

struct event {
	int call;
	number gap;    /* nanoseconds from the end of the thread's last event, or of its edges */
	number result; /* or -errno */
	number arg[6];
	const char *name[2];
	const struct edge *after; /* up to thread -1 */
};

struct row {
	size_t first, events;
	int process;
	struct edge birth;
};

/* How a result is compared: both are equal, both are 0 or not, both succeed. */
enum result { EQUAL, SOME, DONE };

struct operation {
	const char *name;
	enum result result;
};

#define NO_RESULT (-9223372036854775807LL - 1)
#define DESCRIPTORS 8
#define PROCESSES 2
#define EVENTS 32
#define READS 65536UL
#define WRITES 1048576UL
#define UMASK 0777

enum {
	left_out,
	call_open,
	call_read,
	call_openm,
	call_write,
	call_lseek,
	call_writev,
	call_pread64,
	call_dup,
	call_fdatasync,
	call_clone,
	call_close,
	call_fsync,
	call_exit_group,
	call_rename,
	call_pwrite64,
	call_copy_file_range,
	call_fcntl,
	call_statx,
	call_unlink,
	call_symlink,
	call_close_range,
};

static const struct operation operations[] = {
	{"left out", DONE},
	{"open", DONE},
	{"read", EQUAL},
	{"openm", DONE},
	{"write", EQUAL},
	{"lseek", EQUAL},
	{"writev", EQUAL},
	{"pread64", EQUAL},
	{"dup", DONE},
	{"fdatasync", EQUAL},
	{"clone", DONE},
	{"close", EQUAL},
	{"fsync", EQUAL},
	{"exit_group", DONE},
	{"rename", EQUAL},
	{"pwrite64", EQUAL},
	{"copy_file_range", EQUAL},
	{"fcntl", DONE},
	{"statx", EQUAL},
	{"unlink", EQUAL},
	{"symlink", EQUAL},
	{"close_range", EQUAL},
};

static const struct file files[] = {
	{0},
	{"data", 'd', 0755, 0, "", (const struct stretch[]){{0}}},
	{"data/in", 'f', 0644, 5000, "", (const struct stretch[]){{1, 5000}, {0}}},
	{"data/log", 'f', 0644, 10, "", (const struct stretch[]){{0}}},
	{"data/link", 's', 0777, 0, "in", (const struct stretch[]){{0}}},
};

static const struct descriptor descriptors[] = {
	{0},
	{1, 4, "data/log", O_RDWR, 10},
};

static const struct event events[] = {
	{call_open, 10000, 3, {0, O_RDONLY, 00}, {"data/in", 0}},
	{call_read, 5000, 4096, {3, 0, 4096}, {0, 0}},
	{call_read, 0, 904, {3, 0, 4096}, {0, 0}},
	{call_read, 0, 0, {3, 0, 4096}, {0, 0}},
	{call_openm, 9000, 5, {0, O_RDWR|O_CREAT, 0644}, {"data/new, \0421\042", 0}},
	{call_write, 0, 100, {5, 0, 100}, {0, 0}},
	{call_lseek, 0, 1000, {5, 1000, 0}, {0, 0}},
	{call_writev, 0, 300, {5, 0, 3, 300}, {0, 0}},
	{call_pread64, 0, 50, {5, 0, 50, 1250}, {0, 0}},
	{call_dup, 0, 6, {5}, {0, 0}},
	{call_write, 8000, 10, {6, 0, 10}, {0, 0}},
	{call_fdatasync, 0, 0, {6}, {0, 0}},
	{call_clone, 41000, 2, {3840}, {0, 0}},
	{call_clone, 20000, 3, {64}, {0, 0}},
	{call_rename, 10000, 0, {0, 0}, {"data/new, \0421\042", "data/\377\012\303\266\134"}},
	{call_open, 0, -13, {0, O_RDONLY|O_DSYNC, 00}, {"data/\377\012\303\266\134", 0}},
	{call_open, 0, 5, {0, O_WRONLY, 00}, {"data/\377\012\303\266\134", 0}},
	{call_pwrite64, 0, 4, {5, 0, 4, 0}, {0, 0}},
	{call_copy_file_range, 0, 5000, {3, 0, 5, -1, 5000, 0}, {0, 0}},
	{call_fcntl, 0, 0, {5, 6, 0, 1, 100, 1}, {0, 0}},
	{call_statx, 0, 0, {-100, 0, 256, 2047, 0}, {"data/in", 0}},
	{call_unlink, 20000000, 0, {0}, {"data/in", 0}},
	{call_openm, 0, 7, {0, O_RDWR|O_CREAT|O_EXCL, 0600}, {"data/in", 0}},
	{call_pwrite64, 0, 8, {7, 0, 8, 4}, {0, 0}},
	{call_symlink, 0, -2, {0, 0}, {"in", ""}},
	{call_close_range, 0, 0, {3, 4294967295, 0}, {0, 0}},
	{call_exit_group, 0, NO_RESULT, {0}, {0, 0}},
	{call_close, 0, 0, {5}, {0, 0}, (const struct edge[]){{1, 12, 0}, {-1}}},
	{call_close, 0, 0, {6}, {0, 0}},
	{call_write, 0, 7, {4, 0, 7}, {0, 0}, (const struct edge[]){{2, 1, 40000}, {1, 14, 0}, {-1}}},
	{call_fsync, 0, 0, {4}, {0, 0}},
	{call_exit_group, 0, NO_RESULT, {0}, {0, 0}},
	{0},
};

static const struct row rows[] = {
	{0},
	{0, 27, 1, {0, 0, 0}},
	{27, 2, 1, {1, 12, 0}},
	{29, 3, 2, {1, 13, 0}},
};


enum { CHUNK = 1 << 20 /* at most WRITES */, THREADS = sizeof rows / sizeof rows[0] - 1,
	CALLS = sizeof operations / sizeof operations[0] };

/* The descriptors of a process: one more than the real descriptor, 0 for none. */
struct table {
	int users; /* processes, below sharing */
	_Atomic int real[DESCRIPTORS];
};

/* A process of the trace. Its threads are those of this program. */
static struct process {
	_Atomic int threads; /* that have not ended */
	struct table *_Atomic files;
} processes[PROCESSES + 1];

static struct thread {
	const struct row *row;
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic int waiters;
	struct process *process;
	void *in; /* what reads fill */
	struct iovec vector[1024];
	off_t offset[2];
} threads[THREADS + 1];

static _Atomic number ended[EVENTS + 1]; /* one more than the time of each end, 0 before it */
static _Atomic number made[CALLS], differ[CALLS], first[CALLS], got_first[CALLS];
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;
static struct timespec begun;
static char *out; /* what writes take */
static int root;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void *space(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		fail("memory");
	return at;
}

/* Returns nanoseconds since the start of the run. */
static number now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec - begun.tv_sec) * 1000000000LL + t.tv_nsec - begun.tv_nsec;
}

static void wait_until(number due)
{
	number at = begun.tv_nsec + due;
	struct timespec t = {begun.tv_sec + at / 1000000000, at % 1000000000};
	while (now() < due && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Waits for the event of an edge. Returns the earliest time of the event behind it. */
static number after(const struct edge *e)
{
	if (!e->thread)
		return e->delay;
	struct thread *t = &threads[e->thread];
	_Atomic number *end = &ended[t->row->first + e->event];
	for (int spins = 0; !*end && spins < 1000; spins++)
		;
	if (!*end) {
		pthread_mutex_lock(&t->lock);
		t->waiters++;
		while (!*end)
			pthread_cond_wait(&t->changed, &t->lock);
		t->waiters--;
		pthread_mutex_unlock(&t->lock);
	}
	return *end - 1 + e->delay;
}

static void publish(struct thread *t, size_t n, number due)
{
	ended[n] = due + 1;
	if (t->waiters) {
		pthread_mutex_lock(&t->lock);
		pthread_cond_broadcast(&t->changed);
		pthread_mutex_unlock(&t->lock);
	}
}

/* Returns the place of a descriptor of the trace, NULL if there can't be one. */
static _Atomic int *entry(struct thread *t, number fd)
{
	struct table *files = t->process->files;
	return files && fd >= 0 && fd < DESCRIPTORS ? &files->real[fd] : NULL;
}

/* Returns the descriptor in this program. */
MAYBE int real(struct thread *t, number fd)
{
	_Atomic int *at = entry(t, fd);
	return at ? *at - 1 : -1;
}

/* Removes a descriptor from the table, and returns it. */
MAYBE int take(struct thread *t, number fd)
{
	_Atomic int *at = entry(t, fd);
	return at ? atomic_exchange(at, 0) - 1 : -1;
}

/* Puts a new descriptor where the trace has it, and returns its number there. */
MAYBE number give(struct thread *t, const struct event *e, int fd)
{
	_Atomic int *at = fd < 0 || e->result < 0 ? NULL : entry(t, e->result);
	if (!at) {
		if (fd >= 0)
			close(fd);
		return fd;
	}
	int old = atomic_exchange(at, fd + 1);
	if (old)
		close(old - 1);
	return e->result;
}

MAYBE number shut(struct thread *t, number from, number to, number flags)
{
	if (from < 0 || from > to)
		return errno = EINVAL, -1;
	for (; from <= to && from < DESCRIPTORS; from++) {
		if (flags & 4) /* CLOSE_RANGE_CLOEXEC */
			fcntl(real(t, from), F_SETFD, FD_CLOEXEC);
		else
			close(take(t, from));
	}
	return 0;
}

static void copy(struct table *from, struct table *to)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		int old = from->real[fd] - 1;
		if (old < 0)
			continue;
		int cloexec = fcntl(old, F_GETFD) & FD_CLOEXEC;
		to->real[fd] = fcntl(old, cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, 0) + 1;
	}
}

static void close_all(struct table *files)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		int old = atomic_exchange(&files->real[fd], 0);
		if (old)
			close(old - 1);
	}
}

/* Leaves a table. The last process closes its descriptors. */
static void leave(struct table *files)
{
	pthread_mutex_lock(&sharing);
	int users = --files->users;
	pthread_mutex_unlock(&sharing);
	if (users)
		return;
	close_all(files);
	munmap(files, sizeof *files);
}

static struct table *new_table(void)
{
	struct table *files = space(sizeof *files);
	files->users = 1;
	return files;
}

/* Returns the recorded result. */
MAYBE number recorded(const struct event *e)
{
	if (e->result >= 0)
		return e->result;
	if (e->result == NO_RESULT)
		return 0;
	errno = -e->result;
	return -1;
}

/* Gives a process that an event creates its descriptors. */
MAYBE number create(struct thread *t, const struct event *e)
{
	number n = e->result;
	struct table *files = t->process->files;
	if (n < 1 || n > THREADS || !files)
		return recorded(e);
	struct process *child = &processes[rows[n].process];
	if (child == t->process || child->files)
		return n;
	if (e->arg[0] & 0x400) { /* CLONE_FILES */
		pthread_mutex_lock(&sharing);
		files->users++;
		pthread_mutex_unlock(&sharing);
		child->files = files;
		return n;
	}
	struct table *own = new_table();
	copy(files, own);
	child->files = own;
	return n;
}

/* Gives a process a table of its own. */
MAYBE number unshare_files(struct thread *t, const struct event *e)
{
	struct table *files = t->process->files;
	if (files && !e->result) {
		pthread_mutex_lock(&sharing);
		int users = files->users;
		pthread_mutex_unlock(&sharing);
		if (users > 1) {
			struct table *own = new_table();
			copy(files, own);
			t->process->files = own;
			leave(files);
		}
	}
	return recorded(e);
}

MAYBE number execute(struct thread *t, const struct event *e)
{
	unshare_files(t, e);
	struct table *files = t->process->files;
	for (int fd = 0; files && !e->result && fd < DESCRIPTORS; fd++) {
		int old = files->real[fd] - 1;
		if (old >= 0 && fcntl(old, F_GETFD) & FD_CLOEXEC)
			close(take(t, fd));
	}
	return recorded(e);
}

/* Divides a buffer into equal parts. */
MAYBE struct iovec *vector(struct thread *t, char *buffer, number count, number bytes)
{
	number part = count > 0 ? bytes / count : 0;
	if (part > 4096)
		part -= part % 4096;
	for (number i = 0; i < count && i < 1024; i++) {
		size_t n = i + 1 < count ? part : bytes - part * i;
		t->vector[i] = (struct iovec){buffer + part * i, n};
	}
	return t->vector;
}

MAYBE off_t *offset(struct thread *t, int n, number at)
{
	t->offset[n] = at;
	return at < 0 ? NULL : &t->offset[n];
}

/* Returns the name of an open file. */
MAYBE const char *link_of(struct thread *t, number fd)
{
	snprintf(t->in, 64, "/proc/self/fd/%d", real(t, fd));
	return t->in;
}

MAYBE number control(struct thread *t, const struct event *e)
{
	const number *a = e->arg;
	int fd = real(t, a[0]), command = a[1];
	struct flock lock = {.l_type = a[3], .l_whence = a[2], .l_start = a[4], .l_len = a[5]};
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return give(t, e, fcntl(fd, command, 0));
	case F_GETFD:
	case F_SETFD:
	case F_GETFL:
	case F_SETFL:
		return fcntl(fd, command, (int)a[2]);
	}
	return fcntl(fd, command, &lock);
}

/* Makes the call of an event, and returns its result as C has it. */
static number make(struct thread *t, const struct event *e)
{
	const number *a = e->arg;
	switch (e->call) {
	case call_open:
		return give(t, e, open(e->name[0], a[1], (mode_t)a[2]));
	case call_read:
		return read(real(t, a[0]), t->in, a[2]);
	case call_openm:
		return give(t, e, open(e->name[0], a[1], (mode_t)a[2]));
	case call_write:
		return write(real(t, a[0]), out, a[2]);
	case call_lseek:
		return lseek(real(t, a[0]), a[1], a[2]);
	case call_writev:
		return writev(real(t, a[0]), vector(t, out, a[2], a[3]), a[2]);
	case call_pread64:
		return pread(real(t, a[0]), t->in, a[2], a[3]);
	case call_dup:
		return give(t, e, dup(real(t, a[0])));
	case call_fdatasync:
		return fdatasync(real(t, a[0]));
	case call_clone:
		return create(t, e);
	case call_close:
		return close(take(t, a[0]));
	case call_fsync:
		return fsync(real(t, a[0]));
	case call_exit_group:
		return recorded(e);
	case call_rename:
		return rename(e->name[0], e->name[1]);
	case call_pwrite64:
		return pwrite(real(t, a[0]), out, a[2], a[3]);
	case call_copy_file_range:
		return copy_file_range(real(t, a[0]), offset(t, 0, a[1]), real(t, a[2]), offset(t, 1, a[3]), a[4], 0);
	case call_fcntl:
		return control(t, e);
	case call_statx:
		return statx(AT_FDCWD, e->name[0], a[2], a[3], t->in);
	case call_unlink:
		return unlink(e->name[0]);
	case call_symlink:
		return symlink(e->name[0], e->name[1]);
	case call_close_range:
		return shut(t, a[0], a[1], a[2]);
	}
	return 0; /* left out */
}

static int is_same(const struct event *e, number got)
{
	if (e->result == NO_RESULT)
		return 1;
	if (e->result < 0 || got < 0)
		return got == e->result;
	switch (operations[e->call].result) {
	case EQUAL:
		return got == e->result;
	case SOME:
		return !got == !e->result;
	case DONE:
		break;
	}
	return 1;
}

static void *play(void *arg)
{
	struct thread *t = arg;
	const struct row *row = t->row;
	prctl(PR_SET_TIMERSLACK, 1UL);
	number due = after(&row->birth);
	for (size_t n = row->first; n < row->first + row->events; n++) {
		const struct event *e = &events[n];
		due += e->gap;
		for (const struct edge *x = e->after; x && x->thread >= 0; x++) {
			number least = after(x);
			if (least > due)
				due = least;
		}
		wait_until(due);
		number begin = now(), got = make(t, e);
		if (got == -1)
			got = -errno;
		if (e->call) /* what is left out takes no time */
			due += now() - begin;
		made[e->call]++;
		if (e->call && !is_same(e, got) && !differ[e->call]++) {
			got_first[e->call] = got;
			first[e->call] = n;
		}
		publish(t, n, due);
	}
	if (!--t->process->threads && t->process->files)
		leave(t->process->files);
	return NULL;
}

/* Writes random bytes, which no storage can compress. */
static void fill(int fd, number from, number bytes)
{
	while (bytes > 0) {
		ssize_t n = pwrite(fd, out, bytes < CHUNK ? bytes : CHUNK, from);
		if (n <= 0)
			fail("prepare");
		from += n;
		bytes -= n;
	}
}

static void prepare(void)
{
	size_t count = sizeof files / sizeof files[0];
	for (size_t i = 1; i < count; i++) {
		const struct file *f = &files[i];
		int failed = 0, fd;
		switch (f->type) {
		case 'd':
			failed = mkdir(f->name, 0700) && errno != EEXIST;
			break;
		case 's':
			failed = symlink(f->to, f->name);
			break;
		case 'n':
			failed = link(f->to, f->name);
			break;
		default:
			fd = open(f->name, O_WRONLY | O_CREAT | O_EXCL, 0600);
			if (fd < 0)
				fail(f->name);
			number at = 0;
			for (const struct stretch *s = f->blocks; s->bytes; at += s++->bytes)
				if (s->data)
					fill(fd, at, s->bytes);
			failed = ftruncate(fd, f->size) || fchmod(fd, f->mode) || close(fd);
		}
		if (failed)
			fail(f->name);
	}
	for (size_t i = count - 1; i > 0; i--)
		if (files[i].type == 'd' && chmod(files[i].name, files[i].mode))
			fail(files[i].name);
	syncfs(root);
}

static void open_descriptors(void)
{
	for (size_t i = 1; i < sizeof descriptors / sizeof descriptors[0]; i++) {
		const struct descriptor *d = &descriptors[i];
		int fd = open(d->name, d->flags);
		if (fd < 0)
			fail(d->name);
		lseek(fd, d->offset, SEEK_SET);
		processes[d->process].files->real[d->number] = fd + 1;
	}
}

static void run(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (int i = 1; i <= THREADS; i++) {
		struct thread *t = &threads[i];
		t->row = &rows[i];
		t->process = &processes[t->row->process];
		t->process->threads++;
		if (!t->row->birth.thread && !t->process->files)
			t->process->files = new_table();
		t->in = space(READS);
		pthread_mutex_init(&t->lock, NULL);
		pthread_cond_init(&t->changed, NULL);
	}
	open_descriptors();
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 1; i <= THREADS; i++)
		if ((errno = pthread_create(&threads[i].id, &attributes, play, &threads[i])))
			fail("pthread_create");
	for (int i = 1; i <= THREADS; i++)
		pthread_join(threads[i].id, NULL);
}

/* Prints the results, and returns the exit status. */
static int report(number elapsed)
{
	int status = 0;
	printf("%-16s %10s %10s\n", "operation", "calls", "differ");
	for (int i = 1; i < CALLS; i++) {
		printf("%-16s %10lld %10lld\n", operations[i].name, made[i], differ[i]);
		status |= differ[i] > 0;
	}
	for (int i = 1; i < CALLS; i++) {
		if (!differ[i])
			continue;
		size_t n = first[i];
		int t = 1;
		while (n >= rows[t].first + rows[t].events)
			t++;
		printf("%s: the first that differs is event %zu of thread %d: %lld, recorded %lld\n",
			operations[i].name, n - rows[t].first, t, got_first[i], events[n].result);
	}
	printf("run time %.6f s\n", elapsed / 1e9);
	return status;
}

static int is_empty(void)
{
	DIR *d = opendir(".");
	struct dirent *e;
	int names = 0;
	while (d && (e = readdir(d)))
		names += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return !names;
}

int main(int argc, char **argv)
{
	int prepares = argc == 2 || (argc == 3 && !strcmp(argv[2], "prepare"));
	int runs = argc == 2 || (argc == 3 && !strcmp(argv[2], "run"));
	if (!prepares && !runs) {
		fprintf(stderr, "usage: %s DIRECTORY [prepare|run]\n", argv[0]);
		return 2;
	}
	if (prepares && mkdir(argv[1], 0755) && errno != EEXIST)
		fail(argv[1]);
	root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || fchdir(root))
		fail(argv[1]);
	if (prepares && !is_empty()) {
		fprintf(stderr, "%s is not empty\n", argv[1]);
		return 2;
	}
	struct rlimit limit;
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	umask(UMASK);
	out = space(WRITES);
	unsigned long long random = 88172645463325252ULL;
	for (size_t i = 0; i + sizeof random <= WRITES; i += sizeof random) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		memcpy(out + i, &random, sizeof random);
	}
	if (prepares)
		prepare();
	if (!runs)
		return 0;
	run();
	return report(now());
}
