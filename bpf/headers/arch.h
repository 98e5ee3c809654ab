/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * All that depends on the processor: where the arguments of a system call
 * stand, how a 32-bit call is told from a native one, and the layout of
 * struct stat.
 */
#pragma once

#include "format.h"
#include "kernel.h"

#if defined(__TARGET_ARCH_x86)

#define STAT_MODE 24
#define STAT_SIZE 48

/* Returns an argument of a system call. The registers keep them until it returns, except
 * over execve. */
INLINE u64 arg_of(const struct pt_regs *regs, u32 i)
{
	switch (i) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->r10;
	case 4: return regs->r8;
	default: return regs->r9;
	}
}

enum parameters { NUM_PARAMETERS = 6 };

/* Reads the registers of a function's arguments, at its first instruction. */
INLINE void read_parameters(u64 args[NUM_PARAMETERS], const struct pt_regs *regs)
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->cx;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

/* Where its further arguments are, behind the address that it returns to. */
INLINE u64 stack_parameters(const struct pt_regs *regs) { return regs->sp + sizeof(u64); }

INLINE u64 return_address(const struct pt_regs *regs)
{
	u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)regs->sp);
	return address;
}

/* What tells a call from others: the stack pointer at its first instruction, and the
 * same when it has returned. */
INLINE u64 entry_sp(const struct pt_regs *regs) { return regs->sp; }
INLINE u64 return_sp(const struct pt_regs *regs) { return regs->sp - sizeof(u64); }
INLINE s64 result_of(const struct pt_regs *regs) { return regs->ax; }

/* Reports a call through the 32-bit table, whose numbers mean other calls:
 * TS_COMPAT of arch/x86/include/asm/thread_info.h. */
INLINE int is_compat(const struct task_struct *task)
{
	return task->thread_info.status & 2;
}

/* Returns the number of the call that a thread is in, -1 if it entered the
 * kernel by an exception. */
INLINE s64 call_of(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

#elif defined(__TARGET_ARCH_arm64)

#define STAT_MODE 16
#define STAT_SIZE 48

/* The result takes the place of the first argument, which is kept apart. */
INLINE u64 arg_of(const struct pt_regs *regs, u32 i) { return i ? regs->regs[i] : regs->orig_x0; }

enum parameters { NUM_PARAMETERS = 8 };

INLINE void read_parameters(u64 args[NUM_PARAMETERS], const struct pt_regs *regs)
{
	for (int i = 0; i < NUM_PARAMETERS; i++)
		args[i] = regs->regs[i];
}

INLINE u64 stack_parameters(const struct pt_regs *regs) { return regs->sp; }
INLINE u64 return_address(const struct pt_regs *regs) { return regs->regs[30]; }
INLINE u64 entry_sp(const struct pt_regs *regs) { return regs->sp; }
INLINE u64 return_sp(const struct pt_regs *regs) { return regs->sp; }
INLINE s64 result_of(const struct pt_regs *regs) { return regs->regs[0]; }

/* TIF_32BIT of arch/arm64/include/asm/thread_info.h. */
INLINE int is_compat(const struct task_struct *task)
{
	return task->thread_info.flags & (1 << 22);
}

INLINE s64 call_of(const struct pt_regs *regs)
{
	return regs->syscallno;
}

#else
#error "unknown architecture"
#endif

/* Reads the first n arguments of a call. */
INLINE void read_args(u64 *args, const struct pt_regs *regs, u32 n)
{
#pragma unroll
	for (u32 i = 0; i < n; i++)
		args[i] = arg_of(regs, i);
}

/* The layouts below are the same on every 64-bit architecture. */
#define SIGINFO_PID 16
#define STATX_MODE 28
#define STATX_SIZE 40

enum { MAP_TYPE = 0xf };   /* the bits of MAP_SHARED and MAP_PRIVATE */
enum { VM_SHARED = 8 }; /* in vm_area_struct.vm_flags; those of PROT_ are as in mmap */

struct iocb { /* include/uapi/linux/aio_abi.h, little endian */
	u64 data;
	u32 key;
	u32 rw_flags;
	u16 opcode;
	s16 priority;
	u32 fd;
	u64 buf;
	u64 nbytes; /* or segments */
	u64 offset;
};

struct io_event {
	u64 data;
	u64 request;
	s64 result;
	s64 result2;
};

struct aio_ring { /* at the address that is the context */
	u32 id;
	u32 nr;
	u32 head;
	u32 tail;
	u32 more[4];
}; /* and its events behind it */

/* include/uapi/linux/io_uring.h */
struct sqe {
	u8 opcode;
	u8 flags;
	u16 ioprio;
	s32 fd;
	u64 off;
	u64 addr;
	u32 len;
	u32 op_flags;
	u64 user_data;
	u16 buf_index;
	u16 personality;
	s32 fd2;
	u64 addr3;
};

struct io_uring_params {
	u32 sq_entries;
	u32 cq_entries;
	u32 flags;
	u32 sq_thread_cpu;
	u32 sq_thread_idle;
};

#define SQE_BYTES 64
enum { IOCB_CMD_PREAD, IOCB_CMD_PWRITE, IOCB_CMD_POLL = 5, IOCB_CMD_PREADV = 7, IOCB_CMD_PWRITEV };

struct iovec {
	u64 base;
	u64 len;
};

struct open_how {
	u64 flags;
	u64 mode;
	u64 resolve;
};

struct clone_args { /* the part that tells what is shared */
	u64 flags;
	u64 pidfd;
	u64 child_tid;
	u64 parent_tid;
	u64 exit_signal;
};

struct flock {
	s16 type;
	s16 whence;
	s64 start;
	s64 len;
};

struct file_clone_range {
	s64 src_fd;
	u64 src_offset;
	u64 src_length;
	u64 dest_offset;
};

struct space_resv { /* and more that the kernel does not look at */
	s16 type;
	s16 whence;
	s64 start;
	s64 len;
};

struct xattr_args {
	u64 value;
	u32 size;
	u32 flags;
};

struct acl_entry { /* posix_acl_xattr_entry, which follow a u32 */
	u16 tag;
	u16 perm;
	u32 id;
};

struct file_dedupe_range { /* with the first of its destinations */
	u64 src_offset;
	u64 src_length;
	u16 dest_count;
	u16 reserved1;
	u32 reserved2;
	s64 dest_fd;
	u64 dest_offset;
};
