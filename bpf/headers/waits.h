/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Waits: a thread leaves the processor, is woken by another one, and comes back.
 */
#pragma once

#include "faults.h"

/* Sends a wait with its result. It lasts until the waking; what the thread was ready
 * for after it belongs to its next record. */
INLINE void send_wait(struct thread *t, struct task_struct *task, s64 ret)
{
	u64 lately[2] = {t->lately[OFF_READY], t->lately[OFF_OWN]}, dur = t->woken - t->slept;
	struct event *e = reserve(NR_WAIT, sizeof(*e));

	if (unlikely(!e)) {
		miss_call(NR_WAIT, 0, 0, 0);
		return;
	}
	identify(t, task);
	t->off[OFF_READY] -= lately[OFF_READY];
	t->off[OFF_OWN] -= lately[OFF_OWN];
	t->blocked -= dur < t->blocked ? dur : t->blocked;
	t->channel = 0; /* of a call that found no room in the ring */
	fill_wide(e, t, t->slept, t->woken, ret);
	e->nr = NR_WAIT;
	__builtin_memset(e->args, 0, sizeof(e->args));
	if (t->blocked_in < MAX_SYS) {
		e->args[0] = waits[t->blocked_in].kind;
		e->args[1] = t->object;
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	t->off[OFF_READY] = lately[OFF_READY];
	t->off[OFF_OWN] = lately[OFF_OWN];
	t->rested = 1;
}

/* Reports whether a signal, or work of the kernel for the thread, ended a call before it was
 * done. The kernel restarts it then, or the thread calls again (linux/errno.h). */
INLINE int is_interrupted(s64 ret) { return ret == -EINTR || (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK); }

/* The thread was blocked outside of recorded calls, and the call nr returns: the one
 * that it was blocked in, unless it was blocked in a page fault or on the way out of
 * the call before. A waking within a recorded call after that says nothing of it. */
INLINE void explain_wait(struct thread *t, struct task_struct *task, u32 nr, s64 ret)
{
	u32 kind = OFF_WAIT;
	u8 how = nr < MAX_SYS && nr == t->blocked_in ? waits[nr % MAX_SYS].timed : TIMED_NOT;
	u64 last = t->woken - t->slept;
	int known = t->slept && last <= t->blocked, there = nr < MAX_SYS && nr == t->blocked_in && t->object && waits[nr % MAX_SYS].kind;

	if (how == TIMED_ALWAYS || (how == TIMED_ZERO && ret == 0) ||
	    (how == TIMED_ERROR && (ret == -ETIMEDOUT || ret == -ETIME || ret == -EAGAIN))) {
		kind = OFF_TIMER;
		t->waker = 0;
		if (known && how != TIMED_ALWAYS && there) { /* poll with nothing to wait for is a sleep */
			t->off[kind] += t->blocked - last;
			t->blocked = last;
			send_wait(t, task, -ETIMEDOUT);
		}
	} else if (known && t->waker) {
		send_wait(t, task, 0);
	} else if (known && there && is_interrupted(ret)) {
		send_wait(t, task, -EINTR);
	}
	t->waker = 0;
	t->off[kind] += t->blocked;
	t->blocked = 0;
}

/* The thread is back on the processor, and no switch to it was seen: there are kernels that
 * do not tell of switches from some threads of theirs. What it has run for since counts as ready. */
static __attribute__((noinline)) int come_back(struct thread *t, struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id(), calls = processor(cpu)->calls;

	enter_processor(t, cpu, bpf_ktime_get_ns());
	processor(cpu)->calls = calls;
	if (t->blocked)
		explain_wait(t, task, t->blocked_in, 1); /* its result is not known; 1 is none of a time limit */
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct thread *t;
	struct processor *here;
	u64 now, runs = 0;
	u32 cpu;

	if (!prev->bpf_storage && !next->bpf_storage && prev->tgid != recorder && next->tgid != recorder)
		return 0;
	now = bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	here = processor(cpu);
	if (prev->tgid == recorder && here->since)
		here->recorder += now - here->since;
	here->since = next->tgid == recorder ? now : 0;
	t = followed(prev);
	if (t) {
		if (unlikely(t->left))
			come_back(t, prev);
		/* of the block before this one, unless it is on its way out */
		if (unlikely(t->blocked && t->waker && !t->start && prev->__state != 0 && !(t->flags & THREAD_EXITED)))
			send_wait(t, prev, 0);
		leave_processor(t, prev, ctx[0], cpu, now);
		if (with_maps)
			leave_fault(t, prev, !ctx[0] && prev->__state != 0 && BITS(prev, in_iowait));
	}
	t = followed(next);
	if (t) {
		enter_processor(t, cpu, now);
		runs = 1;
	}
	if (is_turn(&here->turns))
		add_sample(SAMPLE_SWITCH, bpf_ktime_get_ns() - now, runs);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct processor *here;
	struct thread *t;
	u64 begun;

	t = followed(task);
	if (!t)
		return 0;
	here = processor(bpf_get_smp_processor_id());
	begun = is_turn(&here->wakings) ? bpf_ktime_get_ns() : 0;
	wake(t, task);
	if (begun)
		add_sample(SAMPLE_SWITCH, bpf_ktime_get_ns() - begun, 0);
	return 0;
}
