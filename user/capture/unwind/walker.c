/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF's unwinder on the host; compiled with bpf/host first on the include path.
 * Part of capture/unwind/walker.h.
 */
#include "bpf/host/unwinder.h"
#include "capture/unwind/sample_stack.h"

#include "capture/kernel/counters.h"
#include "capture/unwind/walker.h"

#include <errno.h>
#include <string.h>

#include "proc/mem.h"

#define STACK_MAX_BYTES (64ull << 20) /* assumed size of a main thread's stack */

struct walking {
	const struct tables *tables;
	struct process_id id; /* start_ns 0: not known */
	/* the kept stack; NULL: the process's memory is read instead */
	const struct unwalked *kept;
	u64 kept_sp;
	struct mem *mem; /* opened by the first read outside the kept stack */
	bool is_unreadable;
	bool is_short; /* this step needed more of the stack than was kept */
	u64 counters[NR_STATS];
};

/* The walk in progress, static because BPF helpers take no context argument. */
static _Thread_local struct walking walking;

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	u32 i = *(const u32 *)key;

	if (map == &unwind_rows)
		return (void *)tables_words(walking.tables, i);
	if (map == &unwind_ranges)
		return (void *)tables_range(walking.tables, i);
	if (map == &jvms)
		return (void *)tables_jvm(walking.tables, i);
	return map == &stats && i < NR_STATS ? &walking.counters[i] : NULL;
}

/*
 * The bytes from the kept sp to the end of the stack. In a thread's mapping, its thread pointer is
 * above the stack (glibc, musl). Other data may follow above, such as a segment map. The main
 * thread's stack is the highest mapping, far above its thread pointer.
 */
static u64 stack_bytes(const struct unwalked *kept, u64 sp)
{
	return kept->tls - sp < STACK_MAX_BYTES ? kept->tls - sp : STACK_MAX_BYTES;
}

/*
 * Reads the kept part of the stack. The rest has changed since the sample and must not be read. BPF
 * keeps whole pages.
 */
static long read_kept_stack(const struct unwalked *kept, u64 off, void *dst, u32 size)
{
	if (off <= kept->stack_bytes && size <= kept->stack_bytes - off) {
		memcpy(dst, (const char *)kept->stack + off, size);
		return 0;
	}
	walking.is_short = off + size > UNWALKED_STACK_BYTES - PAGE_BYTES;
	return -EFAULT;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *unsafe_ptr)
{
	const struct unwalked *kept = walking.kept;
	u64 off = (u64)unsafe_ptr - walking.kept_sp;

	if (kept && (off < kept->stack_bytes || off < stack_bytes(kept, walking.kept_sp)))
		return read_kept_stack(kept, off, dst, size);
	if (!walking.mem && !walking.is_unreadable)
		walking.is_unreadable = mem_open(walking.id, &walking.mem) != 0;
	return walking.mem && !mem_read(walking.mem, (u64)unsafe_ptr, dst, size) ? 0 : -EFAULT;
}

static const char *const rule_text[] = {
#define X(name, text) [RULE_##name] = text,
	RULES(X)
#undef X
};

/* Adds the frames that the step appended to the sample: mostly one. */
static void take_frames(const struct scratch *s, u32 from, struct walked_frame at,
			struct walked *out)
{
	for (u32 i = from; i < s->sample.nr_user; i++) {
		at.frame = (struct user_frame){ s->words[2 * i], s->words[2 * i + 1] };
		vec_push(&out->frames, at);
		at.rule = "";
	}
}

static void end(u32 stop, struct walked *out)
{
	out->reason = stop;
	out->stop = counter_of(stop)->text;
	out->is_complete = stop == STAT_ROOT;
}

static void walk(const struct unwind_proc *proc, const struct regs *regs, u64 tls, u64 start_stack,
		 struct walked *out)
{
	auto_free struct scratch *s = xcalloc(1, sizeof(*s));
	u32 stop = 0;

