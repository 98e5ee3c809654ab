//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The recorder's part in the kernel. It keeps a little storage for each thread
 * that is followed, notes there when a system call began, and when the call
 * ends sends a record of it through a ring buffer. It wakes nobody up: the
 * reader polls. Children of followed threads are followed from their birth.
 *
 * Strings are read when the call ends, for then the kernel itself has just
 * read them and they are in memory. This program must never wait for a page.
 */
#include "headers/arch.h"
#include "headers/layout.h"
#include "headers/read.h"

/* "GPL" opens the helpers that read memory. */
char LICENSE[] SEC("license") = "GPL";

/* Set before the program is loaded. */
const volatile struct plan plans[MAX_SYS];
const volatile u64 pidns_dev; /* of the recorder's PID namespace */
const volatile u64 pidns_ino;

/* Read while it runs. */
s64 live;       /* births less deaths of followed threads */
u64 unfollowed; /* new threads that could not be followed, for want of memory */
u64 compat;     /* system calls of followed threads through the 32-bit table */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

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

/* Rich records are put together here: one slot per program that makes some,
 * for one program never runs twice at once on a processor, but two may. */
enum { SLOT_EXIT, SLOT_EXEC, NUM_SLOTS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUM_SLOTS);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* For bpf2go, which makes Go only of the types that something uses. */
const enum thread_flag *unused_thread_flag __attribute__((unused));
const enum kind *unused_kind __attribute__((unused));
const enum flag *unused_flag __attribute__((unused));
const enum string_state *unused_string_state __attribute__((unused));

INLINE struct thread *followed(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

INLINE void count_lost(u32 nr)
{
	u64 *n = bpf_map_lookup_elem(&lost, &nr);

	if (n)
		(*n)++;
}

/* The ids are those that the application sees: a clone's result must be the
 * id of the thread it made. */
INLINE void identify(struct thread *t, const struct task_struct *task)
{
	struct bpf_pidns_info id;

	if (likely(t->tid))
		return;
	if (bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &id, sizeof(id))) {
		id.pid = task->pid; /* of another namespace */
		id.tgid = task->tgid;
		/* One instruction must not read both from the stack and from
		 * the task: keep the compiler from joining the two. */
		asm volatile("" ::: "memory");
	}
	t->tid = id.pid;
	t->tgid = id.tgid;
}

INLINE void fill(struct event *e, struct thread *t, u64 start, u64 end, s64 ret)
{
	e->start = start;
	e->dur = end - start;
	e->ret = ret;
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->nr = t->nr;
	e->flags = 0;
}

