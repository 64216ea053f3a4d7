// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The user stack of the current task: walked by our tables, or copied for user space to walk.
 * Changes that uprobes have made to the thread are undone first.
 */
#include "unwind/unwind.h"

#include <bpf/bpf_core_read.h>

#include "regs.h"
#include "task.h"
#include "unwind/walk.h"

/* User space may have the start time from /proc/PID/stat, which is in ticks (proc/status.h). */
#define START_TICK_NS 10000000ULL

#define PAGE_BYTES         4096
#define TYPICAL_FRAMES_MAX ((ABI_SAMPLE_WORDS / 2 - ABI_KERNEL_FRAMES) / 2)

/*
 * Uprobes, ours and others', change a thread, and uprobed_restore undoes the changes. While a
 * thread executes a copy of the probed instruction, its pc is in the copy. Functions with a return
 * probe return to a trampoline.
 */
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
	u64 sp = w->returns[0].at + CALL_PUSHES;

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

/*
 * Appends the frames that the kernel wrote into the upper half, which is unused as long as there
 * are at most 127 frames.
 */
__noinline int unwind_push_frame_pointers(struct scratch *s, u64 nr)
{
	if (!s)
		return 0;
	u64 first = s->sample.nr_kernel;

	for (u32 i = 0; i < ABI_KERNEL_FRAMES; i++) {
		keep_as_written(i);
		if (i >= nr || first + 2 * i >= ABI_SAMPLE_WORDS / 2)
			break;
		stack_push(s, s->words[ABI_SAMPLE_WORDS / 2 + i], i ? 0 : USER_FRAME_LEAF);
	}
	return 0;
}

static __always_inline u32 walk_frame_pointers(void *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, &s->words[ABI_SAMPLE_WORDS / 2],
				   ABI_KERNEL_FRAMES * sizeof(u64), BPF_F_USER_STACK);

	if (bytes <= 0)
		return STAT_UNREADABLE;
	unwind_push_frame_pointers(s, bytes / sizeof(u64));
	return STAT_FRAME_POINTERS;
}

/* Copies the stack to its end, or as far as there is room. Returns the number of bytes. */
static __always_inline u64 copy_stack(u8 *out, u64 sp)
{
	u64 bytes = 0;

	for (u32 i = 0; i <= UNWALKED_STACK_BYTES / PAGE_BYTES; i++) {
		u64 left = PAGE_BYTES - (sp + bytes) % PAGE_BYTES;

		if (bytes + left > UNWALKED_STACK_BYTES ||
		    bpf_probe_read_user(out + (bytes & (UNWALKED_STACK_BYTES - 1)), left,
					(void *)(sp + bytes)))
			break;
		bytes += left;
	}
	return bytes;
}

/* Stack copies are large: while user space is slow they must not push out other samples. */
static __always_inline bool has_room_for_stack(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) <
	       bpf_ringbuf_query(&records, BPF_RB_RING_SIZE) / 4;
}

/*
 * Copies the stack. User space walks it once it knows the process's mappings. What happens to the
 * first samples of a program:
 *
 *	exec        user space gets the record of the exec, and begins to read /proc/PID/maps
 *	sample 1    no entry in unwind_procs: the stack is copied and kept by user space
 *	            the tables of the program and of libc are published
 *	sample 2    walked here
 *	dlopen      maps a library; user space learns it from the kernel's record of the mapping
 *	sample 3    its pc is in the library, which has no tables here yet: copied, too
 */
static __always_inline u32 keep_unwalked(void *ctx, struct scratch *s, struct task_struct *task)
{
	u64 first = s->sample.nr_kernel & (ABI_KERNEL_FRAMES | 1);
	struct unwalked *kept = (struct unwalked *)&s->words[first];
	struct user_frame leaf = { s->words[first], s->words[first + 1] };

	if (!s->sample.nr_user || leaf.info >> USER_FRAME_KIND_SHIFT < USER_FRAME_CLASS)
		leaf.info = 0;
	s->sample.nr_user = 0;
	regs_from_task(&s->walk.regs, (struct pt_regs *)bpf_task_pt_regs(task));
	uprobed_restore(&s->walk, task);
	u64 bytes = has_room_for_stack() ? copy_stack((u8 *)kept->stack, s->walk.regs.sp) : 0;
	if (bytes < sizeof(u64)) {
		if (leaf.info)
			stack_push(s, leaf.addr, leaf.info);
		return walk_frame_pointers(ctx, s);
	}
	__builtin_memcpy(kept->regs, &s->walk.regs, sizeof(kept->regs));
	kept->tls = task_tls(task);
	kept->start_stack = task_start_stack(task);
	kept->leaf = leaf;
	kept->stack_bytes = bytes;
	s->sample.kind = RECORD_UNWALKED;
	s->sample.nr_user =
		(sizeof(*kept) + bytes + sizeof(struct user_frame) - 1) / sizeof(struct user_frame);
	return STAT_UNWALKED;
}

