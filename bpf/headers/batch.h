/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Calls that submit requests or wait for them, of io_uring and of libaio. What they submit
 * or return of libaio is sent here; the kernel tells of requests of io_uring itself (request.h).
 */
#pragma once

#include "request.h"

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