/* Sends the end of the current thread. */
INLINE void send_exit(struct thread *t, u64 now, u64 status, u32 flags, u64 signal)
{
	struct event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (!e) {
		count_lost(t->nr);
		return;
	}
	fill(e, t, now, now, 0);
	__builtin_memset(e->args, 0, sizeof(e->args));
	e->args[0] = status;
	e->args[1] = signal;
	e->flags = flags;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE int is_lock(u32 cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) || (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

/* Takes what must be taken before the call changes it: execve replaces the
 * registers, F_GETLK the lock. */
INLINE void take_args(struct thread *t, struct task_struct *task, struct pt_regs *regs, u8 kind)
{
	struct flock lock = {};

	read_args(t->args, regs);
	t->flags &= ~THREAD_UNREADABLE;
	if (kind != KIND_FCNTL)
		return;
	if (is_lock(t->args[1]) && bpf_probe_read_user(&lock, sizeof(lock), (void *)t->args[2]))
		t->flags |= THREAD_UNREADABLE;
	t->args[3] = lock.type;
	t->args[4] = lock.start;
	t->args[5] = lock.len;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[0];
	u64 nr = ctx[1];
	struct thread *t;
	u8 kind;

	/* Threads that nobody follows have no storage at all; they get out
	 * before the first call of a helper that costs. */
	if (!task->bpf_storage || nr >= MAX_SYS)
		return 0;
	kind = plans[nr].kind;
	if (kind == KIND_NONE)
		return 0;
	t = followed(task);
	if (!t)
		return 0;
	if (unlikely(is_compat(task))) {
		__sync_fetch_and_add(&compat, 1);
		return 0;
	}
	t->nr = nr;
	identify(t, task);
	if (unlikely(kind >= KIND_AT_ENTRY)) {
		take_args(t, task, regs, kind);
		if (kind == KIND_EXIT) {
			t->flags |= THREAD_EXITED;
			send_exit(t, bpf_ktime_get_ns(), t->args[0], 0, 0);
			return 0;
		}
	}
	t->start = bpf_ktime_get_ns();
	return 0;
}

/* Sends a record with strings; at is where its strings end. */
INLINE void send_rich(struct scratch *s, u32 at)
{
	s->event.flags |= FLAG_RICH;
	if (at > sizeof(s->data))
		return; /* never, but the verifier cannot know */
	if (bpf_ringbuf_output(&ring, s, __builtin_offsetof(struct scratch, data) + at, BPF_RB_NO_WAKEUP))
		count_lost(s->event.nr);
}

INLINE void send_plain(struct thread *t, struct pt_regs *regs, u64 start, u64 end, s64 ret)
{
	struct event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (unlikely(!e)) {
		count_lost(t->nr);
		return;
	}
	fill(e, t, start, end, ret);
	read_args(e->args, regs);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE u64 register_of(const struct event *e, u8 reg)
{
	return e->args[reg < 6 ? reg : 0];
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[0];
	s64 ret = ctx[1];
	u32 slot = SLOT_EXIT, at = 0;
	struct scratch *s;
	struct thread *t;
	struct plan plan;
	u64 start, end;
	u32 nr;

	if (!task->bpf_storage)
		return 0;
	end = bpf_ktime_get_ns();
	t = followed(task);
	if (!t || !t->start)
		return 0;
	start = t->start;
	t->start = 0;

	nr = t->nr;
	if (nr >= MAX_SYS)
		return 0; /* never, but the verifier cannot know */
	plan = plans[nr];
	if (likely(plan.kind == KIND_PLAIN)) {
		send_plain(t, regs, start, end, ret);
		return 0;
	}

	s = bpf_map_lookup_elem(&scratches, &slot);
	if (!s)
		return 0;
	fill(&s->event, t, start, end, ret);
	__builtin_memset(&s->details, 0, sizeof(s->details));
	if (plan.kind >= KIND_AT_ENTRY) {
		__builtin_memcpy(s->event.args, t->args, sizeof(t->args));
		if (t->flags & THREAD_UNREADABLE)
			s->event.flags |= FLAG_UNREADABLE;
	} else {
		read_args(s->event.args, regs);
	}

	switch (plan.kind) {
	case KIND_OPENAT2:
		read_open_how(&s->event);
		/* fall through */
	case KIND_OPEN:
		if (ret >= 0)
			read_file(s, task, ret);
		break;
	case KIND_STAT:
		if (ret == 0)
			read_stat(s, register_of(&s->event, plan.reg));
		break;
	case KIND_STATX:
		if (ret == 0)
			read_statx(s, register_of(&s->event, plan.reg));
		break;
	case KIND_IOVEC:
		if (plan.reg < 6)
			s->event.args[plan.reg] = sum_iovec(s, s->event.args[1], s->event.args[2]);
		break;
	case KIND_PIPE:
		read_pipe(&s->event);
		break;
	case KIND_CLONE3:
		read_clone_args(&s->event);
		break;
	}

	if (plan.string[0])
		at = read_string(s, at, 0, register_of(&s->event, plan.string[0] - 1));
	if (plan.string[1])
		at = read_string(s, at, 1, register_of(&s->event, plan.string[1] - 1));
	if (plan.kind == KIND_READLINK && ret >= 0)
		at = read_target(s, at, ret, register_of(&s->event, plan.reg));
	send_rich(s, at);
	return 0;
}

/* An execve that succeeds is sent from here, where the kernel still holds the
 * name; the application's memory, and the name in it, is already gone. */
SEC("tp_btf/sched_process_exec")
int process_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	u32 slot = SLOT_EXEC, before;
	struct scratch *s;
	struct thread *t;
	u64 start;
	long n;

	t = followed(task);
	if (!t || !t->start)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &slot);
	if (!s)
		return 0;
	start = t->start;
	t->start = 0;

	/* A thread that is not its process's first takes over the id of that. */
	before = t->tid;
	t->tid = 0;
	identify(t, task);

	fill(&s->event, t, start, bpf_ktime_get_ns(), 0);
	__builtin_memset(&s->details, 0, sizeof(s->details));
	__builtin_memcpy(s->event.args, t->args, sizeof(t->args));
	if (before != t->tid) {
		s->event.flags |= FLAG_RENUMBERED;
		s->event.args[5] = before;
	}
	n = bpf_probe_read_kernel_str(s->data, PATH_MAX + 1, bprm->filename);
	n = n > 0 ? (n - 1) & 0x1fff : 0;
	s->details.len[0] = n;
	s->details.state[0] = n ? STRING_WHOLE : STRING_UNREADABLE;
	send_rich(s, n);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct thread *t = followed(parent);

	if (!t || t->flags & THREAD_ALONE)
		return 0;
	if (bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&live, 1);
	else
		__sync_fetch_and_add(&unfollowed, 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread *t = followed(task);
	u32 code;

	if (!t || t->flags & THREAD_ALONE)
		return 0;
	if (!(t->flags & THREAD_EXITED)) {
		code = task->exit_code;
		t->nr = NR_EXIT;
		identify(t, task);
		send_exit(t, bpf_ktime_get_ns(), code >> 8 & 0xff, code & 0x7f ? FLAG_SIGNAL : FLAG_KILLED, code & 0x7f);
	}
	/* Last, so that whoever sees no thread alive finds all their events. */
	__sync_fetch_and_add(&live, -1);
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
	return 0;
}

SEC("syscall")
int unfollow_self(void *ctx)
{
	return bpf_task_storage_delete(&threads, bpf_get_current_task_btf()) ? 1 : 0;
}
