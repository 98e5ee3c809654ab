/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The account of I/O that the recording does not hold: package coverage.
 *
 * The kernel itself counts the bytes that a thread moves in calls like read and
 * write, in task->ioac. The recorder adds up its growth during recorded calls. The rest,
 * when the thread ends, was moved by something else.
 * task->ioac does not include io_uring, libaio and mapped files; they are counted here.
 */
#pragma once

#include "read.h"
#include "threads.h"

/* Read when the recording ends. */
struct tally missing[NUM_MISSING];
u64 unmapped; /* mappings of files that could not be noted in files */
u64 writable; /* mappings through which followed threads can write to files */
u64 huge;     /* mappings of files that a huge page fits in */
u64 watching; /* the programs that see huge pages are attached; without them, the cause of growth is unknown */
u64 mappings; /* some address space has a mapping of a file that is no program */

/* Requests in flight of io_uring, of rings that a thread of the kernel polls,
 * and of libaio. A thread waits for none of them while there is none. */
struct flight {
	s64 requests;
	u64 since; /* nanoseconds; when the number last rose from 0 */
};
struct flight uring_flight, polled_flight, aio_flight;
u64 uring_done; /* requests of rings on files that have completed */
u64 aio_taken;  /* requests of libaio that have been submitted */

/* Files that followed threads have mapped by mmap. What exec maps is not here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct file_id);
	__type(value, struct mapped);
} files SEC(".maps");

/* How many pages of files an address space has mapped, by the counter that the
 * processors share, which can lag behind. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, s64);
} filepages SEC(".maps");

INLINE void add(u64 *sum, u64 n) { __sync_fetch_and_add(sum, n); }

INLINE void take_off(struct flight *f, s64 n)
{
	if (n > 0 && __sync_fetch_and_add(&f->requests, n) <= 0)
		f->since = bpf_ktime_get_ns();
}

/* Requests from before the recorder attached land without having taken off.
 * Reports whether none is left. */
INLINE int land(struct flight *f, s64 n)
{
	if (n > f->requests)
		n = f->requests;
	return n > 0 && __sync_fetch_and_add(&f->requests, -n) == n;
}

/* Returns how long a call waited for requests; flying were in flight when it
 * began. */
INLINE u64 waited(const struct flight *f, u64 flying, u64 start, u64 end)
{
	if (flying)
		return end - start;
	return f->since > start && f->since < end ? end - f->since : 0;
}

INLINE u64 chars_of(const struct task_struct *task) { return task->ioac.rchar + task->ioac.wchar; }

/* Reports whether calls of a kind move bytes that task->ioac counts. execve
 * does: it reads programs. */
INLINE int moves(u8 kind)
{
	return kind == KIND_IO || kind == KIND_IOVEC || kind == KIND_OFFSETS || kind == KIND_EXEC;
}

/* Called when the first seen call of a thread begins. The account leaves out what the
 * thread moved before, such as in a call that had begun when the recorder attached. */
INLINE void meet(struct thread *t, struct task_struct *task)
{
	if (likely(t->flags & THREAD_MET))
		return;
	t->flags |= THREAD_MET;
	t->base = chars_of(task);
}

/* For variables that another processor accesses: keeps accesses in program order. */
#define ONCE(x) (*(volatile typeof(x) *)&(x))

/* Called when a recorded call that moves bytes ends. Others may settle the thread at the same
 * time: while it has a start, they use the bytes from before the call. */
INLINE void hold(struct thread *t, struct task_struct *task)
{
	ONCE(t->held) += chars_of(task) - t->chars;
	ONCE(t->start) = 0;
}

/* Adds the bytes of a thread to the account that its recorded calls have not moved and
 * that are not in it yet. A thread that begins or ends a call at that moment is left for
 * the next time. */
