/* A library of a layer, for span_test.go. All functions begin with a push, as the
 * compiler makes it for a register that they use; q_slow does not. */
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
	int key, value;
};

#define PUSH __asm__ volatile("" ::: PUSHED)
#if defined(__x86_64__)
#define PUSHED "rbx"
#else
#define PUSHED "x19"
#endif
#define APART __attribute__((noinline, noclone))

APART int q_open(const char *file, int flags)
{
	PUSH;
	return file && file[0] ? 7 : -1;
}

APART long q_many(int a, double x, long b, unsigned c, short d, const char *name, char e, unsigned char f, long g, int *out,
		  const long *list, int n, const char *text)
{
	PUSH;
	*out += name[0] + text[0];
	return g;
}

APART int q_deep(int n)
{
	PUSH;
	return n ? q_deep(n - 1) + 1 : 0;
}

APART void q_jump(jmp_buf *to)
{
	PUSH;
	longjmp(*to, 1);
}

APART int q_call(int n)
{
	PUSH;
	return getppid() * 0 + n + 1;
}

/* Ends in a jump, not in a call. */
#if defined(__x86_64__)
__asm__(".globl q_tail\n.type q_tail, @function\nq_tail: push %rbp\npop %rbp\njmp q_call@PLT\n.size q_tail, .-q_tail");
__asm__(".globl q_slow\n.type q_slow, @function\nq_slow: sub $8, %rsp\nadd $8, %rsp\nmov $3, %eax\nret\n.size q_slow, .-q_slow");
#endif

/* Uses up a list. With again it calls itself before that, so that two calls need theirs. */
APART int q_take(int *list, int n, int again)
{
	PUSH;
	int sum = again ? q_take(list + 1, n - 1, 0) : 0;
	for (int i = 0; i < n; i++) {
		sum += list[i];
		list[i] = 0;
	}
	return sum;
}

/* Says what it has found, in items of two ints. */
APART int q_find(int *found, short *flag, struct item *items, int *places)
{
	PUSH;
	*flag = -1;
	for (int i = 0; i < *found; i++) {
		items[i] = (struct item){i, -i};
		places[i] = 10 * i;
	}
	return 3;
}

/* Returns in two processes. */
APART int q_fork(int n)
{
	PUSH;
	int child = fork();
	if (!child)
		return -5;
	waitpid(child, 0, 0);
	return n;
}
