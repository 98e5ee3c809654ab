/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The threads that are followed, and what they are called. Ids are those of the
 * recorder's PID namespace wherever a thread itself may be, so that a clone's
 * result is the id of the thread that it made.
 */
#pragma once

#include "config.h"
#include "kernel.h"

/* Read while it runs. */
s64 live;  /* followed threads that have not ended */
u64 added; /* threads that follow_tree has found */
u64 untracked[NUM_UNTRACKED];

INLINE void leave_untracked(enum untracked_kind what) { __sync_fetch_and_add(&untracked[what], 1); }

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Processes as a thread in a PID namespace within the recorder's sees them,
 * and what the recorder calls them. For the results of wait4 and waitid. Nothing says when
 * a name is needed no more, so the oldest make room; one that is needed then counts as lost. */
struct inner {
	u32 ns; /* inode */
	u32 pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct inner);
	__type(value, u32);
} inners SEC(".maps");

/* What is kept of a thread, NULL if it is not followed. */
INLINE struct thread *kept(struct task_struct *task) { return bpf_task_storage_get(&threads, task, NULL, 0); }

/* The same for threads of which most are not followed: those have no storage at all, and
 * leave before the call of a helper. */
INLINE struct thread *followed(struct task_struct *task) { return task->bpf_storage ? kept(task) : NULL; }

/* Reads the number and the namespace that a thread has at a depth of nested PID
 * namespaces; reports whether it has one. */
INLINE int read_upid(struct pid *pid, u32 depth, s32 *nr, u32 *ns)
{
	struct upid *u;

	if (!pid || depth > FIELD(pid, level))
		return 0;
	u = (void *)__builtin_preserve_access_index(&pid->numbers[0]) + depth * sizeof(struct upid);
	*nr = FIELD(u, nr);
	struct pid_namespace *n = FIELD(u, ns);
	*ns = FIELD(n, ns.inum);
	return 1;
}

/* What a thread is called. */
struct name {
	u64 pid;       /* struct pid */
	u32 tid;       /* in the recorder's PID namespace, 0 where that cannot see it */
	u32 innermost; /* the thread's own PID namespace, by inode */
};

/* Fills in a name from a depth of nested PID namespaces. */
static long find_name(u64 depth, void *context)
{
	struct name *n = context;
	s32 nr;
	u32 ns;

	if (!read_upid((void *)n->pid, depth, &nr, &ns))
		return 1;
	if (ns == pidns)
		n->tid = nr;
	n->innermost = ns;
	return 0;
}

INLINE struct name name_of(struct task_struct *task)
{
	struct name n = {.pid = (u64)FIELD(task, thread_pid)};

	bpf_loop(MAX_PID_NS_LEVEL, find_name, &n, 0);
	return n;
}

/* Finds the id of a thread, once. */
INLINE void identify(struct thread *t, struct task_struct *task)
{
	struct name n;

	if (likely(t->tid))
		return;
	n = name_of(task);
	t->tid = n.tid ? n.tid : task->pid;
	t->inner = n.innermost == pidns ? 0 : n.innermost;
}

static long remember_name(u64 depth, void *context)
{
	struct name *n = context;
	struct inner key = {};

	if (!read_upid((void *)n->pid, depth, (s32 *)&key.pid, &key.ns))
		return 1;
	if (depth && key.ns != pidns)
		bpf_map_update_elem(&inners, &key, &n->tid, 0);
	return 0;
}

/* Keeps the names that a new process has in namespaces within the recorder's. */
INLINE void remember_inner(struct task_struct *task, u32 tid)
{
	struct name n = {.pid = (u64)task->thread_pid, .tid = tid};

	bpf_loop(MAX_PID_NS_LEVEL, remember_name, &n, 0);
}

/* Turns the number of a process in the thread's namespace into the recorder's. */
INLINE u64 outer(const struct thread *t, u64 pid)
{
	struct inner key = {.ns = t->inner, .pid = pid};
	u32 *found;

	if (likely(!t->inner) || (s32)pid <= 0)
		return pid;
	found = bpf_map_lookup_elem(&inners, &key);
	if (found)
		return *found;
	leave_untracked(UNTRACKED_NAME);
	return pid;
}

/* Begins to follow a task. Both the fork hook and follow_tree may find the
 * same one, and it may end meanwhile; it counts as live once, and not after. */
INLINE struct thread *follow(struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		leave_untracked(UNTRACKED_THREAD);
	else if (__sync_val_compare_and_swap(&t->counted, COUNTED_NOT, COUNTED_LIVE) == COUNTED_NOT)
		__sync_fetch_and_add(&live, 1);
	return t;
}

INLINE void count_dead(struct thread *t)
{
	if (__sync_val_compare_and_swap(&t->counted, COUNTED_LIVE, COUNTED_DEAD) == COUNTED_LIVE)
		__sync_fetch_and_add(&live, -1);
}
