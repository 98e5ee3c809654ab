/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Reads memory of the application or of the kernel into a record.
 */
#pragma once

#include "arch.h"
#include "config.h"

/* The room of a record that is put together in the ring: enough for most names. */
#define NAME_BYTES 64

#define DATA_BYTES (UIO_MAXIOV * sizeof(struct iovec))

/* A rich record while it is put together. */
struct scratch {
	struct event event;
	struct details details;
	u8 data[DATA_BYTES]; /* strings; before that, segments of a vector */
};

/* Reads a string of the application to data[at] and returns where it ends. */
INLINE u32 read_string(u8 *data, u32 at, u64 ptr, u16 *len, enum string_state *state)
{
	long n;

	*len = 0;
	*state = STRING_NULL;
	if (!ptr)
		return at;
	/* One byte more than a path can have, to tell a long one from a cut one. */
	n = bpf_probe_read_user_str(data + at, PATH_MAX + 1, (void *)ptr);
	if (n <= 0) {
		*state = STRING_UNREADABLE;
		return at;
	}
	*state = n > PATH_MAX ? STRING_CUT : STRING_WHOLE;
	n = (n - 1) & 0x1fff;
	*len = n;
	return at + n;
}

/* Reads a string of the application to data; reports false for one that may not
 * be whole, since it and its end fill all NAME_BYTES. */
INLINE int read_name(struct scratch *s, u64 ptr)
{
	long n;

	if (!ptr)
		return 1; /* STRING_NULL */
	n = bpf_probe_read_user_str(s->data, NAME_BYTES, (void *)ptr);
	if (n == NAME_BYTES)
		return 0;
	s->details.state[0] = n > 0 ? STRING_WHOLE : STRING_UNREADABLE;
	s->details.len[0] = n > 0 ? n - 1 : 0;
	return 1;
}

/* Reads the n bytes of a readlink. */
INLINE u32 read_target(struct scratch *s, u32 at, u64 n, u64 ptr)
{
	BOUND(n, PATH_MAX);
	if (bpf_probe_read_user(s->data + at, n, (void *)ptr))
		return at;
	s->details.len[1] = n;
	s->details.state[1] = STRING_WHOLE;
	s->event.flags |= FLAG_TARGET;
	return at + n;
}

/* Reports whether an address, at ptr, is that of a UNIX socket with a path: not
 * an abstract name, nor one that the kernel is to choose. */
INLINE int has_path(u64 ptr, u32 len)
{
	struct {
		u16 family;
		u8 path[2];
	} start = {};

	return len > sizeof(start.family) && len <= sizeof(start.family) + UNIX_PATH_MAX &&
	       !bpf_probe_read_user(&start, sizeof(start.family) + 1, (void *)ptr) && start.family == AF_UNIX && start.path[0];
}

/* Reads the path of such an address to data and returns where it ends: at a zero
 * byte, or with the address. */
INLINE u32 read_address(struct scratch *s, u64 ptr, u32 len)
{
	u32 room = (len - sizeof(u16)) & 0x7f;
	long n = bpf_probe_read_user_str(s->data, room + 1, (void *)ptr + sizeof(u16));

	s->details.state[0] = n > 0 ? STRING_WHOLE : STRING_UNREADABLE;
	n = n > 0 ? (n - 1) & 0x7f : 0;
	s->details.len[0] = n;
	return n;
}

/* Returns the file behind a descriptor, NULL if there is none. Another thread
 * may close it meanwhile; what is read then is old or odd, but never unsafe. */
INLINE struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *fdt = task->files->fdt;

	return fd < fdt->max_fds ? (void *)LOAD((struct llist_node *)(fdt->fd + fd), next) : NULL;
}

INLINE struct inode *inode_of(struct task_struct *task, u64 fd)
{
	struct file *file = file_of(task, fd);

	return file ? LOAD(file, f_inode) : NULL;
}

/* Describes a file. */
INLINE void describe_inode(struct details *d, struct inode *inode)
{
	struct address_space *mapping = LOAD(inode, i_mapping);
	struct super_block *sb = LOAD(inode, i_sb);

	d->mode = LOAD(inode, i_mode);
	d->size = LOAD(inode, i_size);
	d->blocks = LOAD(inode, i_blocks);
	d->ino = LOAD(inode, i_ino);
	d->nlink = LOAD(inode, i_nlink);
	d->dev = LOAD(sb, s_dev);
	d->cached = LOAD(mapping, nrpages);
}

