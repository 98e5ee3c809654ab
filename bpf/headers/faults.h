/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Page faults on mappings of files.
 *
 *   mm_filemap_map_pages ─┐
 *   mm_filemap_fault ─────┼→ thread.fault ──→ sent at the next fault, call or switch
 *   writeback_dirty_folio ┘
 *
 * No hook says where a fault ends, and those at its start run at faults on anonymous
 * memory as well, which must cost nothing. But the kernel counts the faults of a
 * thread when they end: while the count stays the same, the hooks report one fault.
 *
 * No hook has the address either. The recorder knows what each address space has mapped,
 * and finds the address from the file and the page.
 */
#pragma once

#include "send.h"

#define EBUSY 16

/* The range of addresses in which a process has mappings of files that are not programs.
 * Threads extend it at the same time, so each edge only grows. */
struct bounds {
	u64 below; /* the complement of the lowest address: all zeroes is no range */
	u64 high;
	u64 fixed; /* some were put at a given address, perhaps within other memory */
};

/* The first thread of a process has the bounds. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bounds);
} spaces SEC(".maps");

INLINE struct bounds *bounds_of(struct task_struct *task) { return bpf_task_storage_get(&spaces, task->group_leader, NULL, 0); }

/* Moves an edge of bounds at least so far. Reports false if other threads were quicker at
 * each attempt, and so have moved it too. */
#define MAX_TRIES 16

INLINE int widen(u64 *edge, u64 to)
{
	for (int i = 0; i < MAX_TRIES; i++) {
		u64 now = ONCE(*edge);

		if (now >= to || __sync_val_compare_and_swap(edge, now, to) == now)
			return 1;
	}
	return 0;
}

/* Called when a process maps a file that is not a program. */
INLINE void extend_bounds(struct task_struct *task, u64 address, u64 length, u64 fixed)
{
	struct bounds *b = bpf_task_storage_get(&spaces, task->group_leader, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!b)
		b = bounds_of(task); /* another thread was quicker to make them */
	if (b && fixed)
		b->fixed = 1;
	if (!b || !(widen(&b->below, ~address) & widen(&b->high, address + length)))
		leave_untracked(UNTRACKED_SPACE);
	mappings = 1;
}

static long is_data(struct task_struct *task, struct vm_area_struct *vma, u64 *found)
{
	struct file *file = vma->vm_file;

	*found = file && mapped_file(host_of(file));
	return 0;
}

/* Reports whether an address is, or can be, in a mapping of a file that is not a program. */
INLINE int shows_file(struct task_struct *task, u64 address)
{
	u64 found = 0;

	return bpf_find_vma(task, address, is_data, &found, 0) == -EBUSY || found;
}

/* Reports whether a call on memory concerns mappings of files. If other memory lies between
 * them, calls on that count too. */
INLINE int concerns_files(struct task_struct *task, const struct pt_regs *regs)
{
	u64 from = arg_of(regs, 0), to = from + arg_of(regs, 1), low;
	struct bounds *b;

	if (!mappings)
		return 0;
	b = bounds_of(task);
	if (!b)
		return 0;
	low = ~b->below;
	if (to <= low || from >= b->high)
		return 0;
	return b->fixed || from <= low || to >= b->high || shows_file(task, from) || shows_file(task, to - 1);
}

/* Reports whether a call of mmap is one that can concern files. */
INLINE int may_map_file(struct task_struct *task, const struct pt_regs *regs)
{
	return maps_file(regs) || (with_maps && arg_of(regs, 3) & MAP_FIXED && concerns_files(task, regs));
}

