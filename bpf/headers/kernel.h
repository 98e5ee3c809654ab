/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Those fields of kernel structures that the recorder reads. Their offsets are
 * relocated at load against the BTF of the running kernel (CO-RE), so neither
 * order nor gaps matter here.
 */
#pragma once

#include "helpers.h"

#define PATH_MAX 4096      /* include/uapi/linux/limits.h, the NUL included */
#define XATTR_SIZE_MAX 65536 /* the same */
#define UIO_MAXIOV 1024    /* include/uapi/linux/uio.h */
#define AF_UNIX 1          /* include/linux/socket.h */
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1      /* include/linux/net.h */
#define SOCK_SEQPACKET 5
#define SOCK_DONE 1        /* include/net/sock.h: a bit of skc_flags; the peer has closed its end */
#define IPPROTO_TCP 6      /* include/uapi/linux/in.h */
#define UNIX_PATH_MAX 108  /* include/uapi/linux/un.h */
#define FMODE_CREATED 0x100000 /* include/linux/fs.h */

#define PF_EXITING 4    /* include/linux/sched.h */
#define PF_IO_WORKER 16 /* a thread of the kernel that works for a ring */
#define PF_KTHREAD 0x200000
#define SIGBUS 7        /* include/uapi/asm-generic/signal.h */
#define SIGSTOP 19
#define BUS_ADRERR 2    /* include/uapi/asm-generic/siginfo.h */
#define MM_FILEPAGES 0  /* include/linux/mm_types_task.h */
#define DUMPED_CORE 0x80 /* in task->exit_code */
#define MAX_PID_NS_LEVEL 32 /* include/linux/pid_namespace.h */

/* include/uapi/linux/magic.h and the file systems themselves */
enum magic {
	PROC_SUPER_MAGIC = 0x9fa0,
	SYSFS_MAGIC = 0x62656572,
	CGROUP_SUPER_MAGIC = 0x27e0eb,
	CGROUP2_SUPER_MAGIC = 0x63677270,
	DEBUGFS_MAGIC = 0x64626720,
	TRACEFS_MAGIC = 0x74726163,
	SECURITYFS_MAGIC = 0x73636673,
	SELINUX_MAGIC = 0xf97cff8c,
	BPF_FS_MAGIC = 0xcafe4a11,
	NSFS_MAGIC = 0x6e736673,
	ANON_INODE_FS_MAGIC = 0x09041934,
	PID_FS_MAGIC = 0x50494446,
	TMPFS_MAGIC = 0x01021994,
	HUGETLBFS_MAGIC = 0x958458f6,
	OVERLAYFS_MAGIC = 0x794c7630,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	u32 s_dev; /* major << 20 | minor */
	unsigned long s_magic;
};

struct xarray {
	void *xa_head;
};

struct xa_node {
	u8 shift;
	void *slots[64];
};

struct address_space {
	struct inode *host;
	struct xarray i_pages;
	unsigned long nrpages;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	u32 i_nlink;
	s64 i_size;
	u64 i_blocks; /* of 512 bytes */
	void *i_private;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	u32 f_mode;
	struct inode *f_inode;
	struct address_space *f_mapping;
	struct path f_path;
	void *private_data;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kernel_siginfo {
	s32 si_signo;
	s32 si_errno;
	s32 si_code;
	union {
		struct {
			void *_addr;
		} _sigfault;
	} _sifields;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct bpf_local_storage;

struct linux_binprm {
	const char *filename;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct ns_common {
	u32 inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	s32 nr;
	struct pid_namespace *ns;
};

struct pid {
	u32 level;
	struct upid numbers[1]; /* level + 1 of them, the innermost last */
};

/* A place where a pointer stands, for what the verifier must let be read. */
struct llist_node {
	struct llist_node *next;
};

struct task_io_accounting {
	u64 rchar;
	u64 wchar;
};

struct io_cqe {
	u64 user_data;
	s32 res;
};

struct io_uring {
	u32 head;
	u32 tail;
};

struct io_rings { /* that the application sees */
	struct io_uring sq, cq;
};

struct io_ring_ctx {
	u32 flags;
	u32 sq_entries;
	u32 cached_sq_head; /* entries taken, one that is being taken included */
	u32 *sq_array;
	struct io_uring_sqe *sq_sqes;
	struct io_rings *rings;
};

struct io_uring_task {
	struct file *registered_rings[16];
};

struct io_kiocb { /* a request of io_uring */
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

enum pageflags { PG_head = 6 }; /* relocated */

struct folio {
	unsigned long index; /* page of the file */
	u32 _nr_pages; /* of a folio with more than one; Linux 6.15 */
};

struct folio___old {
	u32 _folio_nr_pages; /* the same before */
};

struct percpu_counter {
	s64 count;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct percpu_counter rss_stat[4]; /* Linux 6.2 */
	struct uprobes_state uprobes_state;
};

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr; /* in the order of the network */
	u32 skc_rcv_saddr;
	u16 skc_dport; /* in the order of the network */
	u16 skc_num;
	u16 skc_family;
	unsigned long skc_flags;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	u32 sk_max_ack_backlog;
};

struct tcp_sock { /* begins with struct sock */
	u32 write_seq;
	u32 copied_seq;
	u32 rcv_nxt;
};

struct unix_sock {
	struct unix_address *addr; /* that it was bound to */
	struct sock *peer;
};

struct thread_info {
	unsigned long flags;
	u32 cpu;
#ifdef __TARGET_ARCH_x86
	u32 status;
#endif
};

struct signal_struct {
	s32 nr_threads;
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	u64 id;
	void *priv;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct list_head cgrp_links; /* one for each hierarchy */
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link; /* of the css_set */
};

struct task_struct {
	struct css_set *cgroups;
	struct thread_info thread_info;
	s32 pid;
	s32 tgid;
	s32 exit_code;
	u32 flags;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct files_struct *files;
	struct mm_struct *mm;
	struct io_uring_task *io_uring;
	struct signal_struct *signal;
	struct bpf_local_storage *bpf_storage;
	struct task_io_accounting ioac;
	unsigned in_iowait : 1;
	u32 __state;
};

#ifdef __TARGET_ARCH_x86
struct pt_regs {
	unsigned long orig_ax, di, si, dx, r10, r8, r9, cx, ax, sp;
};
#else
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 orig_x0;
	s32 syscallno;
};
#endif

#pragma clang attribute pop
