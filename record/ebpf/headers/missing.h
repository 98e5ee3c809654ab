/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The account of I/O that the recording does not hold: package coverage.
 *
 * The kernel itself counts the bytes that a thread moves in calls like read and
 * write, in task->ioac. Of each recorded call the recorder notes by how much it
 * has grown; what is left when the thread ends was moved by something else.
 * io_uring, libaio and mapped files pass task->ioac by; they are counted here.
 */
#pragma once

#include "read.h"
#include "threads.h"

/* Read when the recording ends. */
struct tally missing[NUM_MISSING];
u64 unmapped; /* mappings of files that could not be noted in files */
u64 writable; /* mappings through which followed threads can write to files */

/* Files that followed threads have mapped by mmap. What exec maps is not here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct file_id);
	__type(value, struct mapped);
} files SEC(".maps");

/* Rings that followed threads have made. Some complete requests in threads of
 * the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, u8);
} rings SEC(".maps");

INLINE void add(u64 *sum, u64 n) { __sync_fetch_and_add(sum, n); }

INLINE u64 chars_of(const struct task_struct *task) { return task->ioac.rchar + task->ioac.wchar; }

/* Reports whether calls of a kind move bytes that task->ioac counts. execve
 * does: it reads programs. */
INLINE int moves(u8 kind)
{
	return kind == KIND_IO || kind == KIND_IOVEC || kind == KIND_OFFSETS || kind == KIND_EXEC;
}

/* Puts the bytes of a thread into the account that its recorded calls have not
 * moved; once. */
INLINE void settle(struct thread *t, struct task_struct *task)
{
	s64 rest = chars_of(task) - t->base - t->held;

	if (rest > 0 && __sync_val_compare_and_swap(&t->settled, 0, 1) == 0)
		add(&missing[t->flags & THREAD_COMPAT ? MISSING_COMPAT : MISSING_ELSEWHERE].bytes, rest);
}

/* Counts a recorded call that found no room in the ring. */
INLINE void miss(struct task_struct *task, u8 kind, u64 fd, u64 nanos, s64 ret)
{
	struct tally *m = &missing[MISSING_LOST];
	u32 type = with_type ? read_type(task, fd) : TYPE_FILE;

	add(&m->calls, 1);
	if (kind != KIND_IO && kind != KIND_IOVEC)
		return;
	if (type != TYPE_FILE && type != TYPE_BLOCK)
		return;
	add(&m->nanos, nanos);
	if (ret > 0)
		add(&m->bytes, ret);
}

/* Reads up to eight segments of a vector, which are most; reports whether these
 * are all. */
INLINE int sum_segments(u64 ptr, u64 n, u64 *sum)
{
	struct iovec v;

	for (u32 i = 0; i < 8 && i < n; i++) {
		if (bpf_probe_read_user(&v, sizeof(v), (struct iovec *)ptr + i))
			return 0;
		*sum += v.len;
	}
	return n <= 8;
}

/* Counts a request of io_submit. It is a function of its own, and no part of a
 * loop, for the verifier to look at it once. */
__attribute__((noinline)) int count_request(u64 request)
{
	struct tally *m = &missing[MISSING_AIO];
	struct iocb cb;
	u64 bytes = 0;
	u32 type;

	if (bpf_probe_read_user(&cb, sizeof(cb), (void *)request)) {
		add(&m->calls, 1);
		add(&m->unsized, 1);
		return 0;
	}
	type = with_type ? read_type(bpf_get_current_task_btf(), cb.fd) : TYPE_FILE;
	if (cb.opcode == IOCB_CMD_POLL || (type != TYPE_FILE && type != TYPE_BLOCK))
		return 0;
	switch (cb.opcode) {
	case IOCB_CMD_PREADV:
	case IOCB_CMD_PWRITEV:
		if (!sum_segments(cb.buf, cb.nbytes, &bytes))
			add(&m->unsized, 1);
		add(cb.opcode == IOCB_CMD_PREADV ? &m->reads : &m->writes, 1);
		break;
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PWRITE:
		bytes = cb.nbytes;
		add(cb.opcode == IOCB_CMD_PREAD ? &m->reads : &m->writes, 1);
		break;
	}
	add(&m->calls, 1);
	add(&m->bytes, bytes);
	return 0;
}