/* Called before a process runs that has the address space of another one, or a copy of it. */
INLINE void copy_space(struct task_struct *child, struct task_struct *parent)
{
	struct bounds *b = bounds_of(parent), copy;
	struct space *s;

	if (b) {
		copy = *b;
		if (!bpf_task_storage_get(&spaces, child, &copy, BPF_LOCAL_STORAGE_GET_F_CREATE))
			leave_untracked(UNTRACKED_SPACE);
	}
	if (space_of(child) == space_of(parent))
		return;
	s = reserve(NR_SPACE, sizeof(*s));
	if (!s)
		return;
	s->start = 0;
	s->space = space_of(child);
	s->parent = space_of(parent);
	s->tid = 0;
	s->nr = NR_SPACE;
	s->flags = 0;
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

/* Called when a program or library is mapped: its faults are sent if they wait for storage. */
INLINE void tell_program(struct task_struct *task, struct inode *inode, u64 address, const u64 args[6])
{
	struct program p = {.space = space_of(task), .nr = NR_PROGRAM, .address = address, .length = args[1], .offset = args[5]};
	struct file_id id = id_of(inode);

	p.ino = id.ino;
	p.dev = id.dev;
	output(NR_PROGRAM, &p, sizeof(p), BPF_RB_NO_WAKEUP);
}

INLINE u64 ended_faults(const struct task_struct *task) { return task->min_flt + task->maj_flt; }

/* Reports whether the fault of the thread is in progress. */
INLINE int in_fault(const struct thread *t, const struct task_struct *task)
{
	return t->fault.flags && t->fault_count == ended_faults(task);
}

/* Called when a fault turns out not to be sent. */
INLINE void give_back(struct thread *t, u32 flags)
{
	struct fault *f = &t->fault;

	t->calls += f->calls;
	if (flags & FAULT_RESTED)
		for (int i = 0; i < NUM_OFF; i++)
			t->off[i] += t->fault_off[i];
	t->off[OFF_STORAGE] += f->took;
	t->rested |= f->took != 0;
}

/* The kernel retries the fault after it, or another thread, has read the page. */
INLINE void try_again(struct thread *t)
{
	if (!t->start)
		time_fault(t, bpf_ktime_get_ns());
}

/* Sends the fault of the current thread, which has ended or failed. */
static __attribute__((noinline)) int send_fault(struct thread *t, struct task_struct *task)
{
	struct fault *f = &t->fault;
	u32 flags = f->flags;
	int sent;

	f->flags = 0;
	processor(bpf_get_smp_processor_id())->faulted = 0;
	if (flags & FAULT_UNNAMED || (flags & FAULT_PROGRAM && !f->took)) {
		give_back(t, flags);
		return 0;
	}
	if (flags & FAULT_PAGE && task->maj_flt != t->majors)
		flags |= FAULT_FILLED;
	identify(t, task);
	f->tid = t->tid;
	f->nr = NR_FAULT;
	f->flags = flags;
	if (flags & FAULT_RESTED)
		sent = output(NR_FAULT, f, sizeof(*f) + sizeof(t->fault_off), BPF_RB_NO_WAKEUP);
	else
		sent = output(NR_FAULT, f, sizeof(*f), BPF_RB_NO_WAKEUP);
	f->flags = 0;
	if (!sent) {
		miss_call(NR_FAULT, 0, 0, 0);
		add(&missing[MISSING_LOST].bytes, f->pages * (u64)page_bytes);
		add(&missing[MISSING_LOST].nanos, f->took);
	}
	return 0;
}

/* Called when a fault on pages of a file begins, or when a fault in progress gets its file. */
INLINE void begin_fault(struct thread *t, struct task_struct *task, u32 flags, u64 mapping, struct file_id id, u64 first, u32 pages)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	struct fault *f = &t->fault;
	int goes_on = f->flags & FAULT_UNNAMED && in_fault(t, task);

	if (f->flags && !goes_on)
		send_fault(t, task);
	if (!goes_on) {
		f->start = t->start ? t->start : bpf_ktime_get_ns();
		f->took = 0;
		t->fault_count = ended_faults(task);
		t->majors = task->maj_flt;
	}
	f->space = space_of(task);
	t->mapping = mapping;
	f->calls = t->calls + here->calls;
	t->calls = here->calls = 0;
	if (t->rested) {
		__builtin_memcpy(t->fault_off, t->off, sizeof(t->off));
		__builtin_memset(t->off, 0, sizeof(t->off));
		flags |= FAULT_RESTED;
	}
	f->flags = flags;
	f->ino = id.ino;
	f->dev = id.dev;
	f->first = first;
	f->pages = pages;
	here->faulted = 1;
}

/* Pages of a file, some of which are in the page cache. */
struct pages {
	u64 mapping; /* struct address_space */
	u64 first;   /* of those that are looked at */
	u64 last;
	u64 found;   /* the first that is in the page cache, from 1; 0 for none */
	u64 count;   /* those that are */
};

#define XA_LEVELS 6
#define XA_SLOTS 64
#define STEP 16

/* Looks at pages up to the next multiple of STEP, which one node of the page cache has, and advances
 * past them. A function of its own, so that the verifier checks it only once. */
