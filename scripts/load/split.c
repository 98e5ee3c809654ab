//go:build ignore

// split FILE: waits in six ways, and knows for how long. Prints a line for each:
// its name and seconds. Before and after each it calls access with that name. FILE
// has 64 MiB.
//
//	lock    for a mutex that another thread holds
//	poll    for a byte that another thread writes into a pipe
//	sleep   for 20 ms
//	spin    for the processor, beside another thread that computes
//	mapped  for pages of FILE, mapped
//	direct  for blocks of FILE, read with O_DIRECT
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "load.h"

enum { ROUNDS = 20, PAGE = 4096, PAGES = 16384, READS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile double given; // when the other thread let this one go on
static volatile int stop;
static int pipes[2], schedstat;
static const char *file;

// ran returns the seconds that this thread has run.
static double ran(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void spin(void)
{
	for (double end = now() + 0.02; now() < end;)
		;
}

// delayed returns the seconds that this thread has waited for a processor.
static double delayed(void)
{
	char text[100] = "";
	double delay;
	check(pread(schedstat, text, sizeof text - 1, 0) > 0 && sscanf(text, "%*s %lf", &delay) == 1, "schedstat");
	return delay / 1e9;
}

// blocked returns the time now, less those in which it has run or waited for a
// processor.
static double blocked(void) { return now() - ran() - delayed(); }

static void *hold(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&both);
		spin();
		given = now();
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void *feed(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		spin();
		given = now();
		check(write(pipes[1], "x", 1) == 1, "write");
	}
	return unused;
}

static void *compute(void *unused)
{
	while (!stop)
		;
	return unused;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, run, NULL) == 0, "pthread_create");
	return thread;
}

static double wait_lock(void)
{
	pthread_t other = start(hold);
	double sum = 0, begin;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		begin = now();
		pthread_mutex_lock(&mutex);
		sum += given - begin;
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&both);
	}
	pthread_join(other, NULL);
	return sum;
}

static double wait_poll(void)
{
	pthread_t other = start(feed);
	struct pollfd p = {.fd = pipes[0], .events = POLLIN};
	double sum = 0, begin;
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		begin = now();
		poll(&p, 1, -1);
		sum += given - begin;
		check(read(pipes[0], &byte, 1) == 1, "read");
	}
	pthread_join(other, NULL);
	return sum;
}

static double wait_sleep(void)
{
	struct timespec t = {.tv_nsec = 20000000};
	double begin = blocked();

	for (int i = 0; i < ROUNDS; i++)
		nanosleep(&t, NULL);
	return blocked() - begin;
}

static double wait_spin(void)
{
	cpu_set_t all, one;
	pthread_t other;
	double begin, end;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	other = start(compute); // on the same processor
	begin = delayed();
	for (end = ran() + 0.3; ran() < end;)
		;
	end = delayed();
	stop = 1;
	sched_setaffinity(0, sizeof(all), &all);
	pthread_join(other, NULL);
	return end - begin;
}

// open_cold opens the file with none of its pages in memory.
static int open_cold(int flags)
{
	int fd = open(file, O_RDONLY | flags);
	check(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, file);
	return fd;
}

static off_t place(int i) { return (off_t)(i * 7919 % PAGES) * PAGE; }

static double wait_mapped(void)
{
	int fd = open_cold(0);
	volatile char *data = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	double begin;
	check(data != MAP_FAILED, "mmap");
	madvise((void *)data, (size_t)PAGES * PAGE, MADV_RANDOM);
	begin = blocked();
	for (int i = 0; i < READS; i++)
		(void)data[place(i)];
	begin = blocked() - begin;
	munmap((void *)data, (size_t)PAGES * PAGE);
	return begin;
}

static double wait_direct(void)
{
	int fd = open_cold(O_DIRECT);
	double sum = 0, begin;
	void *data;
	check(posix_memalign(&data, PAGE, PAGE) == 0, "memory");
	for (int i = 0; i < READS; i++) {
		begin = now();
		check(pread(fd, data, PAGE, place(i)) == PAGE, file);
		sum += now() - begin;
	}
	return sum;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double (*wait)(void);
	} ways[] = {{"lock", wait_lock}, {"poll", wait_poll}, {"sleep", wait_sleep},
		    {"spin", wait_spin}, {"mapped", wait_mapped}, {"direct", wait_direct}};

	if (argc != 2)
		return 2;
	file = argv[1];
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	check(schedstat >= 0 && pipe(pipes) == 0 && pthread_barrier_init(&both, NULL, 2) == 0, "start");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		access(ways[i].name, F_OK);
		double seconds = ways[i].wait();
		access(ways[i].name, F_OK);
		printf("%s %.9f\n", ways[i].name, seconds);
	}
	return 0;
}
