// awkward CASE: does what is hard for a recorder within the process. The exit status is 0 if
// everything went as it does without one.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

static int file;
static char page[4096];

static void reads(int n)
{
	for (int i = 0; i < n; i++)
		MUST(pread(file, page, sizeof page, 0) == sizeof page);
}

static void *reader(void *n) { reads((intptr_t)n); return 0; }

static volatile int handled;

static void seek(int number) { int before = errno; lseek(file, 0, SEEK_CUR); handled++; errno = before; }

static void alarms(void (*handler)(int), int flags, int micros)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval t = { { 0, micros }, { 0, micros } };
	MUST(!sigaction(SIGALRM, &a, 0) && !setitimer(ITIMER_REAL, &t, 0));
}

// A handler interrupts calls at any place, and makes calls itself.
static void signals(void)
{
	static char stack[64 << 10];
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
	MUST(!sigaltstack(&alternative, 0));
	alarms(seek, SA_RESTART | SA_ONSTACK, 150);
	for (int i = 0; i < 3000 || handled < 200; i++) {
		int fd = open("file", O_RDONLY);
		MUST(fd >= 0 && pread(fd, page, 100, 7) == 100 && !close(fd));
	}
	alarms(SIG_IGN, 0, 0);
}

// A call waits, is interrupted, and goes on.
static void restarts(void)
{
	int pipes[2];
	char c = 0;
	MUST(!pipe(pipes));
	alarms(seek, SA_RESTART, 1000);
	if (!fork()) {
		usleep(30000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	MUST(read(pipes[0], &c, 1) == 1 && c == 'x');
	alarms(seek, 0, 1000);
	MUST(read(pipes[0], &c, 1) < 0 && errno == EINTR);
	alarms(SIG_IGN, 0, 0);
	MUST(wait(0) > 0);
}

static sigjmp_buf back;
static void jump(int number) { siglongjmp(back, 1); }

// A handler never returns into the call.
static void jumps(void)
{
	int pipes[2];
	char c;
	MUST(!pipe(pipes));
	for (volatile int i = 0; i < 200; i++) {
		if (!sigsetjmp(back, 1)) {
			struct sigaction a = { .sa_handler = jump };
			struct itimerval t = { { 0, 0 }, { 0, 200 } };
			MUST(!sigaction(SIGALRM, &a, 0) && !setitimer(ITIMER_REAL, &t, 0));
			if (i & 1)
				MUST(read(pipes[0], &c, 1) < 0);
			for (;;)
				reads(1);
		}
		reads(1);
	}
}

static void failed(int n) { MUST(n < 0 && errno == EFAULT); }

// Pointers that lead nowhere, and names that end where memory does.
static void pointers(void)
{
	char *volatile nowhere = (char *)8, *bad = nowhere, *two = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat s;
	MUST(two != MAP_FAILED && !munmap(two + 4096, 4096));
	for (int i = 0; i < 300; i++) {
		failed(open(bad, O_RDONLY));
		failed(stat(bad, &s));
		failed(stat("file", (void *)bad));
		failed(rename("file", bad));
		failed(readlink("/proc/self/exe", bad, 100));
		failed(pread(file, bad, 100, 0));
		failed(preadv(file, (void *)bad, 2, 0));
		MUST(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, bad, 1 << 20) < 0); // fails before the names are read
		strcpy(two + 4096 - 5, "file");
		MUST(!stat(two + 4096 - 5, &s) && !access(two + 4096 - 5, R_OK));
		memset(two, 'n', 4096);
		failed(open(two + 1, O_RDONLY));
		MUST(open(page - 0, O_RDONLY) < 0);
	}
	char *name = malloc(9000);
	memset(name, 'l', 8999);
	name[8999] = 0;
	for (int i = 0; i < 20; i++)
		MUST(open(name, O_RDONLY) < 0 && errno == ENAMETOOLONG);
}

static void *generic(void *n)
{
	for (intptr_t i = 0; i < (intptr_t)n; i++)
		MUST(syscall(SYS_pread64, file, page, 100, 0) == 100);
	return 0;
}

static void *sleeper(void *word)
{
	struct timespec t = { 0, 200000 };
	for (int i = 0; i < 200; i++)
		MUST(syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &t, 0, 0) < 0 && (errno == ETIMEDOUT || errno == EINTR));
	return 0;
}