__attribute__((noinline)) int look_at_pages(struct pages *p)
{
	struct address_space *mapping;
	u64 entry, page, entries[STEP] = {};

	if (!p)
		return 0; /* never, but the verifier cannot know */
	mapping = (void *)p->mapping;
	entry = (u64)FIELD(mapping, i_pages.xa_head);
	for (int level = 0; level < XA_LEVELS; level++) {
		struct xa_node *node = (void *)(entry - 2);
		u32 shift, slot;

		if ((entry & 3) != 2 || entry < 4096)
			break; /* it is no node: a folio of many pages, or none */
		shift = FIELD(node, shift) & 63;
		slot = p->first >> shift & (XA_SLOTS - 1);
		if (!shift) {
			bpf_probe_read_kernel(entries, sizeof(entries), node->slots + (slot & ~(STEP - 1)));
			entry = 0;
			break;
		}
		entry = (u64)FIELD((struct llist_node *)(node->slots + slot), next);
		if ((entry & 3) == 2 && entry < 4096) /* one of a folio that begins before */
			entry = 4096;
	}
	page = p->first & ~(u64)(STEP - 1);
	for (u32 i = 0; i < STEP; i++, page++) {
		u64 e = entry ? entry : entries[i];

		if (!e || e & 1 || page < p->first || page > p->last) /* no folio, but perhaps a trace of one */
			continue;
		p->count++;
		if (!p->found)
			p->found = page + 1;
	}
	p->first = page;
	return 0;
}

/* Finds those of the pages around a fault that are in the page cache, which it has mapped. A replay
 * that touches the first of them reads no more than the application. */
#define MAX_STEPS 4
INLINE void find_cached(struct pages *p)
{
	for (int i = 0; i < MAX_STEPS; i++)
		if (p->first <= p->last)
			look_at_pages(p);
}

/* Reports whether faults of the thread are recorded now. What a call of mmap maps at once is
 * part of that call. */
INLINE int notes_faults(const struct thread *t) { return !(t->start && plans[t->nr % MAX_SYS].kind == KIND_MAP); }

/* Called when a page has to be found or read. */
INLINE void find_page(struct thread *t, struct task_struct *task, struct address_space *mapping, u64 page)
{
	struct inode *inode;
	struct mapped *file;
	struct fault *f = &t->fault;
	struct file_id id;

	if (in_fault(t, task) && t->mapping == (u64)mapping) { /* tried again, or after pages around it */
		if (f->flags & FAULT_PAGE) {
			try_again(t);
			return;
		}
		f->first = page;
		f->pages = 1; /* which of the others it has mapped, nothing tells */
		f->flags |= FAULT_PAGE;
		return;
	}
	inode = LOAD(mapping, host);
	if (!inode || !notes_faults(t))
		return;
	id = id_of(inode);
	file = bpf_map_lookup_elem(&files, &id);
	begin_fault(t, task, FAULT_PAGE | (file && !file->exec ? 0 : FAULT_PROGRAM), (u64)mapping, id, page, 1);
}

/* Called when pages in the page cache were mapped. */
INLINE void map_pages(struct thread *t, struct task_struct *task, struct address_space *mapping, u64 first, u64 last)
{
	struct pages p = {.mapping = (u64)mapping, .first = first, .last = last};
	struct inode *inode = LOAD(mapping, host);
	struct fault *f = &t->fault;

	if (in_fault(t, task) && t->mapping == (u64)mapping) {
		if (f->flags & FAULT_PAGE)
			try_again(t);
		f->flags |= FAULT_AROUND;
		return;
	}
	if (!notes_faults(t) || !mapped_file(inode))
		return;
	find_cached(&p);
	begin_fault(t, task, FAULT_AROUND, (u64)mapping, id_of(inode), p.found ? p.found - 1 : first, p.count);
}

/* Called when a page becomes dirty. Within a call it is a page that the call reads into, or
 * a page of the data that it writes. */
INLINE void dirty_page(struct thread *t, struct task_struct *task, struct address_space *mapping, struct folio *folio)
{
	u32 pages = folio_bytes(folio) / page_bytes;
	struct fault *f = &t->fault;
	struct inode *inode;
	struct plan plan;

	if (in_fault(t, task) && t->mapping == (u64)mapping) {
		f->flags |= FAULT_WRITE;
		if (f->pages < pages)
			f->pages = pages;
		return;
	}
	if (t->counting || t->flags & THREAD_COMPAT)
		return;
	if (t->start) {
		plan = plans[t->nr % MAX_SYS];
		if ((plan.kind != KIND_IO && plan.kind != KIND_WIDE) || !plan.reg)
			return;
	}
	inode = LOAD(mapping, host);
	if (mapped_file(inode))
		begin_fault(t, task, FAULT_WRITE, (u64)mapping, id_of(inode), LOAD(folio, index), pages);
}

