// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Native memory: uprobes on the functions of allocators, sampled by bytes (sampling.h). Allocator
 * functions call each other: calloc calls malloc, malloc calls mmap. Only the outermost call
 * counts.
 *
 * Without return probes, a call is outermost if its return address lies outside the allocator's
 * functions. realloc(NULL) ends in a jump to malloc; such a jump has the same place, stack pointer
 * and size as the previous call. With leaks every call has a return probe, and a thread's outermost
 * call is stored until it returns.
 *
 * mmap also reports the stacks that libc maps for threads, and the address at which the caller
 * wants the memory. User space looks it up in the JVM's regions.
 */
#include "unwind/unwind.h"

#include "events/live_allocs.h"
#include "sampling.h"
#include "target.h"
#include "thread.h"
#include "window.h"

/* include/uapi/asm-generic/mman-common.h, mman.h */
#define MAP_FIXED     0x10
#define MAP_ANONYMOUS 0x20
#define MAP_STACK     0x20000
#define PROT_WRITE    0x2

/* Larger calls fail: the size exceeds the address space. */
#define SIZE_MAX_BYTES (1ull << 47)

static __always_inline struct memory_file *file_of(u64 cookie)
{
	u32 key = MEMORY_COOKIE_FILE(cookie);

	return bpf_map_lookup_elem(&memory_files, &key);
}

/*
 * The offset of `addr` in the file. The cookie names the probed function, whose offset and address
 * are known.
 */
static __always_inline u64 file_offset(struct pt_regs *ctx, u64 cookie,
				       const struct memory_file *file, u64 addr)
{
	return addr - PT_REGS_IP(ctx) + file->functions[MEMORY_COOKIE_FUNCTION(cookie)].start;
}

/* glibc marks stacks by a flag. musl does not, but calls mmap from pthread_create. */
static __always_inline bool is_thread_stack(struct pt_regs *ctx, u64 cookie)
{
	struct memory_file *file = file_of(cookie);
	u64 caller = 0;

	if (PT_REGS_PARM4(ctx) & MAP_STACK)
		return true;
	if (!file || !file->threads_end)
		return false;
	thread_return_address(ctx, PT_REGS_SP(ctx), &caller);
	u64 off = file_offset(ctx, cookie, file, caller);
	return off - file->threads_start < file->threads_end - file->threads_start;
}

/* See struct sample. */
static __always_inline u64 mapped_of(struct pt_regs *ctx, u64 cookie)
{
	if (MEMORY_COOKIE_CALL(cookie) != MEMORY_MMAP || !(PT_REGS_PARM4(ctx) & MAP_ANONYMOUS))
		return 0;
	if (is_thread_stack(ctx, cookie))
		return MAPPED_STACK;
	u64 addr = PT_REGS_PARM1(ctx);
	keep_as_written(addr); /* a pointer into ctx that depends on the flag is rejected */
	return PT_REGS_PARM4(ctx) & MAP_FIXED ? addr : 0;
}

static __always_inline u64 asked_for(struct pt_regs *ctx, u32 call, u64 mapped)
{
	switch (call) {
	case MEMORY_MALLOC:
	case MEMORY_NEW:
	case MEMORY_NEW_NOTHROW:
		return PT_REGS_PARM1(ctx);
	case MEMORY_CALLOC:
		if (PT_REGS_PARM2(ctx) && PT_REGS_PARM1(ctx) > SIZE_MAX_BYTES / PT_REGS_PARM2(ctx))
			return 0;
		return PT_REGS_PARM1(ctx) * PT_REGS_PARM2(ctx);
	case MEMORY_REALLOC:
	case MEMORY_ALIGNED:
		return PT_REGS_PARM2(ctx);
	case MEMORY_POSIX_MEMALIGN:
		return PT_REGS_PARM3(ctx);
	case MEMORY_MMAP: /* reserved address space is not memory yet, except for stacks */
		if (mapped == MAPPED_STACK)
			return PT_REGS_PARM2(ctx);
		return PT_REGS_PARM3(ctx) & PROT_WRITE && PT_REGS_PARM4(ctx) & MAP_ANONYMOUS
			       ? PT_REGS_PARM2(ctx)
			       : 0;
	}
	return 0;
}

static __always_inline u64 size_of(struct pt_regs *ctx, u32 call, u64 mapped)
{
	u64 size = asked_for(ctx, call, mapped);

	return size < SIZE_MAX_BYTES ? size : 0;
}

/* Whether `addr` lies in a function of the same allocator. */
static __always_inline bool is_own(struct pt_regs *ctx, u64 cookie, u64 addr)
{
	struct memory_file *file = file_of(cookie);

	if (!file)
		return false;
	u64 off = file_offset(ctx, cookie, file, addr);
	if (MEMORY_COOKIE_CALL(cookie) == MEMORY_MMAP)
		return off - file->code_start < file->code_end - file->code_start;
	for (u32 i = 0; i < MEMORY_FUNCTIONS && i < file->nr; i++)
		if (off - file->functions[i].start <
		    file->functions[i].end - file->functions[i].start)
			return true;
	return false;
}

