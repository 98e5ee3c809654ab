//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The recorder's part in the kernel. It keeps a little storage for each thread
 * that is followed, notes there when a system call began, and when the call
 * ends sends a record of it through a ring buffer. It wakes no reader: the
 * reader polls. Children of followed threads are followed from their start.
 *
 * Strings are read when the call ends, for then the kernel itself has just
 * read them and they are in memory. This program must never wait for a page.
 */
#include "headers/faults.h"
#include "headers/request.h"
#include "headers/cgroup.h"
#include "headers/span.h"

/* "GPL" opens the helpers that read memory. */
char LICENSE[] SEC("license") = "GPL";

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

SEC("tp_btf/sock_send_length")
int sock_send(u64 *ctx)
{
	message((void *)ctx[0], ctx[1], 1);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int sock_receive(u64 *ctx)
{
	if (!(ctx[2] & MSG_PEEK))
		message((void *)ctx[0], ctx[1], 0);
	return 0;
}

/* A ring is made. */
SEC("tp_btf/io_uring_create")
int uring_create(u64 *ctx)
{
	struct thread *t = followed(bpf_get_current_task_btf());
	struct ring_key ring = {.address = ctx[1]};

	if (t)
		t->ring = new_ring(ring.address, 0, t->tid);
	else
		bpf_map_delete_elem(&rings, &ring); /* it takes the place of one that is gone */
	return 0;
}

/* A request of a ring is made. */
SEC("tp_btf/io_uring_submit_req")
int uring_submit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_kiocb *request = (void *)ctx[0];
	struct io_ring_ctx *ring = LOAD(request, ctx);

	if (!is_ours(task, (u64)ring))
		return 0;
	count_submission(request);
	if (is_recorded(LOAD(request, opcode)))
		submit(task, request, ring);
	return 0;
}

/* A request of a ring completes: in the thread that made it, or in one of the
 * kernel. */
SEC("tp_btf/io_uring_complete")
int uring_complete(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_kiocb *request = (void *)ctx[1];

	if (!request)
		return 0; /* one more completion of a request that will have its own */
	if (!is_ours(task, ctx[0]))
		return 0;
	count_completion(request);
	if (is_recorded(LOAD(request, opcode)))
		complete(task, request);
	return 0;
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

/* Where a huge page fits, a fault can map one and nobody says so but the counter
 * of pages that are mapped. These programs are attached when there is such a mapping: they
 * run at faults on anonymous memory, too. The first of them to see an address space notes
 * its counter: what it has grown by before is no huge page. */
INLINE int keep_address(u64 address)
{
	struct task_struct *task;
	struct thread *t;

	if (!watching)
		return 0;
	task = bpf_get_current_task_btf();
	t = followed(task);
	if (t) {
		if (!t->addressed)
			begin_growth(task->mm);
		t->address = address;
		t->addressed = ended_faults(task);
	}
	return 0;
}

SEC("tp_btf/page_fault_user")
int fault_user(u64 *ctx) { return keep_address(ctx[0]); }

SEC("tp_btf/page_fault_kernel")
int fault_kernel(u64 *ctx) { return keep_address(ctx[0]); }

SEC("tp_btf/rss_stat")
int map_huge(u64 *ctx)
{
	struct task_struct *task;
	struct thread *t;
	u64 found = 0;

	if ((u32)ctx[1] != MM_FILEPAGES || !watching)
		return 0;
	task = bpf_get_current_task_btf();
	t = followed(task);
	if (!t || grown((void *)ctx[0]) < HUGE_PAGES / 2 || t->counting)
		return 0; /* of a call, all counts that it maps */
	if (t->addressed != ended_faults(task)) {
		/* No fault, but a call maps it, such as madvise, or O_DIRECT from there. It is
		 * part of the call if that is recorded, and the address is unknown. */
		found = t->start != 0;
	} else if (with_maps) {
		found = t->address;
		bpf_find_vma(task, found, map_huge_page, &found, 0);
		return 0;
	} else {
		bpf_find_vma(task, t->address, count_huge, &found, 0);
	}
	if (!found) { /* another thread changes the address space, or the call is not recorded */
		add(&missing[MISSING_MAPPED].calls, 1);
		add(&missing[MISSING_MAPPED].bytes, HUGE_PAGES * page_bytes);
	}
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

/* Lets a thread go that has left the cgroup. */
INLINE void unfollow(struct task_struct *task, struct thread *t)
{
	settle(t, task);
	count_dead(t);
	bpf_task_storage_delete(&threads, task);
}

/* A process, or a thread alone, is moved from one cgroup to another. Of a process the
 * kernel shows the first thread; the recorder looks for the others. */
SEC("tp_btf/cgroup_attach_task")
int cgroup_attach(u64 *ctx)
{
	struct cgroup *to = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[2];
	struct thread *t;

	if ((u64)to->root != cgroup_root)
		return 0;
	if ((u8)ctx[3] && task->signal->nr_threads > 1)
		__sync_fetch_and_add(&moved, 1);
	t = followed(task);
	if (in_cgroup(task) == !!t)
		return 0;
	if (t) {
		unfollow(task, t);
	} else {
		follow(task);
		if (task == task->group_leader)
			tell_joined(task);
	}
	return 0;
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

/* Finds the cgroup of a directory. */
SEC("syscall")
int find_cgroup(struct cgroup_path *at)
{
	struct file *file = file_of(bpf_get_current_task_btf(), at->fd);
	struct inode *inode = FIELD(file, f_inode);
	struct kernfs_node *node = FIELD(inode, i_private);
	struct cgroup *cgroup = FIELD(node, priv);

	cgroup_root = (u64)FIELD(cgroup, root);
	cgroup_id = FIELD(node, id);
	return !cgroup_root;
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