/* Describes the file behind a descriptor; reports whether there is one. */
INLINE int describe(struct details *d, struct task_struct *task, u64 fd)
{
	struct file *file = file_of(task, fd);
	struct inode *inode = file ? LOAD(file, f_inode) : NULL;

	if (!inode)
		return 0;
	describe_inode(d, inode);
	d->created = !!(LOAD(file, f_mode) & FMODE_CREATED);
	return 1;
}

INLINE void read_file(struct scratch *s, struct task_struct *task, u64 fd)
{
	if (describe(&s->details, task, fd))
		s->event.flags |= FLAG_STAT | FLAG_FILE;
}

/* What is read of the two structs at once: a helper costs more than the bytes
 * between. */
struct stat_part {
	u32 mode;
	u8 between[STAT_SIZE - STAT_MODE - sizeof(u32)];
	u64 size;
} __attribute__((packed));

struct statx_part {
	u16 mode;
	u8 between[STATX_SIZE - STATX_MODE - sizeof(u16)];
	u64 size;
} __attribute__((packed));

INLINE void read_stat(struct scratch *s, u64 ptr)
{
	struct stat_part part;

	if (bpf_probe_read_user(&part, sizeof(part), (void *)ptr + STAT_MODE))
		return;
	s->details.mode = part.mode;
	s->details.size = part.size;
	s->event.flags |= FLAG_STAT;
}

INLINE void read_statx(struct scratch *s, u64 ptr)
{
	struct statx_part part;

	if (bpf_probe_read_user(&part, sizeof(part), (void *)ptr + STATX_MODE))
		return;
	s->details.mode = part.mode;
	s->details.size = part.size;
	s->event.flags |= FLAG_STAT;
}

/* Segments of a vector, whose lengths are added. */
struct segments {
	const struct iovec *v;
	u64 sum;
};

static long add_segment(u64 i, void *context)
{
	struct segments *s = context;

	if (i >= UIO_MAXIOV)
		return 1; /* never, but the verifier cannot know */
	s->sum += s->v[i].len;
	return 0;
}

/* Returns the bytes that n segments ask for, as far as a call can take them. They are read to v,
 * which has room for UIO_MAXIOV. Sets FLAG_UNREADABLE if that fails. */
INLINE u64 sum_iovec(struct iovec *v, u64 ptr, u64 n, u16 *flags)
{
	struct segments s = {.v = v};

	if (n > UIO_MAXIOV)
		return 0;
	BOUND(n, UIO_MAXIOV);
	if (bpf_probe_read_user(v, n * sizeof(*v), (void *)ptr)) {
		*flags |= FLAG_UNREADABLE;
		return 0;
	}
	bpf_loop(n, add_segment, &s, 0);
	return s.sum;
}

INLINE void read_open_how(struct event *e)
{
	struct open_how how = {};

	/* Older and newer callers give other sizes; the common part is a prefix. */
	if (bpf_probe_read_user(&how, sizeof(how), (void *)e->args[2]))
		e->flags |= FLAG_UNREADABLE;
	e->args[2] = how.flags;
	e->args[3] = how.mode;
	e->args[4] = how.resolve;
}

INLINE void read_clone_args(struct event *e)
{
	struct clone_args args = {};

	if (bpf_probe_read_user(&args, sizeof(args), (void *)e->args[0]))
		e->flags |= FLAG_UNREADABLE;
	e->args[0] = args.flags | args.exit_signal; /* one word, as clone has it */
}

INLINE void read_pipe(struct event *e)
{
	u64 fds = 0;

	if (e->ret == 0 && bpf_probe_read_user(&fds, sizeof(fds), (void *)e->args[0]))
		e->flags |= FLAG_UNREADABLE;
	e->args[0] = fds;
}

/* Replaces the pointers to offsets, a bit for each in which, by the offsets
 * before the call. A call that moved bytes has moved the offsets with them. */
INLINE void read_offsets(struct event *e, u32 which)
{
	for (u32 i = 1; i < 4; i++) {
		u64 offset = 0, ptr = e->args[i];

		if (!(which & 1 << i))
			continue;
		if (!ptr)
			offset = -1;
		else if (bpf_probe_read_user(&offset, sizeof(offset), (void *)ptr))
			e->flags |= FLAG_UNREADABLE;
		else if (e->ret > 0)
			offset -= e->ret;
		e->args[i] = offset;
	}
}

