/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Requests of io_uring and of libaio. A record is sent when a request is submitted,
 * and one when it completes: the recorder puts the two together. What a request of io_uring
 * asks for is read from its entry, whose layout is the same in all kernels, when
 * the kernel has just read it. Names and vectors are then in memory.
 */
#pragma once

#include "send.h"

/* A ring of io_uring by its address in the kernel, or a context of libaio. */
struct ring_info {
	u32 number;
	u32 tid;   /* that made it */
	u64 batch; /* of a ring that a thread of the kernel polls: the round */
	u64 begun; /* when that round began */

	/* Of a context of libaio. */
	u64 looked;  /* when the last call on it ended, or completions were looked for */
	u32 head;    /* completions before this place of its ring have been sent */
	u32 waiting; /* threads in io_getevents */
};

struct ring_key {
	u64 address;
	u32 process; /* of a context, else 0: processes that do not share memory can have contexts at one address */
	u32 pad;
};

/* None may go while it is in use, for it would go on with another number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct ring_key);
	__type(value, struct ring_info);
} rings SEC(".maps");

u32 last_ring;
u64 last_batch;

/* A submission with strings is put together here. */
struct submission_scratch {
	struct submission s;
	u8 data[DATA_BYTES]; /* strings; before that, segments of a vector */
};

enum { SLOT_URING, SLOT_AIO, NUM_SUBMISSIONS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUM_SUBMISSIONS);
	__type(key, u32);
	__type(value, struct submission_scratch);
} submissions SEC(".maps");

/* Finds a ring or a context, which gets a number when it is first seen; NULL if there is no
 * room for it, which the caller counts. */
INLINE struct ring_info *ring_of(u64 address, u32 process, u32 tid)
{
	struct ring_key key = {.address = address, .process = process};
	struct ring_info *known = bpf_map_lookup_elem(&rings, &key);
	struct ring_info fresh = {.tid = tid};

	if (likely(known))
		return known;
	fresh.number = __sync_fetch_and_add(&last_ring, 1) + 1;
	bpf_map_update_elem(&rings, &key, &fresh, 1 /* BPF_NOEXIST */); /* another thread may be quicker */
	return bpf_map_lookup_elem(&rings, &key);
}

/* Makes a ring or a context known that may have the address of an earlier one. */
INLINE u32 new_ring(u64 address, u32 process, u32 tid)
{
	struct ring_key key = {.address = address, .process = process};
	struct ring_info fresh = {.tid = tid};

	fresh.number = __sync_fetch_and_add(&last_ring, 1) + 1;
	if (bpf_map_update_elem(&rings, &key, &fresh, 0))
		leave_untracked(UNTRACKED_RING);
	return fresh.number;
}

/* Finds a ring or a context that was seen before, NULL if it was not. */
INLINE struct ring_info *known_ring(u64 address, u32 process)
{
	struct ring_key key = {.address = address, .process = process};

	return bpf_map_lookup_elem(&rings, &key);
}

/* Reports whether a ring is one of followed threads. Threads of the kernel that
 * work for it belong to the process, and are not followed. */
INLINE int is_ours(struct task_struct *task, u64 ring)
{
	return followed(task) || followed(task->group_leader) || known_ring(ring, 0);
}

/* Adds a lost submission or completion to the account. */
INLINE void miss_request(void)
{
	add(&missing[MISSING_LOST].calls, 1);
	add(&missing[MISSING_LOST].unsized, 1);
}

/* Sends a submission or a completion. */
INLINE void send_request(u32 nr, void *record, u64 size)
{
	if (!output(nr, record, size, BPF_RB_NO_WAKEUP))
		miss_request();
}

INLINE u64 string_at(const struct entry *e, u8 place)
{
	return place == PLACE_OFF ? e->off : place == PLACE_ADDR3 ? e->addr3 : e->addr;
}