static __always_inline struct memory_call *call_of_thread(bool make)
{
	return bpf_task_storage_get(&memory_calls, bpf_get_current_task_btf(), NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/*
 * Whether `now` is no call of the program, but a jump from the allocator function that the thread
 * called before: stack pointer, size and return address are the same, the function is another one.
 * If not, and if `now` may itself jump on, stores it for the next call.
 */
static __always_inline bool is_jump(u64 cookie, const struct memory_call *now)
{
	bool may_jump = MEMORY_COOKIE_CALL(cookie) != MEMORY_MALLOC;
	struct memory_call *last = call_of_thread(may_jump);

	if (!last)
		return false;
	if (last->sp == now->sp && last->size == now->size &&
	    last->return_address == now->return_address && last->function != now->function)
		return true;
	if (may_jump)
		*last = *now;
	return false;
}

/*
 * Stores the return address of a program's own allocator for the mappings that it makes. User space
 * checks by the stack whether the allocator had already returned.
 */
static __always_inline void note_program(struct pt_regs *ctx)
{
	struct memory_call *last = call_of_thread(true);

	if (last)
		thread_return_address(ctx, PT_REGS_SP(ctx), &last->program_return);
}

/*
 * Not inlined, so that its stack does not add to the chain of calls to the unwinder, which may use
 * 512 bytes in all (Linux 6.1, kernel/bpf/verifier.c, check_max_stack_depth).
 */
static __noinline bool is_inner(struct pt_regs *ctx, u64 cookie, u64 size)
{
	struct memory_call now = {
		.sp = PT_REGS_SP(ctx),
		.size = size,
		.function = MEMORY_COOKIE_FUNCTION(cookie),
	};
	u32 call = MEMORY_COOKIE_CALL(cookie);

	thread_return_address(ctx, now.sp, &now.return_address);
	if (is_own(ctx, cookie, now.return_address))
		return true;
	return call != MEMORY_CALLOC && call != MEMORY_MMAP && is_jump(cookie, &now);
}

/*
 * Returns the sample's time, which with the thread identifies the memory until it is freed; 0 if no
 * sample was taken.
 */
static __always_inline u64 take_sample(struct pt_regs *ctx, u64 weight, u64 mapped,
				       u64 allocator_return)
{
	struct scratch *s = stack_begin(SLOT_UPROBE, knobs.memory.event);

	if (!s)
		return 0;
	u64 time_ns = s->sample.time_ns;
	s->sample.weight = weight;
	s->sample.mapped = mapped;
	s->sample.allocator_return = allocator_return;
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return time_ns;
}

SEC("uprobe")
int memory_alloc(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx);
	u32 call = MEMORY_COOKIE_CALL(cookie);
	u64 mapped = mapped_of(ctx, cookie), size = size_of(ctx, call, mapped);
	u64 weight = sampling_weigh(size, knobs.memory.interval);
	struct memory_call *last;

	if (cookie & MEMORY_COOKIE_PROGRAM && call != MEMORY_MMAP)
		note_program(ctx);
	/* A call that is not a sample must be stored if it can jump to one that is. */
	if (!weight && (call == MEMORY_MALLOC || call == MEMORY_CALLOC || call == MEMORY_MMAP))
		return 0;
	if (!target_is_wanted(bpf_get_current_task_btf()))
		return 0;
	if ((mapped != MAPPED_STACK && is_inner(ctx, cookie, size)) || !weight)
		return 0;
	last = call == MEMORY_MMAP ? call_of_thread(false) : NULL;
	take_sample(ctx, weight, mapped, last ? last->program_return : 0);
	return 0;
}

/* As the program above, with --leaks: the call is stored until memory_return. */
SEC("uprobe")
int memory_enter(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx), mapped = mapped_of(ctx, cookie);
	u32 call = MEMORY_COOKIE_CALL(cookie);
	u64 sp = PT_REGS_SP(ctx), size = size_of(ctx, call, mapped);

	if (!target_is_wanted(bpf_get_current_task_btf()))
		return 0;
	struct memory_call *outer = call_of_thread(true);
	if (!outer || (outer->sp && outer->sp >= sp))
		return 0;
	if (call == MEMORY_REALLOC)
		live_allocs_free(PT_REGS_PARM1(ctx));
	/* a JVM returns memory by mapping it anew without access */
	else if (mapped > MAPPED_STACK && !size)
		live_allocs_free(mapped);
	u64 weight = sampling_weigh(size, knobs.memory.interval);
	*outer = (struct memory_call){ .sp = sp, .size = size, .call = call };
	outer->mapped = mapped;
	outer->out = call == MEMORY_POSIX_MEMALIGN ? PT_REGS_PARM1(ctx) : 0;
	outer->sample_ns = weight ? take_sample(ctx, weight, mapped, 0) : 0;
	return 0;
}

/* The address that the call returned; 0 if it failed. */
static __always_inline u64 address_of(struct pt_regs *ctx, const struct memory_call *call)
{
	u64 value = PT_REGS_RC(ctx), addr = 0;

	if (call->call == MEMORY_POSIX_MEMALIGN)
		return !value && !bpf_probe_read_user(&addr, sizeof(addr), (void *)call->out) ? addr
											      : 0;
	return call->call == MEMORY_MMAP && value == ~0ull ? 0 : value;
}

SEC("uretprobe")
int memory_return(struct pt_regs *ctx)
{
	struct memory_call *call = call_of_thread(false);

	/* The return address, if it was pushed, has been popped by now. */
	if (!call || call->sp != PT_REGS_SP(ctx) - CALL_PUSHES)
		return 0;
	u64 addr = address_of(ctx, call), sample_ns = call->sample_ns;
	call->sp = 0;
	if (!sample_ns)
		return 0;
	/* JVMs map guard pages at the start of a stack: that memory belongs to the stack. */
	if (addr && !(call->mapped > MAPPED_STACK && live_allocs_is_live(addr))) {
		live_allocs_add(addr, sample_ns);
	} else {
		struct memory_live none = {
			.sample_ns = sample_ns,
			.tid = (u32)bpf_get_current_pid_tgid(),
		};
		live_allocs_send_freed(&none);
	}
	return 0;
}

SEC("uprobe")
int memory_free(struct pt_regs *ctx)
{
	if (bpf_ktime_get_ns() < recording_end_ns)
		live_allocs_free(PT_REGS_PARM1(ctx));
	return 0;
}