// Threads are within a call site while it becomes a jump.
static void threads(void)
{
	static int word;
	pthread_t all[8];
	for (int i = 0; i < 8; i++)
		MUST(!pthread_create(all + i, 0, i < 2 ? sleeper : i < 5 ? generic : reader, i < 2 ? (void *)&word : (void *)1000));
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], 0);
}

// A process is made while others call.
static void forks(void)
{
	pthread_t other;
	MUST(!pthread_create(&other, 0, reader, (void *)3000));
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t child = i & 1 ? vfork() : fork();
		if (!child) {
			if (i & 1) {
				execl("/bin/true", "true", (char *)0);
				_exit(1);
			}
			reads(i * 3);
			_exit(0);
		}
		MUST(waitpid(child, &status, 0) == child && !status);
	}
	pthread_join(other, 0);
}

// There are more threads than rings.
static void crowd(void)
{
	static pthread_t all[2000];
	pthread_attr_t small;
	MUST(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 64 << 10));
	for (int i = 0; i < 2000; i++)
		MUST(!pthread_create(all + i, &small, reader, (void *)20));
	for (int i = 0; i < 2000; i++)
		pthread_join(all[i], 0);
}

// Many processes are there at once, and make others.
static void bomb(void)
{
	for (int i = 0; i < 100; i++)
		if (!fork()) {
			reads(20);
			pid_t child = fork();
			reads(20);
			_exit(child && wait(0) != child);
		}
	for (int i = 0, status; i < 100; i++)
		MUST(wait(&status) > 0 && !status);
}

static void *waits(void *fd) { char c; MUST(read((intptr_t)fd, &c, 1) == 1); return 0; }

static void cancels(void)
{
	reads(100);
	for (int i = 0; i < 20; i++) {
		int pipes[2];
		void *result;
		pthread_t t;
		MUST(!pipe(pipes) && !pthread_create(&t, 0, waits, (void *)(intptr_t)pipes[0]));
		usleep(1000);
		MUST(!pthread_cancel(t) && !pthread_join(t, &result) && result == PTHREAD_CANCELED);
		close(pipes[0]);
		close(pipes[1]);
	}
}

// A filter of its own kills what the program itself does not call.
static void sandbox(void)
{
	reads(100);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	reads(100);
	for (int i = 0; i < 50; i++)
		MUST(!close(open("file", O_RDONLY | O_CREAT, 0600)));
	if (!fork()) {
		reads(100);
		MUST(!close(open("file", O_RDONLY | O_CREAT, 0600)));
		_exit(0);
	}
	int status;
	MUST(wait(&status) > 0 && !status);
}

#ifdef __x86_64__
// The register that the recorder uses is the program's.
static void gs(void)
{
	static long own[4] = { 11, 22, 33, 44 };
	long value = 0;
	reads(100);
	MUST(!syscall(SYS_arch_prctl, ARCH_SET_GS, own));
	for (int i = 0; i < 100; i++) {
		reads(1);
		__asm__ volatile("movq %%gs:8, %0" : "=r"(value));
		MUST(value == 22 && own[0] == 11);
	}
}
#else
static void gs(void) {}
#endif

int main(int count, char **words)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "signals", signals }, { "restarts", restarts }, { "jumps", jumps }, { "pointers", pointers }, { "threads", threads },
		{ "forks", forks }, { "cancels", cancels }, { "crowd", crowd }, { "bomb", bomb }, { "sandbox", sandbox }, { "gs", gs },
	};
	file = open("file", O_RDWR | O_CREAT, 0600);
	MUST(file >= 0 && write(file, page, sizeof page) == sizeof page);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (count > 1 && !strcmp(words[1], cases[i].name))
			cases[i].run();
	printf("%d", handled);
	return 0;
}
