/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What is sent, and the ring that it is sent through.
 */
#pragma once

#include "message.h"
#include "off.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20); /* bytes; set at load */
} ring SEC(".maps");

/* Records that found no room in the ring, by system call. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_SYS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/* Files that were mapped as programs while the recorder waits for libraries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct file_id);
	__type(value, u8);
} libraries SEC(".maps");

/* Counts a record that was not sent. A function of its own, so that the verifier checks
 * it only once. Programs at functions of libraries can be preempted. */
__attribute__((noinline)) int lose(u32 nr)
{
	u64 *n = bpf_map_lookup_elem(&lost, &nr);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

/* Every record goes through reserve or output, which count it as lost where the ring has no room.
 * nr is the number in the record. The caller adds to the account what the record tells of I/O. */
INLINE void *reserve(u32 nr, u64 size)
{
	void *record = bpf_ringbuf_reserve(&ring, size, 0);

	if (unlikely(!record))
		lose(nr);
	return record;
}

/* Reports whether the record was sent. */
INLINE int output(u32 nr, void *record, u64 size, u64 wake)
{
	if (likely(!bpf_ringbuf_output(&ring, record, size, wake)))
		return 1;
	lose(nr);
	return 0;
}

/* Wakes the recorder, which else looks at the ring as seldom as it has room. */
INLINE void wake_recorder(void)
{
	void *nothing = bpf_ringbuf_reserve(&ring, sizeof(u64), 0);

	if (nothing)
		bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/* A record that is sent by other means could be lost without being counted. */
#pragma GCC poison bpf_ringbuf_reserve bpf_ringbuf_output

/* A file is mapped as a program. The recorder is to attach to a library before its first call.
 * For a file that finds no room in libraries it is woken each time. */
INLINE void note_library(struct file *file)
{
	struct inode *inode = host_of(file);
	struct file_id id;
	u8 here = 1;

	if (!inode)
		return;
	id = id_of(inode);
	if (bpf_map_lookup_elem(&libraries, &id))
		return;
	bpf_map_update_elem(&libraries, &id, &here, 0);
	wake_recorder();
}

/* Rich records are put together here: one slot per program that makes some,
 * for one program never runs twice at once on a processor, but two may. */
enum { SLOT_EXIT, SLOT_EXEC, NUM_SLOTS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUM_SLOTS);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

INLINE u64 space_of(const struct task_struct *task) { return (u64)task->mm; }

/* Adds to the account what a lost record tells of I/O, of a call of the current thread whose first
 * argument is fd. A function of its own, so that the verifier checks at it once. */
__attribute__((noinline)) int miss_call(u32 nr, u64 fd, u64 nanos, s64 ret)
{
	miss(bpf_get_current_task_btf(), plans[nr % MAX_SYS].kind, fd, nanos, ret);
	return 0;
}

/* Fills in what all records have. Returns the calls that were not recorded. */
INLINE u32 fill(struct event *e, struct thread *t, u64 start, u64 end, s64 ret)
{
	u32 calls;

	e->start = start;
	e->dur = end - start;
	e->ret = ret;
	e->tid = t->tid;
	e->nr = t->nr;
	e->flags = 0;
	calls = t->calls;
	t->calls = 0;
	return calls;
}

/* The same for records that have room for all that is known. */
INLINE void fill_wide(struct event *e, struct thread *t, u64 start, u64 end, s64 ret)
{
	e->calls = fill(e, t, start, end, ret);
	e->flags = FLAG_WIDE;
	__builtin_memcpy(e->off, t->off, sizeof(e->off));
	e->waker = t->waker;
	e->woken = t->waker ? end - t->woken : 0;
	e->behind = t->behind < 0xffffffff ? t->behind : 0xffffffff;
	t->behind = 0;
	take_message(e, t);
	if (t->rested | (t->blocked != 0)) {
		e->off[OFF_WAIT] += t->blocked;
		__builtin_memset(t->off, 0, sizeof(t->off));
		t->rested = 0;
		t->blocked = 0;
		t->waker = 0;
		t->channel = 0;
	}
}

/* Begins the record of a call, whose first argument is fd, with so many bytes; NULL if the
 * ring has no room. */
INLINE void *begin_wide(struct thread *t, u64 fd, u64 start, u64 end, s64 ret, u64 size)
{
	struct event *e = reserve(t->nr, size);

	if (likely(e))
		fill_wide(e, t, start, end, ret);
	else
		miss_call(t->nr, fd, end - start, ret);
	return e;
}

/* Sends the end of the current thread. */
INLINE void send_exit(struct thread *t, struct task_struct *task, u64 now, u64 status, u32 flags, u64 signal)
{
	struct event *e = begin_wide(t, 0, now, now, 0, sizeof(*e));

	if (!e)
		return;
	__builtin_memset(e->args, 0, sizeof(e->args));
	e->args[0] = status;
	e->args[1] = signal;
	e->flags |= flags;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE u64 faults_of(const struct task_struct *task)
{
	return with_faults ? task->min_flt + task->maj_flt : 0;
}

/* Sends a record with strings; at is where its strings end. */
INLINE void send_rich(struct scratch *s, struct task_struct *task, u32 at)
{
	s->event.flags |= FLAG_RICH;
	if (at > sizeof(s->data))
		return; /* never, but the verifier cannot know */
	if (!output(s->event.nr, s, __builtin_offsetof(struct scratch, data) + at, BPF_RB_NO_WAKEUP))
		miss_call(s->event.nr, s->event.args[0], s->event.dur, s->event.ret);
}

/* Adds what is noted of reads and writes. */
INLINE void note_io(struct event *e, const struct thread *t, struct task_struct *task)
{
	u64 faults = faults_of(task) - t->faults;

	if (faults)
		e->dur |= (faults > 0xffff ? 0xffff : faults) << DUR_BITS;
	if (with_type)
		e->flags |= read_type(task, e->args[0]) << TYPE_SHIFT;
}

INLINE void send_plain(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret,
		       u8 kind)
{
	struct event *e = reserve(t->nr, PLAIN_BYTES);
	u32 calls;

	if (unlikely(!e)) {
		miss_call(t->nr, arg_of(regs, 0), end - start, ret);
		return;
	}
	calls = fill(e, t, start, end, ret);
	e->nr |= calls << NR_BITS;
	read_args(e->args, regs, PLAIN_ARGS);
	if (likely(kind == KIND_IO))
		note_io(e, t, task);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE void send_wide(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret,
		      u8 kind)
{
	struct event *e;

	if (kind == KIND_FORK && ret > 0 && t->child)
		ret = t->child;
	e = begin_wide(t, arg_of(regs, 0), start, end, ret, sizeof(*e));
	if (unlikely(!e))
		return;
	read_args(e->args, regs, 6);
	if (kind == KIND_MAP || kind == KIND_SPACE)
		e->channel = space_of(task);
	if (kind == KIND_IO)
		note_io(e, t, task);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}
