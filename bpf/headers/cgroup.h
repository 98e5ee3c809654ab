/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The cgroup that is recorded, of either version and any hierarchy. A thread is followed
 * while it is in the cgroup: from when it enters until it
 * leaves.
 */
#pragma once

#include "send.h"

#define MAX_HIERARCHIES 32
#define MAX_CGROUP_LEVEL 64

/* The cgroup, set by find_cgroup: its hierarchy, and its number there, which no
 * other cgroup ever has. */
u64 cgroup_root;
u64 cgroup_id;

u64 moved; /* processes with several threads that have entered or left */

/* The argument of find_cgroup. */
struct cgroup_path {
	s32 fd; /* of the directory */
};

/* A thread, and whether it is in the cgroup. */
struct membership {
	u64 task;
	u32 is;
	u32 pad;
};

/* Finds the cgroup of a task in the hierarchy, NULL if it has none. */
INLINE struct cgroup *cgroup_of(struct task_struct *task)
{
	struct css_set *set = FIELD(task, cgroups);
	struct list_head *head = __builtin_preserve_access_index(&set->cgrp_links), *at = FIELD(head, next);

	for (u32 i = 0; i < MAX_HIERARCHIES && at != head; i++) {
		struct cgrp_cset_link *link =
			(void *)at - __builtin_preserve_field_info(((struct cgrp_cset_link *)0)->cgrp_link, 0 /* BYTE_OFFSET */);
		struct cgroup *cgroup = FIELD(link, cgrp);

		if ((u64)FIELD(cgroup, root) == cgroup_root)
			return cgroup;
		at = FIELD(at, next);
	}
	return NULL;
}

/* Fills in a membership. A function of its own, so that the verifier checks it only
 * once. */
__attribute__((noinline)) int find_membership(struct membership *m)
{
	struct cgroup_subsys_state *css;
	struct cgroup *cgroup;

	if (!m)
		return 0; /* never, but the verifier cannot know */
	cgroup = cgroup_of((void *)m->task);
	for (u32 level = 0; level < MAX_CGROUP_LEVEL && cgroup; level++) {
		struct kernfs_node *node = FIELD(cgroup, kn);

		if (FIELD(node, id) == cgroup_id) {
			m->is = 1;
			return 0;
		}
		css = __builtin_preserve_access_index(&cgroup->self);
		css = FIELD(css, parent);
		cgroup = css ? FIELD(css, cgroup) : NULL;
	}
	return 0;
}

/* Reports whether a thread belongs to the recording of a cgroup. */
INLINE int in_cgroup(struct task_struct *task)
{
	struct membership m = {.task = (u64)task};

	if (task->tgid == recorder || task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	find_membership(&m);
	return m.is;
}

/* Sends that a process is in the cgroup now. */
INLINE void tell_joined(struct task_struct *task)
{
	struct joined *j = reserve(NR_JOINED, sizeof(*j));

	if (!j)
		return;
	__builtin_memset(j, 0, sizeof(*j));
	j->start = bpf_ktime_get_ns();
	j->space = with_maps ? (u64)task->mm : 0;
	j->parent = name_of(task->real_parent->group_leader).tid;
	j->tid = name_of(task).tid;
	j->nr = NR_JOINED;
	bpf_ringbuf_submit(j, BPF_RB_NO_WAKEUP);
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
