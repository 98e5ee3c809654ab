/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Which bytes a call on a socket moved: the channel, one direction of a
 * connection, and the position in it where they end. A byte is read by the call
 * whose position is the first that is not below that of the call that wrote it.
 *
 * For TCP, both ends compute the same channel from the addresses, and the kernel
 * has the positions. For UNIX sockets the channel is the socket at the receiving
 * end, where bytes are counted as they go in and come out.
 */
#pragma once

#include "off.h"

/* The bytes that pass into a UNIX socket, or messages of SOCK_SEQPACKET, since a
 * followed thread first sent or received some. Part of a message can be thrown
 * away. */
struct inbox {
	u64 channel; /* counts them from 1 */
	u32 sent;
	u32 received;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct inbox);
} inboxes SEC(".maps");

u64 channels; /* inboxes so far */

INLINE void note_message(struct thread *t, u32 flags, u64 channel, u32 pos)
{
	if (!t->start)
		return; /* of a request of io_uring, or a call that had begun before */
	t->channel = channel;
	t->channel_flags = flags;
	t->pos = pos;
	t->rested = 1;
}

/* Puts what is noted into a record. */
INLINE void take_message(struct event *e, const struct thread *t)
{
	e->channel = t->channel;
	e->pos = t->pos;
	if (t->channel)
		e->flags |= t->channel_flags;
}

/* An address and port. An IPv4 address is mapped to IPv6, because the two ends can
 * have sockets of either. */
struct end {
	u32 address[4];
	u32 port;
};

INLINE u64 hash_end(u64 h, const struct end *end)
{
	const u64 words[] = {(u64)end->address[0] << 32 | end->address[1], (u64)end->address[2] << 32 | end->address[3], end->port};

	for (int i = 0; i < 3; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return h;
}

#define MAPPED 0xffff0000 /* the third word of an IPv4 address that IPv6 maps, in the order of the network */

INLINE int is_mapped(const struct end *end)
{
	return !(end->address[0] | end->address[1]) && end->address[2] == MAPPED;
}

/* Returns up to where a TCP socket has received. The end of the connection, which
 * the last receive takes along, counts as a byte there. */
INLINE u32 received(const struct sock *sk, struct tcp_sock *tcp)
{
	u32 pos = LOAD(tcp, copied_seq);

	return pos - (sk->__sk_common.skc_flags >> SOCK_DONE & 1 && pos == LOAD(tcp, rcv_nxt));
}

INLINE void tcp_message(struct thread *t, struct sock *sk, int sends)
{
	struct end local = {.port = sk->__sk_common.skc_num};
	struct end remote = {.port = __builtin_bswap16(sk->__sk_common.skc_dport)};
	struct tcp_sock *tcp = (void *)sk;
	u64 channel;

	if (HAS(sk, __sk_common.skc_v6_daddr) && sk->__sk_common.skc_family == AF_INET6)
		for (int i = 0; i < 4; i++) {
			local.address[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			remote.address[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	if (sk->__sk_common.skc_family == AF_INET || is_mapped(&remote)) {
		local = (struct end){.address = {0, 0, MAPPED, sk->__sk_common.skc_rcv_saddr}, .port = local.port};
		remote = (struct end){.address = {0, 0, MAPPED, sk->__sk_common.skc_daddr}, .port = remote.port};
	}
	channel = sends ? hash_end(hash_end(1, &local), &remote) : hash_end(hash_end(1, &remote), &local);
	if (!channel)
		channel = 1;
	/* A socket that accept returns has the backlog of its listener. */
	note_message(t, sk->sk_max_ack_backlog ? 0 : FLAG_CONNECTED, channel, sends ? LOAD(tcp, write_seq) : received(sk, tcp));
}

INLINE void unix_message(struct thread *t, struct sock *sk, u32 bytes, int sends)
{
	u32 n = sk->sk_type == SOCK_SEQPACKET ? 1 : bytes;
	struct unix_sock *own;
	struct sock *to = sk;
	struct inbox *box;
	u32 flags = FLAG_UNIX;

	/* The peer of a datagram socket can change under way, and several can send
	 * to one. */
	if (sk->sk_type != SOCK_STREAM && sk->sk_type != SOCK_SEQPACKET)
		return;
	own = bpf_skc_to_unix_sock(sk);
	if (!own)
		return;
	if (sends) {
		to = own->peer; /* which stays while the call holds the own socket */
		if (!to)
			return;
	}
	/* A socket that accept returns has the address of its listener. Those of a
	 * socketpair have none: whoever made it is no client. */
	if (!own->addr)
		flags |= FLAG_CONNECTED;
	box = bpf_sk_storage_get(&inboxes, to, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!box) {
		leave_untracked(UNTRACKED_MESSAGE);
		return;
	}
	if (unlikely(!box->channel))
		__sync_val_compare_and_swap(&box->channel, 0, __sync_fetch_and_add(&channels, 1) + 1);
	n += __sync_fetch_and_add(sends ? &box->sent : &box->received, n);
	note_message(t, flags, box->channel, n);
}

/* A socket has sent or received something, or failed to. */
INLINE void message(struct sock *sk, s32 bytes, int sends)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct processor *here;
	struct thread *t;
	u64 begun;
	u16 family;

	if (bytes <= 0)
		return;
	t = followed(task);
	if (!t)
		return;
	here = processor(bpf_get_smp_processor_id());
	begun = is_turn(&here->messages) ? bpf_ktime_get_ns() : 0;
	family = sk->__sk_common.skc_family;
	if (family == AF_UNIX && HAS((struct unix_sock *)0, peer))
		unix_message(t, sk, bytes, sends);
	else if ((family == AF_INET || family == AF_INET6) && sk->sk_protocol == IPPROTO_TCP)
		tcp_message(t, sk, sends);
	if (begun)
		add_sample(SAMPLE_MESSAGE, bpf_ktime_get_ns() - begun, 1);
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