/* Sends a submission whose strings or vector must be read. */
__attribute__((noinline)) int send_submission_with(struct submission *s, u32 slot)
{
	struct submission_scratch *p = bpf_map_lookup_elem(&submissions, &slot);
	const volatile struct request_plan *plan;
	u32 at = 0;

	if (!p || !s)
		return 0; /* never, but the verifier cannot know */
	p->s = *s;
	plan = &requests[s->entry.opcode & (MAX_OPCODES - 1)];
	if (s->flags & FLAG_AIO || plan->vector) {
		if (s->entry.len > UIO_MAXIOV)
			p->s.flags |= FLAG_UNREADABLE;
		p->s.entry.sum = sum_iovec((void *)p->data, s->entry.addr, s->entry.len, &p->s.flags);
	} else {
		if (plan->string[0])
			at = read_string(p->data, at, string_at(&s->entry, plan->string[0]), &p->s.len[0], &p->s.state[0]);
		if (plan->string[1])
			at = read_string(p->data, at, string_at(&s->entry, plan->string[1]), &p->s.len[1], &p->s.state[1]);
	}
	if (at > sizeof(p->data))
		return 0; /* never, but the verifier cannot know */
	send_request(NR_SUBMITTED, p, sizeof(p->s) + at);
	return 0;
}

/* Sends a submission that is whole. */
INLINE void send_submission(struct submission *s) { send_request(NR_SUBMITTED, s, sizeof(*s)); }

/* Reads the entry that a ring is at; reports whether it is that of a request. */
INLINE int read_sqe(struct sqe *sqe, struct io_kiocb *request, struct io_ring_ctx *ring)
{
	u32 flags = LOAD(ring, flags), at = (LOAD(ring, cached_sq_head) - 1) & (LOAD(ring, sq_entries) - 1);

	if (!(flags & IORING_SETUP_NO_SQARRAY)) {
		u32 *array = LOAD(ring, sq_array);

		if (bpf_probe_read_kernel(&at, sizeof(at), array + at))
			return 0;
	}
	if (flags & IORING_SETUP_SQE128)
		at <<= 1;
	void *entries = LOAD(ring, sq_sqes);

	return !bpf_probe_read_kernel(sqe, sizeof(*sqe), entries + (u64)at * SQE_BYTES) && sqe->opcode == LOAD(request, opcode) &&
	       sqe->user_data == LOAD(request, cqe.user_data);
}

/* Sends the submission of a request of io_uring. */
INLINE void submit(struct task_struct *task, struct io_kiocb *request, struct io_ring_ctx *ring)
{
	struct ring_info *info = ring_of((u64)ring, 0, 0);
	struct thread *t = followed(task);
	struct submission s = {};
	struct io_rings *shared;
	struct sqe sqe = {};
	u8 opcode = LOAD(request, opcode) & (MAX_OPCODES - 1);

	if (!info) {
		lose(NR_SUBMITTED);
		miss_request();
		return;
	}
	s.start = bpf_ktime_get_ns();
	s.key = (u64)request;
	s.nr = NR_SUBMITTED;
	s.ring = info->number;
	shared = LOAD(ring, rings);
	s.reaped = LOAD(shared, cq.head);
	if (t) {
		s.tid = t->tid;
		s.batch = t->batch;
		s.begun = t->start;
		t->ring = info->number;
	} else { /* a thread of the kernel polls the ring */
		if (LOAD(shared, sq.head) + 1 == LOAD(ring, cached_sq_head)) {
			info->batch = __sync_fetch_and_add(&last_batch, 1) + 1;
			info->begun = s.start;
		}
		if (!info->tid)
			info->tid = name_of(task->group_leader).tid; /* it was made before the recorder came */
		s.tid = info->tid;
		s.batch = info->batch;
		s.begun = info->begun;
	}
	if (!read_sqe(&sqe, request, ring)) {
		s.flags = FLAG_UNREADABLE;
		s.entry.opcode = opcode;
		send_submission(&s);
		return;
	}
	s.entry.opcode = sqe.opcode;
	s.entry.flags = sqe.flags;
	s.entry.buf = sqe.buf_index;
	s.entry.fd = sqe.fd;
	s.entry.off = sqe.off;
	s.entry.addr = sqe.addr;
	s.entry.len = sqe.len;
	s.entry.op_flags = sqe.op_flags;
	s.entry.fd2 = sqe.fd2;
	s.entry.addr3 = sqe.addr3;
	if (unlikely(requests[opcode].vector | requests[opcode].string[0]))
		send_submission_with(&s, SLOT_URING);
	else
		send_submission(&s);
}

