/* A program that calls the library of queue.c, for span_test.go. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int q_open(const char *file, int flags);
long q_many(int a, double x, long b, unsigned c, short d, const char *name, char e, unsigned char f, long g, int *out,
	    const long *list, int n, const char *text);
int q_deep(int n);
void q_jump(jmp_buf *to);
int q_call(int n);
int q_tail(int n);
int q_slow(void);
struct item {
	int key, value;
};
int q_fork(int n);
int q_take(int *list, int n, int again);
int q_find(int *found, short *flag, struct item *items, int *places);

static void *thread(void *unused)
{
	for (int i = 0; i < 100; i++)
		q_deep(1);
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	jmp_buf to;

	if (!strcmp(what, "arguments")) {
		long list[] = {1, -2, 3};
		int out = 1;
		q_open("file \"x\"", 2);
		q_open(NULL, 3);
		q_many(-1, 1.5, 1000, 4000000000u, -7, "name", -3, 200, -9000000000, &out, list, 3, "SELECT");
	} else if (!strcmp(what, "arrays")) {
		static int many[1000];
		int list[9];
		for (int i = 0; i < 9; i++)
			list[i] = -i;
		q_take(list, 3, 0);
		q_take(list + 3, 3, 1); /* the inner call takes the place of the outer one's list */
		q_take(list + 6, 3, 0);
		q_take(list, -1, 0);
		q_take(NULL, 0, 0);
		q_take((int *)8, 0, 0);
		q_take(many, 1000, 0);
		short flag;
		struct item items[2];
		int places[2], found = 2, none = -5;
		q_find(&found, &flag, items, places);
		q_find(&none, &flag, (struct item *)1, NULL);
		/* An array that the layer takes for longer than it is, at the end of what is mapped. */
		char *end = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end += getpagesize();
		munmap(end, getpagesize());
		found = 1;
		q_find(&found, &flag, (struct item *)end - 1, places);
	} else if (!strcmp(what, "nest")) {
		q_deep(3);
		q_tail(1);
		q_tail(2);
	} else if (!strcmp(what, "jump")) {
		for (volatile int i = 0; i < 100; i++)
			if (!setjmp(to))
				q_jump(&to);
		q_call(1);
	} else if (!strcmp(what, "deep")) {
		q_deep(29);
	} else if (!strcmp(what, "fork")) {
		if (q_fork(4) == -5) {
			q_call(20);
			_exit(0);
		}
	} else if (!strcmp(what, "exec")) {
		if (!setjmp(to))
			q_jump(&to);
		execl(argv[0], argv[0], "call", NULL);
	} else if (!strcmp(what, "call")) {
		q_call(5);
	} else if (!strcmp(what, "slow")) {
		q_slow();
		q_call(1);
	} else if (!strcmp(what, "threads")) {
		pthread_t all[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&all[i], NULL, thread, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(all[i], NULL);
	} else if (!strcmp(what, "wait")) {
		char byte;
		while (read(0, &byte, 1) == 1) {
			q_call(byte);
			write(1, &byte, 1);
		}
	}
	return 0;
}
