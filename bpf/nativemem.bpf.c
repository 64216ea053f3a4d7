// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Native memory: uprobes on the functions of allocators, sampled by bytes (chance.h). An allocator
 * calls itself: calloc its malloc, malloc mmap; only the outermost call counts.
 *
 * Without return probes the outermost call is told by its return address, which lies outside the
 * allocator's functions; and one that was jumped to (realloc(NULL) ends in a jump to malloc) by
 * the place, stack pointer and size of the call before. With leaks every call has a return probe,
 * and a thread's outermost call is noted until it returns.
 */
#include "unwind.h"

#include "chance.h"
#include "held.h"
#include "target.h"

#define MAP_ANONYMOUS 0x20 /* include/uapi/asm-generic/mman-common.h */
#define PROT_WRITE    0x2

/* What is larger fails: more than there are addresses. */
#define SIZE_MAX_BYTES (1ull << 47)

static __always_inline u64 asked_for(struct pt_regs *ctx, u32 call)
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
	case MEMORY_MMAP: /* reserved address space is no memory yet */
		return PT_REGS_PARM3(ctx) & PROT_WRITE && PT_REGS_PARM4(ctx) & MAP_ANONYMOUS
			       ? PT_REGS_PARM2(ctx)
			       : 0;
	}
	return 0;
}

static __always_inline u64 size_of(struct pt_regs *ctx, u32 call)
{
	u64 size = asked_for(ctx, call);

	return size < SIZE_MAX_BYTES ? size : 0;
}

/* Whether `addr`, seen from a probe at `pc`, lies in a function of the same allocator. */
static __always_inline bool is_own(u64 cookie, u64 pc, u64 addr)
{
	u32 key = MEMORY_COOKIE_FILE(cookie), function = MEMORY_COOKIE_FUNCTION(cookie);
	struct memory_file *file = bpf_map_lookup_elem(&memory_files, &key);

	if (!file)
		return false;
	u64 off = addr - pc + file->functions[function].start;
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

/* What may end in a jump to another function is noted, so that the other can tell. */
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

/* What it maps before it returns is told by it; whether it has, the stack tells user space. */
static __always_inline void note_program(struct pt_regs *ctx)
{
	struct memory_call *last = call_of_thread(true);

	if (last)
		bpf_probe_read_user(&last->program_return, sizeof(u64), (void *)PT_REGS_SP(ctx));
}

static __always_inline bool is_inner(struct pt_regs *ctx, u64 cookie, u64 size)
{
	struct memory_call now = {
		.sp = PT_REGS_SP(ctx),
		.size = size,
		.function = MEMORY_COOKIE_FUNCTION(cookie),
	};
	u32 call = MEMORY_COOKIE_CALL(cookie);

	bpf_probe_read_user(&now.return_address, sizeof(u64), (void *)now.sp);
	if (is_own(cookie, PT_REGS_IP(ctx), now.return_address))
		return true;
	return call != MEMORY_CALLOC && call != MEMORY_MMAP && is_jump(cookie, &now);
}

/* The sample's time and thread are the name of the memory until it is freed. */
static __always_inline u64 take_sample(struct pt_regs *ctx, u64 weight, u64 allocator_return)
{
	struct scratch *s = stack_begin(SLOT_UPROBE, knobs.memory.event);

	if (!s)
		return 0;
	u64 time_ns = s->sample.time_ns;
	s->sample.weight = weight;
	s->sample.allocator_return = allocator_return;
	stack_submit(s, unwind_user(ctx, s));
	stack_end(s);
	return time_ns;
}

SEC("uprobe")
int memory_alloc(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx);
	u64 size = size_of(ctx, MEMORY_COOKIE_CALL(cookie));
	u64 weight = chance_weigh(size, knobs.memory.interval);
	u32 call = MEMORY_COOKIE_CALL(cookie);
	struct memory_call *last;

	if (cookie & MEMORY_COOKIE_PROGRAM && call != MEMORY_MMAP)
		note_program(ctx);
	/* What is no sample must still be noted if it can jump to what is one. */
	if (!weight && (call == MEMORY_MALLOC || call == MEMORY_CALLOC || call == MEMORY_MMAP))
		return 0;
	if (!target_is_wanted(bpf_get_current_task_btf()) || is_inner(ctx, cookie, size) || !weight)
		return 0;
	last = call == MEMORY_MMAP ? call_of_thread(false) : NULL;
	take_sample(ctx, weight, last ? last->program_return : 0);
	return 0;
}

/* The same with leaks: the call is noted until memory_return. */
SEC("uprobe")
int memory_enter(struct pt_regs *ctx)
{
	u32 call = MEMORY_COOKIE_CALL(bpf_get_attach_cookie(ctx));
	u64 sp = PT_REGS_SP(ctx), size = size_of(ctx, call);

	if (!target_is_wanted(bpf_get_current_task_btf()))
		return 0;
	struct memory_call *outer = call_of_thread(true);
	if (!outer || (outer->sp && outer->sp >= sp))
		return 0;
	if (call == MEMORY_REALLOC)
		held_free(PT_REGS_PARM1(ctx));
	u64 weight = chance_weigh(size, knobs.memory.interval);
	*outer = (struct memory_call){ .sp = sp, .size = size, .call = call };
	outer->out = call == MEMORY_POSIX_MEMALIGN ? PT_REGS_PARM1(ctx) : 0;
	outer->sample_ns = weight ? take_sample(ctx, weight, 0) : 0;
	return 0;
}

/* What the call gave: 0 if nothing. */
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

	/* The return address is off the stack now. */
	if (!call || call->sp != PT_REGS_SP(ctx) - sizeof(u64))
		return 0;
	u64 addr = address_of(ctx, call), sample_ns = call->sample_ns;
	call->sp = 0;
	if (!sample_ns)
		return 0;
	if (addr) {
		held_add(addr, sample_ns);
	} else {
		struct memory_live none = {
			.sample_ns = sample_ns,
			.tid = (u32)bpf_get_current_pid_tgid(),
		};
		held_send_freed(&none);
	}
	return 0;
}

SEC("uprobe")
int memory_free(struct pt_regs *ctx)
{
	held_free(PT_REGS_PARM1(ctx));
	return 0;
}