	s->walk.proc = *proc;
	s->walk.regs = *regs;
	s->walk.tls = tls;
	s->walk.start_stack = start_stack;
	s->walk.is_leaf = 1;
	out->frames.nr = 0;
	while (!stop) {
		u32 nr = s->sample.nr_user;
		struct walked_frame at = { .pc = s->walk.regs.pc, .sp = s->walk.regs.sp };

		walking.is_short = false;
		stop = (u32)unwind_step(s);
		at.rule = rule_text[s->walk.rule];
		take_frames(s, nr, at, out);
	}
	end(stop == STAT_UNREADABLE && walking.is_short ? STAT_STACK_SHORT : stop, out);
}

int walker_walk(const struct tables *t, pid_t pid, const struct thread_regs *from, u64 start_stack,
		struct walked *out)
{
	const struct unwind_proc *proc = tables_proc(t, pid);

	if (!proc)
		return -ESRCH;
	walking = (struct walking){ .tables = t, .id = { pid, proc->start_ns } };
	walk(proc, &from->regs, from->tls, start_stack, out);
	mem_free(take(walking.mem));
	return 0;
}

static void follow_frame_pointers(const struct regs *regs, struct walked *out)
{
	struct walked_frame at = { .pc = regs->pc, .sp = regs->sp, .rule = "" };
	u64 fp = regs->fp, words[2];

	at.frame = (struct user_frame){ regs->pc, USER_FRAME_LEAF };
	out->frames.nr = 0;
	vec_push(&out->frames, at);
	while (out->frames.nr < ABI_KERNEL_FRAMES && !(fp & 7) && fp >= at.sp &&
	       !bpf_probe_read_user(words, sizeof(words), (const void *)fp) && words[1]) {
		at.sp = fp + sizeof(words);
		at.pc = words[1];
		at.frame = (struct user_frame){ words[1], 0 };
		vec_push(&out->frames, at);
		fp = words[0];
	}
	end(STAT_FRAME_POINTERS, out);
}

void walker_walk_kept(const struct tables *t, pid_t pid, const struct unwalked *kept,
		      struct walked *out)
{
	const struct unwind_proc *proc = tables_proc(t, pid);
	struct regs regs;

	memcpy(&regs, kept->regs, sizeof(regs));
	walking = (struct walking){ .tables = t,
				    .id = { pid, proc ? proc->start_ns : 0 },
				    .kept = kept,
				    .kept_sp = regs.sp };
	if (proc)
		walk(proc, &regs, kept->tls, kept->start_stack, out);
	else
		follow_frame_pointers(&regs, out);
	mem_free(take(walking.mem));
}

void walked_add_leaf(struct walked *w, const struct user_frame *leaf)
{
	struct walked_frame frame = { .frame = *leaf };

	vec_push(&w->frames, frame);
	memmove(w->frames.at + 1, w->frames.at, (w->frames.nr - 1) * sizeof(frame));
	w->frames.at[0] = frame;
}

struct sample *walked_sample(const struct walked *w, const struct sample *head, const void *kernel,
			     const void *context)
{
	size_t nr_kernel = head->nr_kernel, nr_user = w->frames.nr;
	size_t nr_request = sample_nr_request(head),
	       nr_words = nr_kernel + 2 * nr_user + nr_request;
	struct sample *s = xcalloc(1, sizeof(*s) + nr_words * sizeof(u64));
	u64 *words = (u64 *)(s + 1);

	*s = *head;
	s->kind = RECORD_SAMPLE;
	s->nr_user = (u16)nr_user;
	s->stop = (u16)w->reason;
	memcpy(words, kernel, nr_kernel * sizeof(u64));
	for (size_t i = 0; i < nr_user; i++)
		memcpy(words + nr_kernel + 2 * i, &w->frames.at[i].frame,
		       sizeof(struct user_frame));
	if (nr_request)
		memcpy(words + nr_kernel + 2 * nr_user, context, nr_request * sizeof(u64));
	return s;
}

void walked_fini(struct walked *w)
{
	vec_fini(&w->frames);
}