/* Called when a fault ends in SIGBUS. */
INLINE void fail_fault(struct thread *t, struct task_struct *task, u64 address)
{
	struct fault *f = &t->fault;

	if (!in_fault(t, task))
		begin_fault(t, task, 0, 0, (struct file_id){}, 0, 0);
	f->flags = (f->flags & FAULT_RESTED) | FAULT_FAILED;
	f->first = address;
	f->pages = 0;
	send_fault(t, task);
}

/* Called when the thread leaves the processor; blocked: to wait for storage. A fault that has
 * ended is sent. The wait is part of a fault in progress. */
INLINE void leave_fault(struct thread *t, struct task_struct *task, int blocked)
{
	struct fault *f = &t->fault;

	if (f->flags && !in_fault(t, task))
		send_fault(t, task);
	if (!blocked || t->start)
		return;
	if (!f->flags && call_of((void *)bpf_task_pt_regs(task)) < 0)
		begin_fault(t, task, FAULT_UNNAMED, 0, (struct file_id){}, 0, 0);
	if (f->flags)
		t->waits = WAITS_FAULT;
}

/* A page of a mapped file has to be found, or read. */
SEC("tp_btf/mm_filemap_fault")
int map_fault(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mapped *file;
	struct thread *t;

	t = followed(task);
	if (!t)
		return 0;
	if (with_maps) {
		find_page(t, task, (void *)ctx[0], ctx[1]);
		return 0;
	}
	file = mapped_file(((struct address_space *)ctx[0])->host);
	t->in_data = !!file;
	/* Where the kernel tries a fault again it comes here twice. */
	if (file && t->page != ctx[1] + 1) {
		t->page = ctx[1] + 1;
		add(&file->faults, 1);
		add(&file->in, page_bytes);
	}
	return 0;
}

/* Pages of a mapped file that are in the page cache are mapped around a fault. */
SEC("tp_btf/mm_filemap_map_pages")
int map_around(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mapped *file;
	struct thread *t;

	t = followed(task);
	if (!t)
		return 0;
	if (with_maps) {
		map_pages(t, task, (void *)ctx[0], ctx[1], ctx[2]);
		return 0;
	}
	file = mapped_file(((struct address_space *)ctx[0])->host);
	if (file) {
		add(&file->faults, 1);
		add(&file->in, (ctx[2] - ctx[1] + 1) * page_bytes);
	}
	return 0;
}

/* A page is written to, for the first time since it was written back. */
SEC("tp_btf/writeback_dirty_folio")
int map_dirty(u64 *ctx)
{
	struct address_space *mapping = (void *)ctx[1];
	struct task_struct *task;
	struct mapped *file;
	struct thread *t;

	if (!writable || !mapping)
		return 0;
	task = bpf_get_current_task_btf();
	t = followed(task);
	if (!t)
		return 0;
	if (with_maps) {
		dirty_page(t, task, mapping, (void *)ctx[0]);
		return 0;
	}
	if (t->start || t->counting)
		return 0; /* the call writes */
	file = mapped_file(mapping->host);
	if (file)
		add(&file->dirty, folio_bytes((void *)ctx[0]));
	return 0;
}

/* A fault ends in a signal: the page is beyond the end of the file. */
SEC("tp_btf/signal_generate")
int fault_fails(u64 *ctx)
{
	struct kernel_siginfo *info = (void *)ctx[1];
	struct task_struct *task;
	struct thread *t;

	if ((s32)ctx[0] != SIGBUS || (u64)info <= 2) /* SEND_SIG_PRIV and its like are no pointers */
		return 0;
	task = bpf_get_current_task_btf();
	if ((u64)task != ctx[2])
		return 0;
	t = followed(task);
	if (t && FIELD(info, si_code) == BUS_ADRERR)
		fail_fault(t, task, (u64)FIELD(info, _sifields._sigfault._addr));
	return 0;
}

/* Notes what followed threads have mapped already. */
SEC("iter/task_vma")
int map_existing(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[1];
	struct vm_area_struct *vma = (void *)ctx[2];
	struct request r = {};
	struct thread *t;

	if (!task || !vma)
		return 0;
	t = followed(task);
	if (!t || t->flags & THREAD_ALONE)
		return 0;
	r.file = (u64)vma->vm_file;
	if (!r.file)
		return 0;
	r.prot = vma->vm_flags;
	r.flags = vma->vm_flags & VM_SHARED ? MAP_SHARED : MAP_PRIVATE;
	r.length = vma->vm_end - vma->vm_start;
	r.mm = (u64)vma->vm_mm;
	note_file(&r);
	if (r.data && with_maps)
		extend_bounds(task, vma->vm_start, r.length, 1);
	return 0;
}
