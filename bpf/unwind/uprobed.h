/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Undoes the changes that uprobes, ours and others', make to a thread. While it executes a copy of
 * the probed instruction, its pc is in the copy. Functions with a return probe return to a
 * trampoline.
 */
#pragma once

#include "unwind/walk.h"

#include <bpf/bpf_core_read.h>

#define INSTRUCTION_BYTES_MAX 15
#define TRAMPOLINE_BYTES      128 /* the first slot in the page of copies */
#define TRAMPOLINE_PUSHED     24

/* The kernel's types (include/linux/uprobes.h). CO-RE finds them by name. */
struct return_instance___uprobed {
	unsigned long stack; /* address of the return address */
	unsigned long orig_ret_vaddr;
	struct return_instance___uprobed *next;
} __attribute__((preserve_access_index));

struct uprobe_task___uprobed {
	struct return_instance___uprobed *return_instances; /* innermost first */
	unsigned long vaddr;
	void *active_uprobe;
	unsigned long xol_vaddr; /* address of the copy while a uprobe is active */
} __attribute__((preserve_access_index));

struct xol_area___uprobed {
	unsigned long vaddr; /* the page of copies */
} __attribute__((preserve_access_index));

struct uprobes_state___uprobed {
	struct xol_area___uprobed *xol_area;
} __attribute__((preserve_access_index));

struct mm_struct___uprobed {
	struct uprobes_state___uprobed uprobes_state;
} __attribute__((preserve_access_index));

struct task_struct___uprobed {
	struct mm_struct___uprobed *mm;
	struct uprobe_task___uprobed *utask;
} __attribute__((preserve_access_index));

static __always_inline void uprobed_returns(struct walk *w, struct uprobe_task___uprobed *utask)
{
	struct return_instance___uprobed *r = BPF_CORE_READ(utask, return_instances);

	for (u32 i = 0; i < WALK_RETURNS && r; i++) {
		w->returns[i].at = BPF_CORE_READ(r, stack);
		w->returns[i].pc = BPF_CORE_READ(r, orig_ret_vaddr);
		w->nr_returns = i + 1;
		r = BPF_CORE_READ(r, next);
	}
}

/* In the trampoline the function has already returned, except for a few pushed words. */
static __always_inline void uprobed_leave_trampoline(struct walk *w,
						     struct task_struct___uprobed *task)
{
	u64 page = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	u64 sp = w->returns[0].at + 8;

	if (!w->nr_returns || !page || w->regs.pc - page >= TRAMPOLINE_BYTES ||
	    sp - w->regs.sp > TRAMPOLINE_PUSHED)
		return;
	w->regs.pc = w->returns[0].pc;
	w->regs.sp = sp;
}

/* Restores the registers and gives the walk the true return addresses. */
static __always_inline void uprobed_restore(struct walk *w, struct task_struct *task)
{
	struct task_struct___uprobed *t = (struct task_struct___uprobed *)task;

	w->nr_returns = 0;
	if (!bpf_core_field_exists(t->utask))
		return;
	struct uprobe_task___uprobed *utask = BPF_CORE_READ(t, utask);
	if (!utask)
		return;
	u64 into = w->regs.pc - BPF_CORE_READ(utask, xol_vaddr);
	if (BPF_CORE_READ(utask, active_uprobe) && into <= INSTRUCTION_BYTES_MAX)
		w->regs.pc = BPF_CORE_READ(utask, vaddr) + into;
	uprobed_returns(w, utask);
	uprobed_leave_trampoline(w, t);
}
