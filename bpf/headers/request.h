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
