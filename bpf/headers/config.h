/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What is set before the program is loaded.
 */
#pragma once

#include "layout.h"

const volatile struct plan plans[MAX_SYS];
const volatile u32 ioctls[MAX_IOCTLS]; /* the requests that are recorded; 0 ends them */
const volatile u32 pidns;              /* the recorder's PID namespace, by inode */
const volatile u8 can_cast;            /* the kernel has bpf_rdonly_cast */
const volatile u8 with_type;           /* note the type of the descriptor; only if can_cast */
const volatile u8 with_faults;         /* note page faults */
const volatile u8 with_off;            /* note the time off the processor */
const volatile struct wait waits[MAX_SYS];
const volatile u8 with_memory;         /* send operations on memory */
const volatile u8 with_flight;         /* the requests that are under way are known */
const volatile u8 with_requests;       /* send requests of io_uring: the kernel shows them */
const volatile struct request_plan requests[MAX_OPCODES];
const volatile u8 with_maps;           /* send faults on mapped files, and the calls that map them */
const volatile u8 with_libraries;      /* wake the recorder when a library is mapped; only if with_maps */
const volatile u8 with_globals;        /* wake the recorder after a thread's first call of a library, when that is initialised */
const volatile u8 by_cgroup;           /* a cgroup is recorded: cgroup.h */
const volatile u32 page_bytes;

/* Reads a field of a kernel structure, as FIELD does and as cheaply as the
 * kernel can. */
#define LOAD(ptr, field) (can_cast ? CAST(ptr, typeof(*(ptr)))->field : FIELD(ptr, field))
