/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Page faults that map a huge page of a file.
 */
#pragma once

#include "faults.h"

/* Reports whether a mapping has room for a huge page at an address, where one of the file
 * begins as well. */
INLINE int fits_huge(const struct vm_area_struct *vma, u64 huge)
{
	return huge >= vma->vm_start && huge + HUGE_PAGES * page_bytes <= vma->vm_end &&
	       !((vma->vm_start / page_bytes - vma->vm_pgoff) & (HUGE_PAGES - 1));
}

/* What a fault maps as one huge page. If none fits, something else has increased the count. */
static long map_huge_page(struct task_struct *task, struct vm_area_struct *vma, u64 *address)
{
	u64 huge = *address & ~(HUGE_PAGES * page_bytes - 1);
	struct file *file = vma->vm_file;
	struct thread *t = followed(task);
	struct inode *inode;

	if (!file || !t || !fits_huge(vma, huge))
		return 0;
	inode = host_of(file);
	if (!mapped_file(inode) || !notes_faults(t))
		return 0;
	begin_fault(t, task, FAULT_AROUND, (u64)LOAD(file, f_mapping), id_of(inode), vma->vm_pgoff + (huge - vma->vm_start) / page_bytes,
		    HUGE_PAGES);
	return 0;
}

/* Where a huge page fits, a fault can map one. Only the counter of mapped pages
 * shows it. These programs are attached when there is such a mapping: they
 * run at faults on anonymous memory, too. The first of them to see an address space notes
 * its counter: what it has grown by before is no huge page. */
INLINE int keep_address(u64 address)
{
	struct task_struct *task;
	struct thread *t;

	if (!watching)
		return 0;
	task = bpf_get_current_task_btf();
	t = followed(task);
	if (t) {
		if (!t->addressed)
			begin_growth(task->mm);
		t->address = address;
		t->addressed = ended_faults(task);
	}
	return 0;
}

SEC("tp_btf/page_fault_user")
int fault_user(u64 *ctx) { return keep_address(ctx[0]); }

SEC("tp_btf/page_fault_kernel")
int fault_kernel(u64 *ctx) { return keep_address(ctx[0]); }

SEC("tp_btf/rss_stat")
int map_huge(u64 *ctx)
{
	struct task_struct *task;
	struct thread *t;
	u64 found = 0;

	if ((u32)ctx[1] != MM_FILEPAGES || !watching)
		return 0;
	task = bpf_get_current_task_btf();
	t = followed(task);
	if (!t || grown((void *)ctx[0]) < HUGE_PAGES / 2 || t->counting)
		return 0; /* of a call, all counts that it maps */
	if (t->addressed != ended_faults(task)) {
		/* No fault, but a call maps it, such as madvise, or O_DIRECT from there. It is
		 * part of the call if that is recorded, and the address is unknown. */
		found = t->start != 0;
	} else if (with_maps) {
		found = t->address;
		bpf_find_vma(task, found, map_huge_page, &found, 0);
		return 0;
	} else {
		bpf_find_vma(task, t->address, count_huge, &found, 0);
	}
	if (!found) { /* another thread changes the address space, or the call is not recorded */
		add(&missing[MISSING_MAPPED].calls, 1);
		add(&missing[MISSING_MAPPED].bytes, HUGE_PAGES * page_bytes);
	}
	return 0;
}