/* The structs of ioctl hold a range, and a descriptor or where the range begins. */
INLINE void read_ioctl(struct event *e)
{
	struct file_clone_range clone = {};
	struct file_dedupe_range dedupe = {};
	struct space_resv space = {};
	u32 request = e->args[1];

	e->args[3] = e->args[4] = e->args[5] = 0;
	if (request == FICLONERANGE) {
		if (bpf_probe_read_user(&clone, sizeof(clone), (void *)e->args[2])) {
			e->flags |= FLAG_UNREADABLE;
			return;
		}
		e->args[2] = (s32)clone.src_fd;
		e->args[3] = clone.src_offset;
		e->args[4] = clone.src_length;
		e->args[5] = clone.dest_offset;
	} else if (request == FIDEDUPERANGE) {
		if (bpf_probe_read_user(&dedupe, sizeof(dedupe), (void *)e->args[2])) {
			e->flags |= FLAG_UNREADABLE;
			return;
		}
		e->args[2] = (s32)dedupe.dest_fd;
		e->args[3] = dedupe.src_offset;
		e->args[4] = dedupe.src_length;
		e->args[5] = dedupe.dest_offset;
	} else if (request == FS_IOC_RESVSP64 || request == FS_IOC_UNRESVSP64 || request == FS_IOC_ZERO_RANGE) {
		if (bpf_probe_read_user(&space, sizeof(space), (void *)e->args[2])) {
			e->flags |= FLAG_UNREADABLE;
			return;
		}
		e->args[2] = space.whence;
		e->args[3] = space.start;
		e->args[4] = space.len;
	}
}

INLINE void read_attr_args(struct event *e)
{
	struct xattr_args args = {};

	if (bpf_probe_read_user(&args, sizeof(args), (void *)e->args[4]))
		e->flags |= FLAG_UNREADABLE;
	e->args[4] = args.size;
	e->args[5] = args.flags;
}

/* Replaces argument 5 of a call that sets an extended attribute by the mode that an
 * access list gives the file. Its entries are in order: that of the owner is first, those
 * of the mask, or else of the group, and of all others are last. */
INLINE void read_access_list(struct event *e)
{
	u64 name = e->args[1], value = e->args[2], size = e->args[3];
	char asked[sizeof(ACCESS_LIST)] = {};
	struct acl_entry first, last[2];

	e->args[5] = 0;
	if (size < sizeof(u32) + 3 * sizeof(first) || size > XATTR_SIZE_MAX)
		return;
	if (bpf_probe_read_user(asked, sizeof(asked), (void *)name) || __builtin_memcmp(asked, ACCESS_LIST, sizeof(asked)))
		return;
	if (bpf_probe_read_user(&first, sizeof(first), (void *)value + sizeof(u32)) ||
	    bpf_probe_read_user(last, sizeof(last), (void *)value + size - sizeof(last))) {
		e->flags |= FLAG_UNREADABLE;
		return;
	}
	e->args[5] = GIVES_MODE | (first.perm & 7) << 6 | (last[0].perm & 7) << 3 | (last[1].perm & 7);
}

/* Reports whether a file system shows data of the kernel, and stores none. */
INLINE int is_pseudo(u64 magic)
{
	switch (magic) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case SELINUX_MAGIC:
	case BPF_FS_MAGIC:
	case NSFS_MAGIC:
	case ANON_INODE_FS_MAGIC:
	case PID_FS_MAGIC:
		return 1;
	}
	return 0;
}

/* Returns the type of a file as in a mode, TYPE_PSEUDO for one of a pseudo file
 * system. Those have no device, like others that are in memory or on a network.
 * The inode that eventfds and their like share has no type. */
INLINE u32 type_of(struct inode *inode)
{
	u32 type = LOAD(inode, i_mode) >> TYPE_SHIFT;
	struct super_block *sb;

	if (likely(type == TYPE_FILE)) {
		sb = LOAD(inode, i_sb);
		if (LOAD(sb, s_dev) >> 20 == 0 && is_pseudo(LOAD(sb, s_magic)))
			return TYPE_PSEUDO;
		return type;
	}
	return type ? type : TYPE_PSEUDO;
}

/* Returns the type of the file behind a descriptor; 0 if there is none. Where
 * the kernel has bpf_rdonly_cast it takes a handful of loads and no helper. */
INLINE u32 read_type(struct task_struct *task, u32 fd)
{
	struct inode *inode = inode_of(task, fd);

	return inode ? type_of(inode) : 0;
}