/* The requests of one io_submit of which more is read than that they exist. */
#define MAX_REQUESTS 256

/* Counts the requests that io_submit took. */
INLINE void count_requests(u64 pointers, s64 n)
{
	for (u32 i = 0; i < MAX_REQUESTS && i < n; i++) {
		u64 request = 0;

		bpf_probe_read_user(&request, sizeof(request), (u64 *)pointers + i);
		count_request(request);
	}
	if (n > MAX_REQUESTS) {
		add(&missing[MISSING_AIO].calls, n - MAX_REQUESTS);
		add(&missing[MISSING_AIO].unsized, n - MAX_REQUESTS);
	}
}

/* Opcodes of include/uapi/linux/io_uring.h. */
#define OP(n) (1ULL << (n))
#define READS (OP(1) | OP(4) | OP(22) | OP(49) | OP(58))  /* READV READ_FIXED READ READ_MULTISHOT READV_FIXED */
#define WRITES (OP(2) | OP(5) | OP(23) | OP(59))          /* WRITEV WRITE_FIXED WRITE WRITEV_FIXED */
#define FILE_OPS                                                                                                       \
	(OP(3) | OP(8) | OP(17) | OP(18) | OP(21) | OP(24) | OP(28) | /* FSYNC SYNC_FILE_RANGE FALLOCATE OPENAT STATX FADVISE OPENAT2 */ \
	 OP(35) | OP(36) | OP(37) | OP(38) | OP(39) |             /* RENAMEAT UNLINKAT MKDIRAT SYMLINKAT LINKAT */     \
	 OP(41) | OP(42) | OP(43) | OP(44) | OP(55))              /* FSETXATTR SETXATTR FGETXATTR GETXATTR FTRUNCATE */
#define URING_CMD OP(46) /* commands for a device, of any size */

INLINE void count_completion(struct io_kiocb *request)
{
	struct tally *m = &missing[MISSING_URING];
	u64 op = OP(LOAD(request, opcode) & 63);
	s32 res = LOAD(request, cqe.res);

	if (op & (READS | WRITES)) {
		struct file *file = LOAD(request, file);
		u32 type = file ? type_of(LOAD(file, f_inode)) : 0;

		if (type != TYPE_FILE && type != TYPE_BLOCK)
			return;
		add(op & READS ? &m->reads : &m->writes, 1);
		if (res > 0)
			add(&m->bytes, res);
	} else if (op & URING_CMD) {
		add(&m->unsized, 1);
	} else if (!(op & FILE_OPS)) {
		return;
	}
	add(&m->calls, 1);
}

/* Finds the file that a mapping shows; NULL if it is none that counts. */
INLINE struct mapped *mapped_file(struct address_space *mapping)
{
	struct inode *inode = mapping->host;
	struct file_id id = {};

	if (!inode)
		return NULL;
	id.ino = inode->i_ino;
	id.dev = inode->i_sb->s_dev;
	struct mapped *file = bpf_map_lookup_elem(&files, &id);
	if (!file || file->exec)
		return NULL;
	file->size = inode->i_size;
	return file;
}

/* Reports whether a file belongs to the C library's start, as programs and
 * libraries do: ld.so.cache, locale-archive, gconv-modules.cache and the LC_ files
 * of a locale. */
