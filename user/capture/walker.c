/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder of bpf/ on the host; compiled with bpf/host first on the include path. */
#include "bpf/host/unwinder.h"

#include "capture/walker.h"

#include <errno.h>
#include <sys/uio.h>

struct walking {
	const struct tables *tables;
	pid_t pid;
	u64 counters[NR_STATS];
};

/* Helpers of BPF have no context: during a walk it is here. */
static _Thread_local struct walking walking;

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	u32 i = *(const u32 *)key;

	if (map == &unwind_rows)
		return (void *)tables_row(walking.tables, i);
	if (map == &unwind_ranges)
		return (void *)tables_range(walking.tables, i);
	if (map == &jvms)
		return (void *)tables_jvm(walking.tables, i);
	return map == &stats && i < NR_STATS ? &walking.counters[i] : NULL;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *unsafe_ptr)
{
	struct iovec local = { dst, size }, remote = { (void *)unsafe_ptr, size };
	ssize_t got = process_vm_readv(walking.pid, &local, 1, &remote, 1, 0);

	return got == (ssize_t)size ? 0 : -EFAULT;
}

static const char *const rule_text[] = {
#define X(name, text) [RULE_##name] = text,
	RULES(X)
#undef X
};

static void start(struct scratch *s, const struct unwind_proc *proc,
		  const struct user_regs_struct *regs)
{
	s->walk.proc = *proc;
	s->walk.tls = regs->fs_base;
	s->walk.regs = (struct regs){
		.pc = regs->rip,
		.sp = regs->rsp,
		.fp = regs->rbp,
		.ax = regs->rax,
		.bx = regs->rbx,
		.dx = regs->rdx,
		.r13 = regs->r13,
		.r15 = regs->r15,
	};
	s->walk.is_leaf = 1;
}

/* Adds what the step appended to the sample: mostly one frame. */
static void take_frames(const struct scratch *s, u32 from, struct walked_frame at,
			struct walked *out)
{
	for (u32 i = from; i < s->sample.nr_user; i++) {
		at.frame = (struct user_frame){ s->words[2 * i], s->words[2 * i + 1] };
		vec_push(&out->frames, at);
		at.rule = "";
	}
}

int walker_walk(const struct tables *t, pid_t pid, const struct user_regs_struct *regs,
		struct walked *out)
{
	const struct unwind_proc *proc = tables_proc(t, pid);
	u32 stop = 0;

	if (!proc)
		return -ESRCH;
	auto_free struct scratch *s = xcalloc(1, sizeof(*s));
	walking.tables = t;
	walking.pid = pid;
	start(s, proc, regs);
	out->frames.nr = 0;
	while (!stop) {
		u32 nr = s->sample.nr_user;
		struct walked_frame at = { .pc = s->walk.regs.pc, .sp = s->walk.regs.sp };

		stop = (u32)unwind_step(s);
		at.rule = rule_text[s->walk.rule];
		take_frames(s, nr, at, out);
	}
	out->stop = stat_text[stop];
	out->is_complete = stop == STAT_ROOT;
	return 0;
}

void walked_fini(struct walked *w)
{
	vec_fini(&w->frames);
}
