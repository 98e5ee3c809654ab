/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Calls of libraries: spans. One pair of programs serves the functions of all layers;
 * the cookie of a probe is the number of its function.
 *
 *   entry ──frame──→ the thread's stack of frames ──→ return: one record
 *
 * A frame belongs to the call whose stack pointer it has. Calls that never return,
 * because longjmp or an exception has left them, lie deeper than the next one that
 * begins or returns, and are dropped then.
 *
 * These programs can be preempted, so what they work with belongs to the thread.
 */
#pragma once

#include "send.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* functions; set at load */
	__type(key, u32);
	__type(value, struct span_plan);
} span_plans SEC(".maps");

/* A call under way. */
struct frame {
	u64 sp;      /* stack pointer at its first instruction */
	u64 start;   /* nanoseconds */
	u32 function;
	u32 read;    /* bits of the pieces that were read at the beginning */
	u64 slots[MAX_SLOTS];
	u64 before[MAX_PIECES]; /* what was read then; an array is in struct span_array */
};

struct frames {
	u64 space; /* address space that they are in: a program that exec begins has none of them */
	u32 depth;
	u32 told; /* the recorder was woken for the first call in this space */
	struct frame frame[MAX_FRAMES];
};

/* An array as it was at the beginning of a call. A thread has one: an inner call that needs
 * it takes it away from the outer call. */
struct span_array {
	u32 owner; /* depth of its frame */
	u32 bytes;
	u64 state; /* enum string_state */
	u8 data[SPAN_ROOM];
};

/* A record of a span while it is put together. */
struct span_scratch {
	struct span span;
	u8 data[SPAN_PIECES + SPAN_ROOM + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct frames);
} frames SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct span_scratch);
} span_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct span_array);
} span_arrays SEC(".maps");

INLINE void read_slots(struct frame *f, const struct pt_regs *regs, const struct span_plan *plan)
{
	u64 bytes = (u64)plan->stack * sizeof(u64);

	read_parameters(f->slots, regs);
	BOUND(bytes, (MAX_SLOTS - NUM_PARAMETERS) * sizeof(u64));
	if (bytes && bpf_probe_read_user(f->slots + NUM_PARAMETERS, bytes, (void *)stack_parameters(regs)))
		__builtin_memset(f->slots + NUM_PARAMETERS, 0, (MAX_SLOTS - NUM_PARAMETERS) * sizeof(u64));
}

/* Reports whether a function has been entered by a jump from the one that the frame, of
 * the same stack pointer, belongs to: then it returns to where the kernel intercepts
 * the return of that one. */
INLINE int is_tail(struct task_struct *task, const struct pt_regs *regs)
{
	struct xol_area *area = FIELD(task->mm, uprobes_state.xol_area);
	u64 back = return_address(regs);

	return area && back >= FIELD(area, vaddr) && back - FIELD(area, vaddr) < page_bytes;
}

/* Returns how many bytes an array has, at most MAX_NUMBERS of its numbers, and whether that
 * is all, as an enum string_state. */
INLINE u64 array_bytes(const struct piece *p, const struct frame *f, s64 ret, u64 *state)
{
	s64 count = 1;
	s32 n;

	*state = STRING_WHOLE;
	if (p->count == COUNT_RESULT) {
		count = ret;
	} else if (p->count != COUNT_ONE) {
		n = f->slots[p->count % MAX_SLOTS]; /* an int; no array has more numbers */
		if (p->count & COUNT_POINTED && bpf_probe_read_user(&n, sizeof(n), (void *)f->slots[p->count % MAX_SLOTS])) {
			*state = STRING_UNREADABLE;
			return 0;
		}
		count = n;
	}
	if (count < 0)
		count = 0;
	if (count > MAX_NUMBERS)
		count = MAX_NUMBERS + 1;
	count *= p->times;
	if (count > MAX_NUMBERS) {
		count = MAX_NUMBERS;
		*state = STRING_CUT;
	}
	return count * p->size;
}

/* Reads an array to data, which has SPAN_ROOM bytes, and returns how many bytes it has read.
 * If the last page of the array can't be read, these are the bytes before that. */