INLINE int is_of_libc(struct file *file)
{
	struct dentry *dentry = LOAD(file, f_path.dentry);
	const char *at = (void *)LOAD(dentry, d_name.name);
	char name[20] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), at);
	return !__builtin_memcmp(name, "ld.so.cache", 12) || !__builtin_memcmp(name, "locale-archive", 15) ||
	       !__builtin_memcmp(name, "gconv-modules.cache", 19) || !__builtin_memcmp(name, "LC_", 3) ||
	       !__builtin_memcmp(name, "SYS_LC_", 7);
}

/* What a call of mmap asks for. */
struct request {
	u64 prot;
	u64 flags;
	u64 done;
};

/* Notes the file of a mapping that a followed thread has made. A file in memory
 * has no storage to be read from. */
static long note_mapping(struct task_struct *task, struct vm_area_struct *vma, struct request *r)
{
	struct mapped fresh = {}, *known;
	struct file_id id = {};
	struct super_block *sb;
	struct inode *inode;
	struct file *file;
	u64 magic;

	r->done = 1;
	file = vma->vm_file; /* of an overlay file system: the file beneath it */
	if (!file)
		return 0;
	inode = LOAD(file, f_inode);
	if (!inode || LOAD(inode, i_mode) >> TYPE_SHIFT != TYPE_FILE)
		return 0;
	sb = LOAD(inode, i_sb);
	magic = LOAD(sb, s_magic);
	if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC || is_pseudo(magic))
		return 0;
	id.ino = LOAD(inode, i_ino);
	id.dev = LOAD(sb, s_dev);
	fresh.exec = r->prot & PROT_EXEC || is_of_libc(file);
	known = bpf_map_lookup_elem(&files, &id);
	if (known)
		known->exec |= fresh.exec;
	else if (bpf_map_update_elem(&files, &id, &fresh, 0))
		add(&unmapped, !fresh.exec);
	if (r->prot & PROT_WRITE && (r->flags & MAP_TYPE) != MAP_PRIVATE)
		add(&writable, 1);
	return 0;
}

/* Reports whether mmap maps a file. */
INLINE int maps_file(const struct pt_regs *regs)
{
	u64 args[4];

	read_four(args, regs);
	return !(args[3] & MAP_ANONYMOUS);
}

/* A call of KIND_MISSING ends. */
INLINE void count_call(struct thread *t, struct task_struct *task, struct pt_regs *regs, s64 ret, u64 end,
		       const struct plan *plan)
{
	u64 nanos = end - t->counting, args[4];

	t->counting = 0;
	read_four(args, regs);
	switch (plan->kind) {
	case KIND_COUNT:
		if (plan->reg < NUM_MISSING)
			add(&missing[plan->reg].calls, 1);
		break;
	case KIND_SUBMIT:
		if (ret > 0)
			count_requests(args[2], ret);
		/* fall through */
	case KIND_GETEVENTS:
		if (missing[MISSING_AIO].calls)
			add(&missing[MISSING_AIO].nanos, nanos);
		break;
	case KIND_RING:
		if (missing[MISSING_URING].calls != t->ringed)
			add(&missing[MISSING_URING].nanos, nanos);
		break;
	case KIND_MAP:
		if (ret > -4096 && ret < 0)
			break;
		struct request r = {.prot = args[2], .flags = args[3]};

		bpf_find_vma(task, ret, note_mapping, &r, 0);
		if (!r.done && !(r.prot & PROT_EXEC))
			add(&unmapped, 1); /* another thread changes the address space */
		break;
	}
}

/* Returns which kind of missing I/O, from 1, a followed thread waits for that
 * waits for storage outside of recorded calls; 0 for none, as where it waits
 * for a page of a program. */
INLINE u32 waits_for(struct thread *t, struct task_struct *task)
{
	struct pt_regs *regs;

	if (t->counting)
		return 0; /* all of the call counts */
	regs = (void *)bpf_task_pt_regs(task);
	if (call_of(regs) < 0)
		return t->in_data ? MISSING_MAPPED + 1 : 0;
	return MISSING_ELSEWHERE + 1;
}
