/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What followed threads do while they are off the processor, outside of recorded
 * calls: within one it is the duration of the call.
 *
 *   leaves ──blocked──→ is woken ──ready──→ runs again
 *
 * A thread that is preempted, or gives way, is ready at once. What it was blocked
 * for shows when it leaves, by in_iowait, or by the result of the call that it was
 * blocked in.
 */
#pragma once

#include "missing.h"

#define MAX_CPUS 1024
#define ETIMEDOUT 110
#define ETIME 62
#define EAGAIN 11

/* Nanoseconds that followed threads have run, for each processor. */
u64 clocks[MAX_CPUS];

INLINE u64 *clock_of(u32 cpu) { return &clocks[cpu & (MAX_CPUS - 1)]; }

/* A thread is ready to run, on a processor that it may have to wait for. */
INLINE void become_ready(struct thread *t, u32 cpu, u64 now)
{
	t->ready = now;
	t->cpu = cpu;
	t->mark = *clock_of(cpu);
}

/* A followed thread leaves the processor. */
INLINE void leave_processor(struct thread *t, struct task_struct *task, int preempted)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 now = bpf_ktime_get_ns();

	int blocked = !preempted && task->__state != 0;
	struct pt_regs *regs;

	if (t->ran)
		*clock_of(cpu) += now - t->ran;
	t->ready = 0;
	if (!blocked)
		become_ready(t, cpu, now);
	if (t->start)
		return;
	if (blocked) {
		regs = (void *)bpf_task_pt_regs(task);
		t->blocked_in = call_of(regs) < 0 ? NO_CALL : call_of(regs);
		t->object = first_of(regs);
		t->waker = t->early;
		t->early = 0;
	}
	__asm__ volatile("" ::: "memory"); /* from here on wake knows that it has left */
	t->left = now;
	t->waits = blocked && BITS(task, in_iowait) ? 1 + waits_for(t, task) : 0;
}

/* Returns the followed thread that wakes another one now, 0 for none. An
 * interrupt can come to any thread, but one that is in no call has woken nobody. */
INLINE u32 waker_of(struct task_struct *woken)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t;

	if (!task->bpf_storage || task == woken || BITS(woken, in_iowait))
		return 0;
	t = followed(task);
	if (!t || call_of((void *)bpf_task_pt_regs(task)) < 0)
		return 0;
	identify(t, task);
	return t->tid;
}

/* It is woken up. That can come just before it leaves, when it has made known that
 * it is going to; each block ends by a waking, so one that came early counts where
 * no other comes. */
INLINE void wake(struct thread *t, struct task_struct *task)
{
	if (!(t->left | t->start)) {
		t->early = waker_of(task);
		return;
	}
	if (t->ready && !t->start)
		return;
	become_ready(t, task->thread_info.cpu, bpf_ktime_get_ns());
	t->woken = t->ready;
	t->slept = t->left;
	t->waker = waker_of(task);
	if (t->waker)
		t->rested = 1;
}

/* It comes to the processor. */
INLINE void enter_processor(struct thread *t)
{
	u64 now = bpf_ktime_get_ns(), ready, own, blocked;

	t->ran = now;
	if (!t->left)
		return;
	if (!t->ready) { /* it was woken before it had left */
		if (t->early)
			t->waker = t->early;
		t->early = 0;
		t->ready = t->left + 1;
		t->woken = t->ready;
		t->slept = t->left;
		if (t->waker)
			t->rested = 1;
	}
	blocked = t->ready - t->left;
	ready = now - t->ready;
	own = *clock_of(t->cpu) - t->mark;
	if (own > ready)
		own = ready;
	t->lately[OFF_READY] = ready - own;
	t->lately[OFF_OWN] = own;
	t->off[OFF_READY] += ready - own;
	t->off[OFF_OWN] += own;
	if (t->waits) {
		t->off[OFF_STORAGE] += blocked;
		if (t->waits - 2 < NUM_MISSING)
			add(&missing[t->waits - 2].nanos, blocked);
	} else {
		t->blocked += blocked;
	}
	t->rested = 1;
	t->left = 0;
}