/* Sends the completion of a request of io_uring. */
INLINE void complete(struct task_struct *task, struct io_kiocb *request)
{
	u8 opcode = LOAD(request, opcode) & (MAX_OPCODES - 1);
	struct completion c = {.key = (u64)request, .nr = NR_COMPLETED, .flags = opcode};
	struct file *file = LOAD(request, file);
	struct opened o = {};

	c.end = bpf_ktime_get_ns();
	c.ret = LOAD(request, cqe.res);
	if (unlikely(requests[opcode].opens)) {
		o.c = c;
		if (c.ret >= 0 && describe(&o.details, task, c.ret)) {
			send_request(NR_COMPLETED, &o, sizeof(o));
			return;
		}
	} else if (file && with_type && OP(opcode) & (READS | WRITES)) {
		c.flags |= type_of(LOAD(file, f_inode)) << TYPE_SHIFT;
	}
	send_request(NR_COMPLETED, &c, sizeof(c));
}

/* Where the requests of io_submit stand. */
struct batch {
	const u64 *requests; /* their addresses, in the application's memory */
	u64 number;
	u64 start;
	u32 ring;
	u32 reaped;
	u32 tid;
	u32 process;
};

/* Sends a request that io_submit is about to take. */
static long send_iocb(u64 index, void *context)
{
	struct batch *b = context;
	struct submission s = {};
	struct iocb cb;
	u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), b->requests + index);
	s.key = address;
	s.nr = NR_SUBMITTED;
	s.flags = FLAG_AIO;
	s.start = bpf_ktime_get_ns();
	s.begun = b->start;
	s.tid = b->tid;
	s.process = b->process;
	s.batch = b->number;
	s.ring = b->ring;
	s.reaped = b->reaped;
	s.index = index;
	if (bpf_probe_read_user(&cb, sizeof(cb), (void *)address)) {
		s.flags |= FLAG_UNREADABLE;
		send_submission(&s);
		return 0;
	}
	s.entry.opcode = cb.opcode < MAX_OPCODES ? cb.opcode : MAX_OPCODES - 1;
	s.entry.fd = cb.fd;
	s.entry.off = cb.offset;
	s.entry.addr = cb.buf;
	s.entry.len = cb.nbytes;
	s.entry.op_flags = cb.rw_flags;
	if (with_type)
		s.flags |= read_type(bpf_get_current_task_btf(), cb.fd) << TYPE_SHIFT;
	if (unlikely(cb.opcode == IOCB_CMD_PREADV || cb.opcode == IOCB_CMD_PWRITEV))
		send_submission_with(&s, SLOT_AIO);
	else
		send_submission(&s);
	return 0;
}

/* The requests of one io_submit, and events of one io_getevents, of which more is
 * read than that they exist. */
#define MAX_REQUESTS 1024

/* Events of libaio, in the application's memory. */
struct events {
	u64 address; /* of the first place for one */
	u64 end;     /* when they came; 0: now */
	u32 process;
	u32 at;   /* the place of the next one */
	u32 last; /* the place after the last one */
	u32 size; /* of the ring in which they are: the places after which the first one follows */
};

/* Sends the completion that the next event of libaio tells. */
static long send_event(u64 i, void *context)
{
	struct events *all = context;
	struct completion c = {.nr = NR_COMPLETED, .flags = FLAG_AIO, .process = all->process};
	struct io_event e;
	u32 at = all->at;

	if (at == all->last)
		return 1;
	all->at = at + 1 < all->size ? at + 1 : 0;
	if (bpf_probe_read_user(&e, sizeof(e), (void *)all->address + at * sizeof(e)))
		return 0;
	c.end = all->end ? all->end : bpf_ktime_get_ns();
	c.key = e.request;
	c.ret = e.result;
	send_request(NR_COMPLETED, &c, sizeof(c));
	return 0;
}

/* Sends the completions that the application has taken from the ring in its memory,
 * without a call. When they came the kernel does not show: at the latest when its
 * thread was woken, if it slept since the last call, else at some time since that. The
 * thread computed all that time, so the earliest is told, by which it waited for none. */
INLINE void send_reaped(struct ring_info *info, const struct aio_ring *head, u64 context, u32 process, u64 woken)
{
	struct events reaped = {
		.address = context + sizeof(*head),
		.end = woken > info->looked ? woken : info->looked,
		.process = process,
		.at = info->head,
		.last = head->head,
		.size = head->nr,
	};

	if (head->head >= head->nr || info->waiting)
		return;
	bpf_loop(MAX_REQUESTS, send_event, &reaped, 0);
	info->head = reaped.at;
}