INLINE void settle(struct thread *t, struct task_struct *task)
{
	u64 start = ONCE(t->start), held = ONCE(t->held), settled = ONCE(t->settled);
	/* A call in progress does not end within the recording. */
	u64 chars = start && moves(plans[t->nr % MAX_SYS].kind) ? t->chars : ONCE(task->ioac.rchar) + ONCE(task->ioac.wchar);
	s64 rest = chars - t->base - held;

	if (ONCE(t->start) != start || ONCE(t->held) != held)
		return;
	if (t->flags & THREAD_MET && rest > (s64)settled && __sync_val_compare_and_swap(&t->settled, settled, rest) == settled)
		add(&missing[t->flags & THREAD_COMPAT ? MISSING_COMPAT : MISSING_ELSEWHERE].bytes, rest - settled);
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

/* Opcodes of include/uapi/linux/io_uring.h. */
#define OP(n) (1ULL << (n))
#define READS (OP(1) | OP(4) | OP(22) | OP(49) | OP(58))  /* READV READ_FIXED READ READ_MULTISHOT READV_FIXED */
#define WRITES (OP(2) | OP(5) | OP(23) | OP(59))          /* WRITEV WRITE_FIXED WRITE WRITEV_FIXED */
#define FILE_OPS                                                                                                       \
	(OP(3) | OP(8) | OP(17) | OP(18) | OP(21) | OP(24) | OP(28) | /* FSYNC SYNC_FILE_RANGE FALLOCATE OPENAT STATX FADVISE OPENAT2 */ \
	 OP(35) | OP(36) | OP(37) | OP(38) | OP(39) |             /* RENAMEAT UNLINKAT MKDIRAT SYMLINKAT LINKAT */     \
	 OP(41) | OP(42) | OP(43) | OP(44) | OP(55))              /* FSETXATTR SETXATTR FGETXATTR GETXATTR FTRUNCATE */
#define URING_CMD OP(46) /* commands for a device, of any size */

#define SKIPS_COMPLETION (1 << 6) /* REQ_F_CQE_SKIP, which is the bit that the application sets */

/* Reports whether a thread of the kernel polls the ring of a request, so that no
 * call shows how long the application waits. */
INLINE int is_polled(struct io_kiocb *request)
{
	struct io_ring_ctx *ring = LOAD(request, ctx);

	return ring && LOAD(ring, flags) & IORING_SETUP_SQPOLL;
}

/* Reports whether requests with an opcode are sent. */
INLINE int is_recorded(u8 opcode) { return with_requests && requests[opcode & (MAX_OPCODES - 1)].recorded; }

/* A request without a completion on success is counted when it is made. */
INLINE void count_submission(struct io_kiocb *request)
{
	struct tally *m = &missing[MISSING_URING];
	u8 opcode = LOAD(request, opcode);
	u64 op = OP(opcode & 63);

	if (!(op & (READS | WRITES | FILE_OPS | URING_CMD)))
		return;
	if (!(LOAD(request, flags) & SKIPS_COMPLETION)) {
		take_off(is_polled(request) ? &polled_flight : &uring_flight, 1);
		return;
	}
	if (is_recorded(opcode))
		return;
	add(&m->calls, 1);
	add(&m->reads, !!(op & READS));
	add(&m->writes, !!(op & WRITES));
	add(&m->unsized, !!(op & (READS | WRITES | URING_CMD)));
}

INLINE void count_completion(struct io_kiocb *request)
{
	struct tally *m = &missing[MISSING_URING];
	u8 opcode = LOAD(request, opcode);
	u64 op = OP(opcode & 63);
	s32 res = LOAD(request, cqe.res);

	if (!(op & (READS | WRITES | FILE_OPS | URING_CMD)))
		return;
	if (!is_polled(request))
		land(&uring_flight, 1);
	else if (land(&polled_flight, 1))
		add(&m->nanos, bpf_ktime_get_ns() - polled_flight.since);
	if (op & (READS | WRITES)) {
		struct file *file = LOAD(request, file);
		u32 type = file ? type_of(LOAD(file, f_inode)) : 0;

		if (type != TYPE_FILE && type != TYPE_BLOCK)
			return;
	}
	add(&uring_done, 1);
	if (is_recorded(opcode))
		return;
	add(&m->calls, 1);
	if (op & URING_CMD)
		add(&m->unsized, 1);
	if (!(op & (READS | WRITES)))
		return;
	add(op & READS ? &m->reads : &m->writes, 1);
	if (res > 0)
		add(&m->bytes, res);
}

/* Returns the inode whose pages a file shows: for a block device its own, not that
 * of its name. */
INLINE struct inode *host_of(struct file *file)
{
	struct address_space *mapping = LOAD(file, f_mapping);

	return LOAD(mapping, host);
}

INLINE struct file_id id_of(struct inode *inode)
{
	struct super_block *sb = LOAD(inode, i_sb);
	struct file_id id = {.ino = LOAD(inode, i_ino), .dev = LOAD(sb, s_dev)};

	return id;
}

/* Finds a mapped file; NULL if the file does not count. */
INLINE struct mapped *mapped_file(struct inode *inode)
{
	struct mapped *file;
	struct file_id id;

	if (!inode)
		return NULL;
	id = id_of(inode);
	file = bpf_map_lookup_elem(&files, &id);
	if (!file || file->exec)
		return NULL;
	file->size = LOAD(inode, i_size);
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

/* Returns by how many pages of files an address space has grown since the last
 * call, as far as it is known; 0 at the first call. */
INLINE s64 grown(struct mm_struct *mm)
{
	s64 *last, count, before;
	u64 key = (u64)mm;

	if (!HAS(mm, rss_stat[MM_FILEPAGES].count))
		return 0;
	count = LOAD(mm, rss_stat[MM_FILEPAGES].count);
	last = bpf_map_lookup_elem(&filepages, &key);
	if (!last) {
		bpf_map_update_elem(&filepages, &key, &count, 0);
		return 0;
	}
	before = *last;
	*last = count;
	return count - before;
}

/* Notes how many pages of files an address space has mapped, unless that is known. */
INLINE void begin_growth(struct mm_struct *mm)
{
	u64 key = (u64)mm;

	if (!bpf_map_lookup_elem(&filepages, &key))
		grown(mm);
}

/* What a mapping is, in the words of mmap. */
struct request {
	u64 prot;
	u64 flags;
	u64 length; /* bytes */
	u64 file;   /* struct file */
	u64 mm;     /* struct mm_struct */
	u64 done;   /* it has been noted, or is none to be noted */
	u64 inode;  /* struct inode of a file with storage, 0 for none */
	u64 data;   /* it shows a file that is no program */
};

#define HUGE_PAGES (s64)(page_bytes / sizeof(u64)) /* pages of a huge page: a table of them */

/* Notes the file of a mapping of a followed thread. A file in memory has no
 * storage to be read from. A function of its own, so that the verifier checks it
 * only once. */
__attribute__((noinline)) int note_file(struct request *r)
{
	struct file *file;
	struct mapped fresh = {}, *known;
	struct super_block *sb;
	struct inode *inode;
	struct file_id id;
	u64 magic;
	u32 type;

	if (!r)
		return 0; /* never, but the verifier cannot know */
	r->done = 1;
	file = (void *)r->file;
	inode = host_of(file);
	if (!inode)
		return 0;
	type = LOAD(inode, i_mode) >> TYPE_SHIFT;
	if (type != TYPE_FILE && type != TYPE_BLOCK)
		return 0;
	sb = LOAD(inode, i_sb);
	magic = LOAD(sb, s_magic);
	if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC || is_pseudo(magic))
		return 0;
	if (magic == OVERLAYFS_MAGIC) { /* whose files show others */
		r->done = 0;
		return 0;
	}
	r->inode = (u64)inode;
	id = id_of(inode);
	/* The dynamic linker of glibc asks for MAP_DENYWRITE, from its first mapping of a library on. */
	fresh.exec = r->prot & PROT_EXEC || r->flags & MAP_DENYWRITE || is_of_libc(file);
	fresh.size = LOAD(inode, i_size);
	known = bpf_map_lookup_elem(&files, &id);
	if (known)
		known->exec |= fresh.exec;
	else if (!bpf_map_update_elem(&files, &id, &fresh, 0))
		known = bpf_map_lookup_elem(&files, &id);
	if (!known) {
		add(&unmapped, !fresh.exec);
		return 0;
	}
	if (known->exec)
		return 0;
	r->data = 1;
	if (!with_maps && r->flags & (MAP_POPULATE | MAP_LOCKED) && !(r->flags & MAP_NONBLOCK)) {
		add(&known->faults, 1);
		add(&known->in, r->length);
	}
	if (r->length >= HUGE_PAGES * page_bytes) {
		add(&huge, 1);
		if (watching)
			grown((void *)r->mm);
	}
	if (r->prot & PROT_WRITE && (r->flags & MAP_TYPE) != MAP_PRIVATE)
		add(&writable, 1);
	return 0;
}

/* On an overlay file system the mapping has the file beneath, the descriptor has
 * not. */
static long note_mapping(struct task_struct *task, struct vm_area_struct *vma, struct request *r)
{
	r->done = 1;
	r->file = (u64)vma->vm_file;
	if (r->file)
		note_file(r);
	return 0;
}

/* Counts pages of a file that a fault has mapped as one huge page. */
static long count_huge(struct task_struct *task, struct vm_area_struct *vma, u64 *done)
{
	struct file *file = vma->vm_file;
	struct mapped *known = file ? mapped_file(host_of(file)) : NULL;

	*done = 1;
	if (known) {
		add(&known->faults, 1);
		add(&known->in, HUGE_PAGES * page_bytes);
	}
	return 0;
}

/* Returns the bytes of a folio, which is dirty as a whole. */
INLINE u64 folio_bytes(struct folio *folio)
{
	u64 flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), folio); /* they come first */
	if (flags & 1ULL << __builtin_preserve_enum_value(*(enum pageflags *)PG_head, 1)) {
		if (HAS(folio, _nr_pages))
			return LOAD(folio, _nr_pages) * (u64)page_bytes;
		struct folio___old *old = (void *)folio;
		if (HAS(old, _folio_nr_pages))
			return LOAD(old, _folio_nr_pages) * (u64)page_bytes;
	}
	return page_bytes;
}