/*
 * The number of unloaded classes, plus 1. It separates a Method on the stack from a later one at
 * the same address.
 */
static __always_inline u64 read_unloads(const struct walk *w)
{
	const struct hotspot_layout *jvm = walk_jvm(w);
	u64 nr;

	return jvm && jvm->unloads && !walk_read(&nr, sizeof(nr), jvm->unloads) ? nr + 1 : 0;
}

/* Starts the walk if the current process has tables; returns whether it has. */
static __always_inline bool begin_walk(struct scratch *s, struct task_struct *task)
{
	u32 pid = s->sample.task.pid;
	struct unwind_proc *proc = bpf_map_lookup_elem(&unwind_procs, &pid);

	/* Compare the start time in the copy: user space may replace the entry meanwhile. */
	if (!proc)
		return false;
	s->walk.proc = *proc;
	if (s->walk.proc.pid != pid ||
	    s->walk.proc.start_ns / START_TICK_NS != s->sample.task.start_ns / START_TICK_NS)
		return false;
	if (s->walk.proc.inherited_ns &&
	    s->sample.time_ns - s->walk.proc.inherited_ns > UNWIND_INHERITED_NS)
		return false;

	proc->used_ns = s->sample.time_ns;
	s->sample.unloads = read_unloads(&s->walk);
	s->walk.tls = task_tls(task);
	s->walk.start_stack = task_start_stack(task);
	regs_from_task(&s->walk.regs, (struct pt_regs *)bpf_task_pt_regs(task));
	uprobed_restore(&s->walk, task);
	return true;
}

static __always_inline u64 time_frame_pointers(void *ctx, struct scratch *s)
{
	u64 start = bpf_ktime_get_ns();

	bpf_get_stack(ctx, &s->words[ABI_SAMPLE_WORDS / 2], ABI_KERNEL_FRAMES * sizeof(u64),
		      BPF_F_USER_STACK);
	return bpf_ktime_get_ns() - start;
}

static __always_inline u32 walk(void *ctx, struct scratch *s, struct task_struct *task)
{
	u32 stop = begin_walk(s, task) ? unwind_walk(s) : STAT_UNWALKED;

	/* Copy the stack, because user space may know the library by the time it walks. */
	return stop == STAT_UNWALKED || stop == STAT_NO_MAPPING ? keep_unwalked(ctx, s, task)
								: stop;
}

/* Runs both walks, in alternating order: the second one finds the stack in the CPU's caches. */
static __always_inline u32 walk_and_measure(void *ctx, struct scratch *s, struct task_struct *task)
{
	u32 zero = 0;
	struct walk_cost *cost = bpf_map_lookup_elem(&costs, &zero);
	if (!cost)
		return walk(ctx, s, task);

	u64 by_fp_ns = cost->nr_walks & 1 ? 0 : time_frame_pointers(ctx, s);
	u64 start = bpf_ktime_get_ns();
	u32 stop = walk(ctx, s, task);
	u64 end = bpf_ktime_get_ns();
	/* Skip stacks that overlap the other walk's output area: they are not typical. */
	if (stop == STAT_FRAME_POINTERS || stop == STAT_UNWALKED ||
	    s->sample.nr_user > TYPICAL_FRAMES_MAX)
		return stop;
	cost->frame_pointers_ns += by_fp_ns ?: time_frame_pointers(ctx, s);
	cost->walk_ns += end - start;
	cost->nr_frames += s->sample.nr_user;
	cost->nr_walks++;
	return stop;
}

__hidden u32 unwind_user(void *ctx, struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task_is_kernel(task) || task_is_replaced(task))
		return STAT_NO_USER;
	if (knobs.kernel_only)
		return STAT_KERNEL_ONLY;
	u32 stop = knobs.measure ? walk_and_measure(ctx, s, task) : walk(ctx, s, task);
	return stop == STAT_UNREADABLE && task_is_ending(task) ? STAT_NO_USER : stop;
}