/* Sends the completions that io_getevents has returned. If the head of the ring has
 * moved further than by these, the application took some without a call, too. */
INLINE void send_events(struct task_struct *task, const struct pt_regs *regs, s64 n)
{
	struct aio_ring head = {};
	struct ring_info *info;
	u64 args[4];
	u32 moved = 0;

	read_args(args, regs, 4);
	info = known_ring(args[0], task->tgid);
	bpf_probe_read_user(&head, sizeof(head), (void *)args[0]);
	if (info) {
		__sync_fetch_and_add(&info->waiting, -1);
		if (head.head < head.nr && info->head < head.nr)
			moved = head.head - info->head + (head.head < info->head ? head.nr : 0);
		if (n >= 0 && moved > n) {
			send_reaped(info, &head, args[0], task->tgid, 0);
			return;
		}
		info->head = head.head;
	}
	if (n > 0) {
		struct events returned = {.address = args[3], .process = task->tgid, .last = n, .size = ~0};

		bpf_loop(MAX_REQUESTS, send_event, &returned, 0);
	}
}

/* Sends the requests of io_submit, which begins. */
INLINE void send_iocbs(struct thread *t, struct task_struct *task, const struct pt_regs *regs)
{
	struct batch b = {.start = t->start, .tid = t->tid, .process = task->tgid, .number = t->batch};
	struct aio_ring head = {};
	struct ring_info *info;
	u64 args[4];

	read_args(args, regs, 4);
	bpf_probe_read_user(&head, sizeof(head), (void *)args[0]);
	info = known_ring(args[0], b.process);
	if (info) {
		send_reaped(info, &head, args[0], b.process, t->woken);
	} else {
		info = ring_of(args[0], b.process, t->tid);
		if (info)
			info->head = head.head;
		else
			leave_untracked(UNTRACKED_RING);
	}
	b.ring = info ? info->number : 0;
	t->ring = b.ring;
	b.reaped = head.head;
	b.requests = (const u64 *)args[2];
	bpf_loop(args[1] < MAX_REQUESTS ? args[1] : MAX_REQUESTS, send_iocb, &b, 0);
}

/* Returns the number of the ring behind a descriptor, or a registered index. */
INLINE u32 ring_behind(struct task_struct *task, u64 fd, int registered)
{
	struct io_uring_task *own;
	struct ring_info *info;
	struct file *file;

	if (registered) {
		own = task->io_uring;
		file = own ? (void *)LOAD((struct llist_node *)&own->registered_rings[fd & 15], next) : NULL;
	} else {
		file = file_of(task, fd);
	}
	info = file ? known_ring((u64)LOAD(file, private_data), 0) : NULL;
	return info ? info->number : 0;
}

/* A call on a context of libaio that submits nothing begins. io_destroy is the last. */
INLINE void begin_wait(struct thread *t, struct task_struct *task, const struct pt_regs *regs, u8 kind)
{
	struct aio_ring head = {};
	struct ring_key key = {.process = task->tgid};
	struct ring_info *info;

	key.address = arg_of(regs, 0);
	info = bpf_map_lookup_elem(&rings, &key);
	if (!info)
		return;
	t->ring = info->number;
	bpf_probe_read_user(&head, sizeof(head), (void *)key.address);
	send_reaped(info, &head, key.address, task->tgid, t->woken);
	if (kind == KIND_GETEVENTS)
		__sync_fetch_and_add(&info->waiting, 1);
	else if (t->nr == NR_IO_DESTROY)
		bpf_map_delete_elem(&rings, &key); /* before another thread makes one at its address */
}

/* A call that submits requests, or waits for them, begins. */
INLINE void begin_batch(struct thread *t, struct task_struct *task, struct pt_regs *regs, u8 kind)
{
	t->ring = 0;
	if (kind == KIND_GETEVENTS || kind == KIND_BATCH) {
		t->batch = 0;
		begin_wait(t, task, regs, kind);
		return;
	}
	t->batch = __sync_fetch_and_add(&last_batch, 1) + 1;
	if (kind == KIND_SUBMIT)
		send_iocbs(t, task, regs);
}

