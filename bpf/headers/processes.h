/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Processes and threads: they begin, run other programs and end, and which of them are followed.
 */
#pragma once

#include "cgroup.h"
#include "faults.h"

/* An execve that succeeds is sent from here, where the kernel still holds the
 * name; the application's memory, and the name in it, is already gone. */
SEC("tp_btf/sched_process_exec")
int process_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	u32 slot = SLOT_EXEC, before;
	u64 space = space_of(task);
	struct scratch *s;
	struct thread *t;
	u64 start;
	long n;

	if (unlikely(holding) && task->real_parent->pid == holding)
		bpf_send_signal(SIGSTOP);
	t = followed(task);
	if (!t)
		return 0;
	start = t->start;
	if (start)
		hold(t, task);
	if (t->fault.flags)
		send_fault(t, task);
	bpf_task_storage_delete(&spaces, task); /* of the program before */

	/* A thread that is not its process's first takes over the id of that. */
	before = t->tid;
	t->tid = 0;
	identify(t, task);
	if (!start)
		return 0;

	s = bpf_map_lookup_elem(&scratches, &slot);
	if (!s)
		return 0;
	fill_wide(&s->event, t, start, bpf_ktime_get_ns(), 0);
	__builtin_memset(&s->details, 0, sizeof(s->details));
	__builtin_memcpy(s->event.args, t->args, sizeof(s->event.args));
	s->event.channel = space;
	if (before != t->tid) {
		s->event.flags |= FLAG_RENUMBERED;
		s->event.args[5] = before;
	}
	n = bpf_probe_read_kernel_str(s->data, PATH_MAX + 1, bprm->filename);
	n = n > 0 ? (n - 1) & 0x1fff : 0;
	s->details.len[0] = n;
	s->details.state[0] = n ? STRING_WHOLE : STRING_UNREADABLE;
	send_rich(s, task, n);
	if (with_libraries)
		wake_recorder();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct thread *t = followed(parent);
	struct name name;

	if (by_cgroup && !t && in_cgroup(child)) { /* CLONE_INTO_CGROUP */
		follow(child);
		tell_joined(child);
	}
	if (!t || t->flags & THREAD_ALONE || (by_cgroup && !in_cgroup(child)))
		return 0;
	follow(child);
	if (with_maps && child == child->group_leader)
		copy_space(child, parent);
	name = name_of(child);
	t->child = name.tid;
	if (unlikely(name.innermost != pidns))
		remember_inner(child, t->child);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread *t = followed(task);
	u32 code, flags;

	if (!t || t->flags & THREAD_ALONE)
		return 0;
	if (t->fault.flags)
		send_fault(t, task);
	if (!(t->flags & THREAD_EXITED)) {
		code = task->exit_code;
		t->nr = NR_EXIT;
		identify(t, task);
		flags = code & 0x7f ? FLAG_SIGNAL : is_compat(task) ? 0 : FLAG_KILLED;
		send_exit(t, task, bpf_ktime_get_ns(), code >> 8 & 0xff, flags, code & 0x7f);
		t->flags |= THREAD_EXITED;
	}
	if (!(task->exit_code & DUMPED_CORE)) /* which the thread itself wrote */
		settle(t, task);
	/* Last, so that a reader that sees no thread left finds all their events. */
	count_dead(t);
	return 0;
}

/* Settles the accounts of threads that have not ended. The recording goes on. */
SEC("iter/task")
int settle_living(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[1];
	struct thread *t;

	if (!task)
		return 0;
	t = followed(task);
	if (t && !(t->flags & THREAD_ALONE) && !(task->flags & PF_EXITING))
		settle(t, task);
	return 0;
}

/* Reports whether the process of a thread that is not followed is, or that of its parent. */
INLINE int is_related(struct task_struct *task)
{
	struct thread *first = followed(task->group_leader), *parent = followed(task->real_parent);

	return (first && !(first->flags & THREAD_ALONE)) || (parent && !(parent->flags & THREAD_ALONE));
}

/* Follows the threads of processes whose first thread is followed, and the
 * children of threads that are, and tells of all that it finds followed. Run
 * it until added no longer grows: then no thread is missing, because the
 * fork hook sees those that start later. Of a cgroup it follows the threads that are
 * there, and lets those go that have left. */
SEC("iter/task")
int follow_tree(u64 *ctx)
{
	struct bpf_iter_meta *meta = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[1];
	struct member m = {};
	struct thread *t;
	struct name name;

	if (!task)
		return 0;
	t = followed(task);
	if (by_cgroup && t && !(t->flags & (THREAD_ALONE | THREAD_EXITED)) && !in_cgroup(task)) {
		unfollow(task, t);
		return 0;
	}
	if (!t) {
		if (!(by_cgroup ? in_cgroup(task) : is_related(task)))
			return 0;
		if (task->flags & (PF_EXITING | PF_IO_WORKER))
			return 0;
		t = follow(task);
		if (!t)
			return 0;
		__sync_fetch_and_add(&added, 1);
	}
	if (t->flags & THREAD_ALONE)
		return 0;
	if (task->flags & PF_EXITING) {
		count_dead(t); /* its end may have passed unseen */
		return 0;
	}
	find_asleep(t, task);
	name = name_of(task);
	if (unlikely(name.innermost != pidns))
		remember_inner(task, name.tid);
	m.tid = name.tid;
	m.tgid = name_of(task->group_leader).tid;
	m.parent = name_of(task->real_parent->group_leader).tid;
	m.space = with_maps ? (u64)task->mm : 0;
	bpf_seq_write(meta->seq, &m, sizeof(m));
	return 0;
}

/* Follows the thread that runs this program, but not its children: the
 * recorder measures on itself what it costs. */
SEC("syscall")
int follow_self(void *ctx)
{
	struct thread *t =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return 1;
	t->flags = THREAD_ALONE;
	recorder = bpf_get_current_task_btf()->tgid;
	return 0;
}

SEC("syscall")
int hold_children(void *ctx)
{
	holding = bpf_get_current_task_btf()->pid;
	return 0;
}

SEC("syscall")
int unfollow_self(void *ctx)
{
	return bpf_task_storage_delete(&threads, bpf_get_current_task_btf()) ? 1 : 0;
}
