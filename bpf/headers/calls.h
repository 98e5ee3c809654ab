/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * System calls: a thread notes when one begins, and sends a record when it ends.
 */
#pragma once

#include "batch.h"
#include "faults.h"
#include "waits.h"

INLINE int is_lock(u32 cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) || (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

/* Takes what must be taken before the call changes it: execve replaces the
 * registers, F_GETLK the lock. */
INLINE void take_args(struct thread *t, struct pt_regs *regs, u8 kind)
{
	struct flock lock = {};

	read_args(t->args, regs, 6);
	t->flags &= ~THREAD_UNREADABLE;
	if (kind != KIND_FCNTL)
		return;
	if (is_lock(t->args[1])) {
		if (bpf_probe_read_user(&lock, sizeof(lock), (void *)t->args[2]))
			t->flags |= THREAD_UNREADABLE;
		t->args[2] = (u16)lock.whence; /* never an address, for those are higher */
	}
	t->args[3] = lock.type;
	t->args[4] = lock.start;
	t->args[5] = lock.len;
}

/* Reports whether an ioctl is one that concerns files. */
INLINE int wanted(const struct pt_regs *regs)
{
	u32 request = arg_of(regs, 1);

	for (u32 i = 0; i < MAX_IOCTLS; i++) {
		if (!ioctls[i])
			break;
		if (ioctls[i] == request)
			return 1;
	}
	return 0;
}

/* Reports whether calls of a kind submit requests or wait for them. */
INLINE int submits(u8 kind) { return kind >= KIND_SUBMIT && kind <= KIND_RING; }

/* A call turns out to be none that is recorded. */
INLINE int not_recorded(struct thread *t)
{
	t->calls++;
	return 0;
}

/* A system call begins. */
INLINE int enter(struct pt_regs *regs, u64 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct processor *here;
	struct thread *t;
	u64 begun = 0;
	u8 kind;

	/* Threads that are not followed have no storage at all; they get out
	 * before the first call of a helper that costs. */
	if (!task->bpf_storage || nr >= MAX_SYS)
		return 0;
	if (unlikely(is_compat(task))) {
		t = kept(task);
		if (t) {
			meet(t, task);
			t->flags |= THREAD_COMPAT;
			add(&missing[MISSING_COMPAT].calls, 1);
		}
		return 0;
	}
	kind = plans[nr].kind;
	here = processor(bpf_get_smp_processor_id());
	if (unlikely(here->faulted)) {
		t = kept(task);
		if (t && t->fault.flags)
			send_fault(t, task);
	}
	if (kind == KIND_NONE) {
		here->calls++;
		return 0;
	}
	if (unlikely(is_turn(&here->turn)))
		begun = bpf_ktime_get_ns();
	t = kept(task);
	if (!t)
		return 0;
	if (unlikely(t->rested)) {
		if (t->left)
			come_back(t, task);
		t->waker = t->channel = t->behind = 0; /* of a wait, or of a call that is not sent, before it */
	}
	t->nr = nr;
	t->calls += here->calls;
	here->calls = 0;
	meet(t, task);
	identify(t, task);
	if (unlikely(kind >= KIND_IOCTL)) {
		if (kind == KIND_IOCTL) {
			if (!wanted(regs))
				return not_recorded(t);
		} else if (kind < KIND_AT_ENTRY) {
			if (kind == KIND_MAP && !may_map_file(task, regs) && !with_memory)
				return not_recorded(t);
			if (kind == KIND_SPACE) {
				if (!with_memory && !plans[nr].reg && !concerns_files(task, regs))
					return not_recorded(t);
				t->start = bpf_ktime_get_ns();
				t->timed = 0;
				return 0;
			}
			t->ringed = uring_done;
			t->flying = (kind == KIND_RING ? uring_flight : aio_flight).requests > 0 || !with_flight;
			if (kind == KIND_SUBMIT)
				take_off(&aio_flight, arg_of(regs, 1));
			t->counting = bpf_ktime_get_ns();
			if (kind == KIND_COUNT || (kind == KIND_MAP && !with_memory && !with_maps))
				return not_recorded(t);
		} else {
			take_args(t, regs, kind);
		}
		if (kind == KIND_EXIT) {
			t->flags |= THREAD_EXITED;
			send_exit(t, task, bpf_ktime_get_ns(), t->args[0], 0, 0);
			return 0;
		}
	}
	if (moves(kind)) {
		t->faults = faults_of(task);
		t->chars = chars_of(task);
	}
	t->start = bpf_ktime_get_ns();
	if (unlikely(submits(kind) || kind == KIND_BATCH))
		begin_batch(t, task, regs, kind);
	t->timed = begun ? (t->start - begun) & 0xffff : 0;
	return 0;
}

INLINE u64 register_of(const struct event *e, u8 reg) { return e->args[reg < 6 ? reg : 0]; }

/* Sends a record of one of the kinds up to KIND_BRIEF with one string at most,
 * which is put together in the ring: that is quicker than to copy it there.
 * Reports false, with nothing sent, where the string is too long for that. */
INLINE int send_brief(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret,
		      const struct plan *plan)
{
	u64 args[8] = {}; /* as many as three bits can number */
	struct scratch *s = begin_wide(t, arg_of(regs, 0), start, end, ret, __builtin_offsetof(struct scratch, data) + NAME_BYTES);

	if (unlikely(!s))
		return 1;
	s->event.flags |= FLAG_RICH;
	__builtin_memset(&s->details, 0, sizeof(s->details));
	read_args(args, regs, 6);
	__builtin_memcpy(s->event.args, args, sizeof(s->event.args));
	if (plan->kind == KIND_OPEN && ret >= 0)
		read_file(s, task, ret);
	else if (plan->kind == KIND_STAT && ret == 0)
		read_stat(s, args[plan->reg & 7]);
	else if (plan->kind == KIND_STATX && ret == 0)
		read_statx(s, args[plan->reg & 7]);
	if (plan->string[0] && !read_name(s, args[(plan->string[0] - 1) & 7])) {
		__builtin_memcpy(t->off, s->event.off, sizeof(t->off)); /* for the record in its place */
		t->calls = s->event.calls;
		t->rested = 1;
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Sends a call of mmap that mapped a file with storage that is no program, with that file. Reports
 * false, with nothing sent, for others that are recorded; the rest is left out. */
INLINE int send_map(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret)
{
	struct inode *inode = (void *)t->args[0];
	u64 args[6];
	struct scratch *s;

	if (with_libraries && !t->args[2] && ret > 0) {
		read_args(args, regs, 6);
		if (args[2] & PROT_EXEC)
			note_library(file_of(task, args[4]));
	}
	if (inode && !t->args[1]) {
		read_args(args, regs, 6);
		tell_program(task, inode, ret, args);
	}
	if (!inode || !t->args[1]) {
		if (with_memory || t->args[2])
			return 0;
		t->calls++;
		return 1;
	}
	s = begin_wide(t, arg_of(regs, 0), start, end, ret, __builtin_offsetof(struct scratch, data));
	if (unlikely(!s))
		return 1;
	s->event.flags |= FLAG_RICH;
	s->event.channel = space_of(task);
	read_args(s->event.args, regs, 6);
	extend_bounds(task, ret, s->event.args[1], s->event.args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE));
	__builtin_memset(&s->details, 0, sizeof(s->details));
	describe_inode(&s->details, inode);
	s->event.flags |= FLAG_STAT | FLAG_FILE;
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Reads the strings of the call in the scratch of exits, behind data[at], and sends it. It is a
 * function of its own, so that the verifier checks it once, not after each kind of call. */
__attribute__((noinline)) int send_strings(u32 at, s64 ret, const struct plan *plan)
{
	u32 slot = SLOT_EXIT;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &slot);

	if (!s || !plan || at > PATH_MAX)
		return 0; /* never, but the verifier cannot know */
	if (plan->string[0])
		at = read_string(s->data, at, register_of(&s->event, plan->string[0] - 1), &s->details.len[0], &s->details.state[0]);
	if (plan->string[1])
		at = read_string(s->data, at, register_of(&s->event, plan->string[1] - 1), &s->details.len[1], &s->details.state[1]);
	if (plan->kind == KIND_READLINK && ret >= 0)
		at = read_target(s, at, ret, register_of(&s->event, plan->reg));
	send_rich(s, bpf_get_current_task_btf(), at);
	return 0;
}

/* Sends a record of a call that has ended. */
INLINE void send_call(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret,
		      const struct plan *plan)
{
	u32 slot = SLOT_EXIT, at = 0, pid = 0;
	struct scratch *s;

	if (likely(plan->kind <= KIND_IO && !(with_off && (t->rested | (t->blocked != 0))) && t->calls <= MAX_CALLS)) {
		send_plain(t, task, regs, start, end, ret, plan->kind);
		return;
	}
	if (plan->kind == KIND_MAP && send_map(t, task, regs, start, end, ret))
		return;
	if (plan->kind == KIND_SPACE && ret > 0) { /* mremap */
		extend_bounds(task, ret, arg_of(regs, 2), 0);
	}
	if (plan->kind <= KIND_FORK || plan->kind == KIND_MAP || plan->kind == KIND_SPACE) {
		send_wide(t, task, regs, start, end, ret, plan->kind);
		return;
	}

	if (submits(plan->kind) || (plan->kind >= KIND_SETUP && plan->kind <= KIND_BATCH && plan->kind != KIND_REGISTER)) {
		if (plan->kind == KIND_GETEVENTS)
			send_events(task, regs, ret);
		send_batch(t, task, regs, start, end, ret, plan->kind);
		return;
	}

	if (plan->kind == KIND_ADDRESS && !has_path(arg_of(regs, 1), arg_of(regs, 2))) {
		t->calls++;
		return;
	}
	if (plan->kind <= KIND_BRIEF && !plan->string[1] && send_brief(t, task, regs, start, end, ret, plan))
		return;

	s = bpf_map_lookup_elem(&scratches, &slot);
	if (!s)
		return;
	fill_wide(&s->event, t, start, end, ret);
	__builtin_memset(&s->details, 0, sizeof(s->details));
	if (plan->kind >= KIND_AT_ENTRY) {
		__builtin_memcpy(s->event.args, t->args, sizeof(s->event.args));
		if (t->flags & THREAD_UNREADABLE)
			s->event.flags |= FLAG_UNREADABLE;
	} else {
		read_args(s->event.args, regs, 6);
	}

	switch (plan->kind) {
	case KIND_OPENAT2:
		read_open_how(&s->event);
		/* fall through */
	case KIND_OPEN:
		if (ret >= 0)
			read_file(s, task, ret);
		break;
	case KIND_STAT:
		if (ret == 0)
			read_stat(s, register_of(&s->event, plan->reg));
		break;
	case KIND_STATX:
		if (ret == 0)
			read_statx(s, register_of(&s->event, plan->reg));
		break;
	case KIND_IOVEC:
		if (plan->reg < 6)
			s->event.args[plan->reg] = sum_iovec((void *)s->data, s->event.args[1], s->event.args[2], &s->event.flags);
		note_io(&s->event, t, task);
		break;
	case KIND_ATTR:
		read_attr_args(&s->event);
		break;
	case KIND_ACL:
		read_access_list(&s->event);
		break;
	case KIND_OFFSETS:
		read_offsets(&s->event, plan->reg);
		break;
	case KIND_ADDRESS:
		at = read_address(s, s->event.args[1], s->event.args[2]);
		break;
	case KIND_IOCTL:
		read_ioctl(&s->event);
		break;
	case KIND_REGISTER:
		note_batch(&s->event, ring_behind(task, s->event.args[0], s->event.args[1] >> 31 & 1), 0);
		at = read_registered(s);
		break;
	case KIND_PIPE:
		read_pipe(&s->event);
		break;
	case KIND_CLONE3:
		read_clone_args(&s->event);
		if (ret > 0 && t->child)
			s->event.ret = t->child;
		break;
	case KIND_WAIT:
		s->event.ret = outer(t, ret);
		break;
	case KIND_WAITID:
		if (ret == 0 && s->event.args[2] &&
		    bpf_probe_read_user(&pid, sizeof(pid), (void *)s->event.args[2] + SIGINFO_PID))
			s->event.flags |= FLAG_UNREADABLE;
		s->event.args[5] = outer(t, pid);
		break;
	}
	send_strings(at, ret, plan);
}

/* Reports whether more than registers is recorded of a call, as format.Op.Rich. */
INLINE int is_rich(const struct plan *plan)
{
	return plan->string[0] || (plan->kind >= KIND_RICH && plan->kind <= KIND_OPENAT2);
}

/* A system call ends. */
INLINE int leave(struct pt_regs *regs, s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct processor *here;
	struct thread *t;
	struct plan plan;
	u64 start, end, timed;
	u32 nr;

	if (!task->bpf_storage)
		return 0;
	here = processor(bpf_get_smp_processor_id());
	nr = call_of(regs);
	if (nr < MAX_SYS && plans[nr].kind == KIND_NONE && !here->waited)
		return 0; /* before anything that costs */
	end = bpf_ktime_get_ns();
	t = kept(task);
	if (!t)
		return 0;
	if (unlikely(t->blocked))
		explain_wait(t, task, call_of(regs), ret);
	here->waited = 0;
	if (unlikely(t->fault.flags))
		send_fault(t, task);
	if (!(t->start | t->counting))
		return 0;
	nr = t->nr;
	if (nr >= MAX_SYS)
		return 0; /* never, but the verifier cannot know */
	plan = plans[nr];
	if (unlikely(t->counting))
		count_call(t, task, regs, ret, end, &plan);
	start = t->start;
	if (!start)
		return 0;
	if (moves(plan.kind))
		hold(t, task);
	t->start = 0;
	if (unlikely(ret == -EAGAIN && plan.kind == KIND_WIDE && plan.reg)) {
		t->calls++;
		return 0;
	}
	timed = t->timed;
	send_call(t, task, regs, start, end, ret, &plan);
	if (unlikely(timed))
		add_sample(is_rich(&plan) ? SAMPLE_RICH : SAMPLE_PLAIN, timed + bpf_ktime_get_ns() - end, 1);
	return 0;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx) { return enter((void *)ctx[0], ctx[1]); }

SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx) { return leave((void *)ctx[0], ctx[1]); }