/* Reports whether mmap maps a file. */
INLINE int maps_file(const struct pt_regs *regs) { return !(arg_of(regs, 3) & MAP_ANONYMOUS); }

/* A call of KIND_MISSING ends. */
INLINE void count_call(struct thread *t, struct task_struct *task, struct pt_regs *regs, s64 ret, u64 end,
		       const struct plan *plan)
{
	u64 start = t->counting, args[6];

	t->counting = 0;
	read_args(args, regs, 6);
	switch (plan->kind) {
	case KIND_COUNT:
		if (plan->reg < NUM_MISSING)
			add(&missing[plan->reg].calls, 1);
		break;
	case KIND_SUBMIT:
		if (ret > 0)
			add(&aio_taken, ret);
		land(&aio_flight, args[1] - (ret > 0 ? ret : 0)); /* which were not taken */
		if (aio_taken)
			add(&missing[MISSING_AIO].nanos, end - start);
		break;
	case KIND_GETEVENTS:
		if (aio_taken)
			add(&missing[MISSING_AIO].nanos, waited(&aio_flight, t->flying, start, end));
		land(&aio_flight, ret);
		break;
	case KIND_RING:
		if (uring_done != t->ringed)
			add(&missing[MISSING_URING].nanos, waited(&uring_flight, t->flying, start, end));
		break;
	case KIND_MAP:
		t->args[0] = t->args[1] = 0; /* for send_map */
		t->args[2] = args[3] & MAP_ANONYMOUS;
		if (t->args[2] || (ret > -4096 && ret < 0))
			break;
		struct request r = {.prot = args[2], .flags = args[3], .length = args[1], .mm = (u64)task->mm};

		bpf_find_vma(task, ret, note_mapping, &r, 0);
		if (!r.done) { /* another thread changes the address space */
			r.file = (u64)file_of(task, args[4]);
			if (r.file)
				note_file(&r);
		}
		if (!r.done && !(r.prot & PROT_EXEC))
			add(&unmapped, 1);
		if (with_maps) {
			t->args[0] = r.inode;
			t->args[1] = r.data;
		} else if (r.data && r.flags & (MAP_POPULATE | MAP_LOCKED))
			add(&missing[MISSING_MAPPED].nanos, end - start);
		break;
	}
}

/* Returns the kind of missing I/O, from 1, that a followed thread waits for if it
 * waits for storage outside of recorded calls; 0 for none, such as a wait
 * for a page of a program. On its way out of a call, and at its end, a thread lets
 * go of the last reference to files, and frees the space of those without a name:
 * that belongs to a dup2 or an exit, which are recorded. */
INLINE u32 waits_for(struct thread *t, struct task_struct *task)
{
	struct pt_regs *regs;
	s64 nr;

	if (t->counting || task->flags & PF_EXITING)
		return 0; /* all of the call counts */
	regs = (void *)bpf_task_pt_regs(task);
	nr = call_of(regs);
	if (nr < 0)
		return with_maps ? 0 : t->in_data ? MISSING_MAPPED + 1 : 0;
	if (nr < MAX_SYS && plans[nr].kind && plans[nr].kind <= KIND_ALWAYS)
		return 0;
	return MISSING_ELSEWHERE + 1;
}
