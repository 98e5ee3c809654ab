/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The few helpers of the kernel that the recorder calls, by their numbers in
 * include/uapi/linux/bpf.h, and what it takes to define maps and programs.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short s16;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NULL ((void *)0)

#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Makes n, a u64, at most max. If the compiler keeps n in memory, it can compare one copy
 * and use another one, and the verifier of Linux 6.1 then knows no bound of that: here both
 * are one register. */
#define BOUND(n, max) asm volatile("if %0 <= %1 goto +1\n\t%0 = %1" : "+r"(n) : "i"(max))

/* Reads a field of a kernel structure through a pointer the verifier does not
 * trust; zero if that fails. The offset is relocated at load. */
#define FIELD(ptr, field)                                                                                              \
	({                                                                                                             \
		typeof((ptr)->field) v_ = {};                                                                          \
		bpf_probe_read_kernel(&v_, sizeof(v_), __builtin_preserve_access_index(&(ptr)->field));                \
		v_;                                                                                                    \
	})

/* Reads a bit field of a kernel structure that the verifier trusts. Which bits
 * it has is relocated at load. */
#define BITS(ptr, field)                                                                                               \
	({                                                                                                             \
		const void *p_ = (const void *)(ptr) + __builtin_preserve_field_info((ptr)->field, 0 /* BYTE_OFFSET */); \
		u64 v_ = 0;                                                                                            \
		switch (__builtin_preserve_field_info((ptr)->field, 1 /* BYTE_SIZE */)) {                               \
		case 1: v_ = *(const u8 *)p_; break;                                                                   \
		case 2: v_ = *(const u16 *)p_; break;                                                                  \
		case 4: v_ = *(const u32 *)p_; break;                                                                  \
		case 8: v_ = *(const u64 *)p_; break;                                                                  \
		}                                                                                                      \
		v_ <<= __builtin_preserve_field_info((ptr)->field, 4 /* LSHIFT_U64 */);                                 \
		v_ >> __builtin_preserve_field_info((ptr)->field, 5 /* RSHIFT_U64 */);                                  \
	})

/* Reports whether the kernel's structure has a field. */
#define HAS(ptr, field) __builtin_preserve_field_info((ptr)->field, 2 /* EXISTS */)

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

struct task_struct;
struct seq_file;
struct sock;
struct unix_sock;

/* Makes a pointer to a kernel structure of any value, for reading only; a bad
 * one reads as zero. Unlike a helper it costs nothing. Linux 6.2, so it may
 * only stand behind a constant that says that the kernel has it. */
extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __attribute__((section(".ksyms"), weak));
#define CAST(ptr, type) ((type *)bpf_rdonly_cast((ptr), __builtin_btf_type_id(*(type *)0, 1)))

/* Reports whether a program at both ends of a function runs at its return. Linux 6.13,
 * so it may only stand in a program that is loaded where the kernel has it. */
extern u8 bpf_session_is_return(void) __attribute__((section(".ksyms"), weak));

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_user)(void *dst, u32 size, const void *src) = (void *)112;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static long (*const bpf_probe_read_user_str)(void *dst, u32 size, const void *src) = (void *)114;
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, const void *src) = (void *)115;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static void *(*const bpf_sk_storage_get)(void *map, struct sock *sk, void *init, u64 flags) = (void *)107;
static long (*const bpf_seq_write)(struct seq_file *seq, const void *data, u32 size) = (void *)127;
static long (*const bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *data, u64 flags) = (void *)133;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *init, u64 flags) = (void *)156;
static long (*const bpf_task_storage_delete)(void *map, struct task_struct *task) = (void *)157;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static long (*const bpf_send_signal)(u32 sig) = (void *)109;
static u64 (*const bpf_get_attach_cookie)(void *ctx) = (void *)174;
static long (*const bpf_task_pt_regs)(struct task_struct *task) = (void *)175;
static struct unix_sock *(*const bpf_skc_to_unix_sock)(struct sock *sk) = (void *)178;
static long (*const bpf_find_vma)(struct task_struct *task, u64 addr, void *callback, void *context, u64 flags) = (void *)180;

/* Calls a function up to n times, with the number of each call; a result of 1 ends that. The
 * verifier looks at the function once, and not at each round as with a loop. Linux 5.17. */
static long (*const bpf_loop)(u32 n, long (*callback)(u64 i, void *context), void *context, u64 flags) = (void *)181;
