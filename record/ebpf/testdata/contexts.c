/* Makes a context of libaio, and then one at the same address in a process whose number is greater
 * by 1 << 17. It ends with 2 where it cannot have such a process. */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	aio_context_t context = 0, other = 0;
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid_size = 1};
	pid_t child = getpid() + (1 << 17);
	int status;

	args.set_tid = (uintptr_t)&child;
	if (syscall(SYS_io_setup, 8, &context))
		return 1;
	switch (syscall(SYS_clone3, &args, sizeof(args))) {
	case -1:
		return 2;
	case 0:
		munmap((void *)context, 4096); /* the child has a mapping of it, but not the context */
		if (syscall(SYS_io_setup, 8, &other) || other != context)
			return 2;
		return syscall(SYS_io_destroy, other) ? 1 : 0;
	}
	wait(&status);
	if (status)
		return WEXITSTATUS(status);
	return syscall(SYS_io_destroy, context) ? 1 : 0;
}