/* Fills in the ring and the batch of a call. */
INLINE void note_batch(struct event *e, u32 ring, u64 batch)
{
	if (!ring)
		return;
	e->channel = batch;
	e->pos = ring;
	e->flags |= FLAG_BATCH;
}

/* Sends a call that makes a ring or a context, submits or waits. */
INLINE void send_batch(struct thread *t, struct task_struct *task, struct pt_regs *regs, u64 start, u64 end, s64 ret,
		       u8 kind)
{
	struct io_uring_params params = {};
	struct ring_info *info;
	struct event *e;
	u32 number = t->ring;
	u64 batch = kind >= KIND_MISSING ? t->batch : 0, args[6], at;

	read_args(args, regs, 6);
	switch (kind) {
	case KIND_RING:
		if (!number)
			number = ring_behind(task, args[0], args[3] & IORING_ENTER_REGISTERED_RING);
		break;
	case KIND_SETUP:
		bpf_probe_read_user(&params, sizeof(params), (void *)args[1]);
		args[1] = params.flags;
		args[2] = params.cq_entries;
		args[3] = params.sq_thread_idle;
		break;
	case KIND_CONTEXT:
		at = args[1];
		args[1] = 0;
		number = 0;
		if (!ret && !bpf_probe_read_user(&args[1], sizeof(args[1]), (void *)at))
			number = new_ring(args[1], task->tgid, t->tid);
		break;
	default: /* of a context */
		info = known_ring(args[0], task->tgid);
		if (!number && info)
			number = info->number;
		if (info)
			info->looked = end;
	}
	t->ring = 0;
	e = begin_wide(t, args[0], start, end, ret, sizeof(*e));
	if (unlikely(!e))
		return;
	__builtin_memcpy(e->args, args, sizeof(e->args));
	note_batch(e, number, batch);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* struct io_uring_rsrc_register and struct io_uring_rsrc_update2, whose beginning is
 * that of struct io_uring_files_update. */
struct registration {
	u32 nr;
	u32 flags;
	u64 reserved;
	u64 data;
};
struct replacement {
	u32 offset;
	u32 reserved;
	u64 data;
	u64 tags;
	u32 nr;
};

#define LIST_BYTES (PATH_MAX - 16) /* the most that is read of a list */

/* Reads the list of what is registered to data, and returns where it ends: the
 * number of the first, and descriptors or segments. Argument 4 becomes the bytes
 * of one of them, 0 if there is no list. */
INLINE u32 read_registered(struct scratch *s)
{
	u64 *args = s->event.args, data = args[2], n = (u32)args[3], size = sizeof(s32);
	struct registration all = {};
	struct replacement some = {};
	long bytes;

	s->event.args[4] = 0;
	switch ((u32)args[1] & 0x7fffffff) {
	case IORING_REGISTER_BUFFERS:
		size = sizeof(struct iovec);
		/* fall through */
	case IORING_REGISTER_FILES:
		break;
	case IORING_REGISTER_BUFFERS2:
		size = sizeof(struct iovec);
		/* fall through */
	case IORING_REGISTER_FILES2:
		bpf_probe_read_user(&all, sizeof(all), (void *)data);
		data = all.data;
		n = all.nr;
		break;
	case IORING_REGISTER_FILES_UPDATE:
		bpf_probe_read_user(&some, 16, (void *)data);
		data = some.data;
		break;
	case IORING_REGISTER_BUFFERS_UPDATE:
		size = sizeof(struct iovec);
		/* fall through */
	case IORING_REGISTER_FILES_UPDATE2:
		bpf_probe_read_user(&some, sizeof(some), (void *)data);
		data = some.data;
		n = some.nr;
		break;
	default:
		return 0;
	}
	*(u32 *)s->data = some.offset;
	if (!data) { /* all empty */
		s->event.args[4] = 0;
		return 0;
	}
	bytes = n * size;
	s->details.state[0] = STRING_WHOLE;
	if (bytes > LIST_BYTES) {
		bytes = LIST_BYTES;
		s->details.state[0] = STRING_CUT;
	}
	bytes &= PATH_MAX - 1;
	if (bpf_probe_read_user(s->data + sizeof(u32), bytes, (void *)data)) {
		s->details.state[0] = STRING_UNREADABLE;
		return 0;
	}
	s->event.args[4] = size;
	s->details.len[0] = sizeof(u32) + bytes;
	return sizeof(u32) + bytes;
}
