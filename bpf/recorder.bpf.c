//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The recorder's part in the kernel. It keeps a little storage for each thread
 * that is followed, notes there when a system call began, and when the call
 * ends sends a record of it through a ring buffer. It wakes no reader: the
 * reader polls. Children of followed threads are followed from their start.
 *
 * Strings are read when the call ends, for then the kernel itself has just
 * read them and they are in memory. This program must never wait for a page.
 */
#include "headers/calls.h"
#include "headers/processes.h"
#include "headers/waits.h"
#include "headers/message.h"
#include "headers/request.h"
#include "headers/batch.h"
#include "headers/faults.h"
#include "headers/huge.h"
#include "headers/span.h"
#include "headers/cgroup.h"

/* "GPL" opens the helpers that read memory. */
char LICENSE[] SEC("license") = "GPL";