INLINE u64 read_array(u8 *data, u64 ptr, u64 bytes, u64 *state)
{
	u64 end = (ptr + bytes) & ~(page_bytes - 1ull);

	BOUND(bytes, SPAN_ROOM);
	if (!bytes || !bpf_probe_read_user(data, bytes, (void *)ptr))
		return bytes;
	*state = STRING_UNREADABLE;
	if (end <= ptr)
		return 0;
	bytes = end - ptr;
	BOUND(bytes, SPAN_ROOM);
	if (bpf_probe_read_user(data, bytes, (void *)ptr))
		return 0;
	*state = STRING_CUT;
	return bytes;
}

/* Keeps the array of a call that begins, and reports whether it could be read. */
INLINE int keep_array(struct task_struct *task, const struct piece *p, const struct frame *f, u32 depth)
{
	struct span_array *a = bpf_task_storage_get(&span_arrays, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 bytes, state;

	if (!a) {
		leave_untracked(UNTRACKED_SPAN);
		return 0;
	}
	a->owner = depth;
	bytes = array_bytes(p, f, 0, &state);
	if (state == STRING_UNREADABLE)
		return 0;
	a->bytes = read_array(a->data, f->slots[p->slot % MAX_SLOTS], bytes, &state);
	a->state = state;
	return state != STRING_UNREADABLE;
}

/* Reports whether the call is recorded. */
INLINE int begin_span(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct span_plan *plan;
	struct frames *all;
	struct thread *t;
	struct frame *f;
	u32 function, depth, i;
	u64 sp;

	t = followed(task);
	if (!t)
		return 0;
	function = bpf_get_attach_cookie(regs);
	plan = bpf_map_lookup_elem(&span_plans, &function);
	if (!plan)
		return 0;
	all = bpf_task_storage_get(&frames, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!all) {
		leave_untracked(UNTRACKED_SPAN);
		return 0;
	}
	sp = entry_sp(regs);
	if (all->space != space_of(task)) {
		all->space = space_of(task);
		all->depth = all->told = 0;
	}
	depth = all->depth;
	/* Frames that the stack has left. */
	for (u32 i = 0; i < MAX_FRAMES; i++) {
		if (!depth || depth > MAX_FRAMES)
			break;
		f = &all->frame[depth - 1];
		if (f->sp > sp || (f->sp == sp && is_tail(task, regs)))
			break;
		depth--;
	}
	if (depth >= MAX_FRAMES) {
		all->depth = MAX_FRAMES;
		leave_untracked(UNTRACKED_SPAN);
		return 0;
	}
	f = &all->frame[depth];
	all->depth = depth + 1;
	f->sp = sp;
	f->function = function;
	f->read = 0;
	read_slots(f, regs, plan);
	for (i = 0; i < MAX_PIECES; i++) {
		const struct piece *p = &plan->piece[i];

		if (p->kind != PIECE_BEFORE)
			continue;
		f->before[i] = 0;
		if (p->size == 4 ? !bpf_probe_read_user(&f->before[i], 4, (void *)f->slots[p->slot % MAX_SLOTS])
				 : !bpf_probe_read_user(&f->before[i], 8, (void *)f->slots[p->slot % MAX_SLOTS]))
			f->read |= 1 << i;
	}
	i = plan->array - 1u;
	if (i < MAX_PIECES && keep_array(task, &plan->piece[i], f, depth))
		f->read |= 1 << i;
	f->start = bpf_ktime_get_ns();
	return 1;
}

/* Reads what a piece says to data[at] and returns where it ends. depth is that of the frame. */
INLINE u32 read_piece(struct span_scratch *s, u32 at, u32 i, const struct piece *p, const struct frame *f, u32 depth, s64 ret)
{
	u64 ptr = f->slots[p->slot % MAX_SLOTS], bytes = p->size, state = STRING_WHOLE;
	const struct span_array *a;
	long n;

	s->span.state[i] = STRING_UNREADABLE;
	s->span.len[i] = 0;
	if (at > SPAN_PIECES)
		return at;
	if (p->kind == PIECE_BEFORE) {
		if (f->read & 1 << i) {
			__builtin_memcpy(s->data + at, &f->before[i % MAX_PIECES], sizeof(u64));
			s->span.state[i] = STRING_WHOLE;
			s->span.len[i] = p->size;
			at += 8;
		}
		return at;
	}
	if (!ptr) {
		s->span.state[i] = STRING_NULL;
		return at;
	}
	if (p->kind == PIECE_STRING) {
		n = bpf_probe_read_user_str(s->data + at, SPAN_ROOM, (void *)ptr);
		if (n <= 0)
			return at;
		s->span.state[i] = n == SPAN_ROOM ? STRING_CUT : STRING_WHOLE;
		n = (n - 1) & (SPAN_ROOM - 1);
		s->span.len[i] = n;
		return at + ((n + 7) & ~7);
	}
	if (p->kind == PIECE_ARRAY_BEFORE) {
		a = bpf_task_storage_get(&span_arrays, bpf_get_current_task_btf(), NULL, 0);
		if (!a || a->owner != depth || !(f->read & 1 << i))
			return at;
		bytes = a->bytes;
		state = a->state;
		BOUND(bytes, SPAN_ROOM);
		if (bytes && bpf_probe_read_kernel(s->data + at, bytes, a->data))
			return at;
	} else {
		if (p->kind == PIECE_ARRAY)
			bytes = array_bytes(p, f, ret, &state);
		if (state == STRING_UNREADABLE)
			return at;
		bytes = read_array(s->data + at, ptr, bytes, &state);
		if (p->kind == PIECE_AFTER && bytes != p->size)
			return at;
	}
	s->span.state[i] = state;
	s->span.len[i] = bytes;
	return at + ((bytes + 7) & ~7);
}

INLINE void fill_span(struct span *e, const struct frame *f, const struct thread *t, u64 end, s64 ret)
{
	e->start = f->start;
	e->took = end - f->start;
	e->ret = ret;
	e->tid = t->tid;
	e->nr = NR_SPAN;
	e->flags = 0;
	e->function = f->function;
	e->pad = 0;
	__builtin_memset(e->len, 0, sizeof(e->len) + sizeof(e->state));
	__builtin_memcpy(e->slots, f->slots, sizeof(e->slots));
}

INLINE void end_span(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 end = bpf_ktime_get_ns(), wake = BPF_RB_NO_WAKEUP, sp;
	const struct span_plan *plan;
	struct frame *f = NULL;
	struct span_scratch *s;
	struct frames *all;
	struct thread *t;
	struct span *e;
	u32 function, depth, at = 0;
	s64 ret;

	t = followed(task);
	if (!t)
		return;
	all = bpf_task_storage_get(&frames, task, NULL, 0);
	if (!all)
		return;
	function = bpf_get_attach_cookie(regs);
	sp = return_sp(regs);
	depth = all->depth;
	for (u32 i = 0; i < MAX_FRAMES; i++) {
		if (!depth || depth > MAX_FRAMES)
			return;
		f = &all->frame[depth - 1];
		if (f->sp > sp)
			return; /* its beginning was not seen */
		depth--;
		if (f->sp == sp && f->function == function)
			break;
		f = NULL; /* it was left without a return */
	}
	all->depth = depth;
	if (!f)
		return;
	plan = bpf_map_lookup_elem(&span_plans, &function);
	if (!plan)
		return;
	identify(t, task);
	ret = result_of(regs);
	if (with_globals && !all->depth && !all->told) {
		all->told = 1;
		wake = BPF_RB_FORCE_WAKEUP;
	}
	if (!plan->pieces) {
		e = reserve(NR_SPAN, sizeof(*e));
		if (!e)
			return;
		fill_span(e, f, t, end, ret);
		bpf_ringbuf_submit(e, wake);
		return;
	}
	s = bpf_task_storage_get(&span_scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		leave_untracked(UNTRACKED_SPAN);
		return;
	}
	fill_span(&s->span, f, t, end, ret);
	for (u32 i = 0; i < MAX_PIECES; i++)
		if (i < plan->pieces)
			at = read_piece(s, at, i, &plan->piece[i], f, depth, ret);
	if (at > sizeof(s->data))
		return; /* never, but the verifier cannot know */
	output(NR_SPAN, s, sizeof(s->span) + at, wake);
}

/* A function of a library is called, and returns. Where the kernel can, one program is at
 * both ends, and the return of calls that are not recorded costs nothing: */
SEC("uprobe.session")
int span_both(struct pt_regs *regs)
{
	if (!bpf_session_is_return())
		return !begin_span(regs);
	end_span(regs);
	return 0;
}

SEC("uprobe.multi")
int span_begins(struct pt_regs *regs)
{
	begin_span(regs);
	return 0;
}

SEC("uprobe.multi")
int span_ends(struct pt_regs *regs)
{
	end_span(regs);
	return 0;
}
