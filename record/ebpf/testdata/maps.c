// Takes known faults on a mapping of a file, by the case that is named:
//
//	maps CASE FILE
//
// The file has 64 pages. They are out of the page cache when the case begins, and the kernel
// is told to read one at a time, except for what warm puts there.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64 };

static const char *name;
static int fd;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static volatile char *map(int prot, int flags, int pages, int first)
{
	static char *free = (char *)0x200000000; // aligned to what the kernel maps around a fault
	char *p = mmap(free, pages * PAGE, prot, flags, fd, (off_t)first * PAGE);

	free += PAGES * PAGE;
	check(p != MAP_FAILED, "mmap");
	check(madvise(p, pages * PAGE, MADV_RANDOM) == 0, "madvise");
	return p;
}

// Puts pages into the page cache, one folio each.
static void warm(int first, int pages)
{
	char buf[PAGE];

	check(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0, "fadvise");
	for (int i = first; i < first + pages; i++)
		check(pread(fd, buf, PAGE, (off_t)i * PAGE) == PAGE, "pread");
}

static char sum;

static void rd(volatile char *p, int page) { sum += p[page * PAGE]; }
static void wr(volatile char *p, int page) { p[page * PAGE] = 1; }

static sigjmp_buf back;

static void on_bus(int sig) { siglongjmp(back, sig); }

static void cold(void)
{
	volatile char *p = map(PROT_READ, MAP_SHARED, PAGES, 0);

	rd(p, 3), rd(p, 40), rd(p, 17), rd(p, 3);
}

static void around(void)
{
	volatile char *p;

	warm(16, 16);
	p = map(PROT_READ, MAP_SHARED, PAGES, 0);
	rd(p, 20), rd(p, 25), rd(p, 50);
}

static void shared(void)
{
	volatile char *p;

	warm(8, 2);
	p = map(PROT_READ | PROT_WRITE, MAP_SHARED, PAGES, 0);
	wr(p, 8), wr(p, 8), wr(p, 40);
	check(msync((void *)p, PAGES * PAGE, MS_SYNC) == 0, "msync");
	wr(p, 8); // clean again
}

static void private(void)
{
	volatile char *p;

	warm(8, 1);
	warm(32, 1);
	p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, PAGES, 0);
	wr(p, 8), wr(p, 8), rd(p, 32);
	wr(p, 32); // copies a page that is mapped: nothing to see
}

static void truncated(void)
{
	volatile char *p = map(PROT_READ, MAP_SHARED, PAGES, 0);

	signal(SIGBUS, on_bus);
	rd(p, 20);
	check(ftruncate(fd, 16 * PAGE) == 0, "ftruncate");
	if (sigsetjmp(back, 1) == 0)
		rd(p, 20);
	rd(p, 3);
}

static void removed(void)
{
	volatile char *p = map(PROT_READ, MAP_SHARED, PAGES, 0);

	check(unlink(name) == 0 && close(fd) == 0, "unlink");
	rd(p, 5);
}

static void moved(void)
{
	volatile char *p = map(PROT_READ, MAP_SHARED, 4, 0), *q;

	rd(p, 1);
	q = mremap((void *)p, 4 * PAGE, PAGES * PAGE, MREMAP_MAYMOVE);
	check(q != MAP_FAILED, "mremap");
	rd(q, 60);
	check(munmap((void *)q, PAGES * PAGE) == 0, "munmap");
	p = map(PROT_READ, MAP_SHARED, 4, 40);
	rd(p, 2);
}

static void forked(void)
{
	volatile char *p = map(PROT_READ, MAP_SHARED, PAGES, 0);
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child == 0) {
		rd(p, 2);
		_exit(0);
	}
	check(waitpid(child, NULL, 0) == child, "wait");
	rd(p, 34);
}

static void called(void)
{
	volatile char *p = map(PROT_READ | PROT_WRITE, MAP_SHARED, PAGES, 0);
	int zero = open("/dev/zero", O_RDONLY);

	check(read(zero, (void *)(p + 6 * PAGE), 16) == 16, "read");
	check(pwrite(fd, (void *)(p + 30 * PAGE), 16, 50 * PAGE) == 16, "pwrite");
}

static void populated(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	check(p != MAP_FAILED, "mmap");
	rd(p, 3);
}

static void anonymous(void)
{
	volatile char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED, "mmap");
	for (int i = 0; i < PAGES; i++)
		wr(p, i);
	check(madvise((void *)p, PAGES * PAGE, MADV_DONTNEED) == 0 && munmap((void *)p, PAGES * PAGE) == 0, "munmap");
}

static void many(void)
{
	enum { MAPPINGS = 1000 };

	for (int i = 0; i < MAPPINGS; i++)
		rd(map(PROT_READ, MAP_SHARED, 1, i % PAGES), 0);
}

static const volatile char big[4 << 20] = {1};

static void program(void)
{
	for (int i = 1 << 20; i < (int)sizeof(big); i += 1 << 20)
		sum += big[i];
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"cold", cold}, {"around", around}, {"shared", shared}, {"private", private}, {"truncated", truncated},
		     {"removed", removed}, {"moved", moved}, {"forked", forked}, {"called", called}, {"populated", populated},
		     {"anonymous", anonymous}, {"program", program}, {"many", many}};
	char page[PAGE];

	check(argc == 3, "usage: maps CASE FILE");
	name = argv[2];
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0, name);
	memset(page, 'x', sizeof(page));
	for (int i = 0; i < PAGES; i++)
		check(write(fd, page, PAGE) == PAGE, "write");
	check(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fsync");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	return 0;
}
