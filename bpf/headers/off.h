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
#define EINTR 4
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516
#define ETIMEDOUT 110
#define ETIME 62
#define EAGAIN 11

/* What is known of a processor, in a line of the cache. */
struct processor {
	u64 clock;    /* nanoseconds that followed threads have run */
	u64 recorder; /* nanoseconds that the recorder has run */
	u64 since;    /* when it came, 0 while it is not there */
	u32 waited;   /* the thread that came last, if it is followed, was blocked in the call under way */
	u32 calls;    /* not recorded, of that thread since then */
	u32 turn;     /* runs since one was measured: of system calls */
	u32 turns;    /* of switches */
	u32 wakings;
	u32 messages;
	u32 faulted; /* the thread that came last has a fault that has not been sent */
	u32 pad[3];
};
struct processor processors[MAX_CPUS];

INLINE struct processor *processor(u32 cpu) { return &processors[cpu & (MAX_CPUS - 1)]; }

u32 recorder; /* its process, by the number that the kernel has for it */
s32 holding;  /* its thread whose next child is stopped before its first instruction, else 0 */

/* Of so many runs of the program one is measured. No power of two, for programs
 * make their calls in such turns. */
u32 every; /* set at load */
struct sample samples[NUM_SAMPLES];

INLINE int is_turn(u32 *turn)
{
	if (likely(++*turn < every))
		return 0;
	*turn = 0;
	return 1;
}

/* Adds what a run took. In one that took this long something else came between,
 * such as an interrupt, which comes without a recorder as well. */
#define MAX_RUN 10000

INLINE void add_sample(enum sample_kind kind, u64 nanos, u64 runs)
{
	if (nanos > MAX_RUN)
		return;
	add(&samples[kind].nanos, nanos);
	add(&samples[kind].runs, runs);
}

/* Returns how long the recorder has run on a processor. */
INLINE u64 taken_on(const struct processor *p, u64 now) { return p->recorder + (p->since ? now - p->since : 0); }

/* A thread may have to wait for a processor from now on. */
INLINE void mark_clocks(struct thread *t, u32 cpu, u64 now)
{
	t->cpu = cpu;
	t->mark = processor(cpu)->clock;
	t->taken = taken_on(processor(cpu), now);
}

/* A thread is ready to run, on a processor that it may have to wait for. */
INLINE void become_ready(struct thread *t, u32 cpu, u64 now)
{
	t->ready = now;
	mark_clocks(t, cpu, now);
}

/* Notes why and when a thread left the processor, outside of recorded calls. */
INLINE void note_left(struct thread *t, struct task_struct *task, int blocked, u64 now)
{
	struct pt_regs *regs;

	if (blocked) {
		regs = (void *)bpf_task_pt_regs(task);
		t->blocked_in = call_of(regs) < 0 ? NO_CALL : call_of(regs);
		t->object = arg_of(regs, 0);
		t->waker = t->early;
		t->early = 0;
	}
	__asm__ volatile("" ::: "memory"); /* from here on wake knows that it has left */
	t->left = now;
	t->rested = 1;
	t->waits = blocked && BITS(task, in_iowait) ? 1 + waits_for(t, task) : 0; /* or WAITS_FAULT, by leave_fault */
}

/* A followed thread leaves the processor. */
INLINE void leave_processor(struct thread *t, struct task_struct *task, int preempted, u32 cpu, u64 now)
{
	int blocked = !preempted && task->__state != 0;

	if (t->ran)
		processor(cpu)->clock += now - t->ran;
	t->ran = 0;
	t->calls += processor(cpu)->calls;
	processor(cpu)->calls = 0;
	t->ready = blocked ? 0 : now;
	mark_clocks(t, cpu, now); /* where it blocks too: a waking may have come before */
	if (!t->start)
		note_left(t, task, blocked, now);
}

/* A thread that sleeps when it is found is off the processor from then on. */
INLINE void find_asleep(struct thread *t, struct task_struct *task)
{
	if (t->ran | t->left | t->start || !task->__state)
		return;
	note_left(t, task, 1, bpf_ktime_get_ns());
	if (t->ran) /* it has come meanwhile */
		t->left = 0;
}

/* Returns the followed thread that wakes another one now, 0 for none. An
 * interrupt can come to any thread, but one that is in no call has woken nobody. */
INLINE u32 waker_of(struct task_struct *woken)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t;

	if (task == woken || BITS(woken, in_iowait))
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
	if (t->left)
		t->slept = t->left;
	t->waker = waker_of(task);
	if (t->waker)
		t->rested = 1;
}

/* The fault of a thread has come so far as to wait no longer. What the thread was ready for since it
 * began is none of its time. */
INLINE void time_fault(struct thread *t, u64 now)
{
	struct fault *f = &t->fault;
	u64 off = 0;

	for (int i = 0; i < NUM_OFF; i++)
		off += t->off[i];
	if (now - f->start > off)
		f->took = now - f->start - off;
}

/* Counts the time off the processor of a thread that comes back to it. */
INLINE void count_off(struct thread *t, u64 now)
{
	u64 ready, own, taken, blocked;

	if (!t->ready) { /* it was woken before it had left */
		if (t->early)
			t->waker = t->early;
		t->early = 0;
		t->ready = t->left + 1;
		t->woken = t->ready;
		t->slept = t->left;
	}
	blocked = t->ready - t->left;
	if (t->waits == WAITS_FAULT && t->ready < t->fault.start)
		t->waits = 1; /* that fault is over, as no switch back was seen */
	if (t->waits == WAITS_FAULT)
		time_fault(t, t->ready);
	ready = now - t->ready;
	own = processor(t->cpu)->clock - t->mark;
	if (own > ready)
		own = ready;
	ready -= own;
	taken = taken_on(processor(t->cpu), now) - t->taken;
	if (taken > ready)
		taken = ready;
	ready -= taken;
	t->lately[OFF_READY] = ready;
	t->lately[OFF_OWN] = own;
	t->off[OFF_READY] += ready;
	t->off[OFF_OWN] += own;
	t->off[OFF_RECORDER] += taken;
	if (t->waits == WAITS_FAULT) {
		/* It is in the time of the fault. */
	} else if (t->waits) {
		t->off[OFF_STORAGE] += blocked;
		if (t->waits - 2 < NUM_MISSING)
			add(&missing[t->waits - 2].nanos, blocked);
	} else {
		t->blocked += blocked;
	}
	t->left = 0;
}

/* A thread that was off the processor within a recorded call comes back to it. What
 * is less than a waking takes is not counted. */
#define LEAST_BEHIND 20000

INLINE void count_behind(struct thread *t, u64 now)
{
	u64 own = processor(t->cpu)->clock - t->mark;

	if (own > now - t->ready)
		own = now - t->ready;
	t->ready = 0;
	if (own < LEAST_BEHIND)
		return;
	t->behind += own;
	t->rested = 1;
}

/* It comes to the processor. */
INLINE void enter_processor(struct thread *t, u32 cpu, u64 now)
{
	t->ran = now;
	if (t->left)
		count_off(t, now);
	else if (t->start && t->ready)
		count_behind(t, now);
	processor(cpu)->waited = t->blocked != 0;
	processor(cpu)->faulted = t->fault.flags != 0;
	processor(cpu)->calls = 0;
}

