// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reports whose handler SIGQUIT has in each process, and which calls its seccomp filter allows. */
#include "kernel.h"

#include "calls.h"

#define SIGQUIT 3

/* Flavors: vmlinux/reduce has no function pointers, and an older kernel may lack the cache. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sigaction___facts {
	void *sa_handler;
};
struct k_sigaction___facts {
	struct sigaction___facts sa;
};
struct sighand_struct___facts {
	struct k_sigaction___facts action[64];
};
struct action_cache___facts {
	unsigned long allow_native[8];
};
struct seccomp_filter___facts {
	struct action_cache___facts cache;
};
struct seccomp___facts {
	int mode;
	struct seccomp_filter___facts *filter;
};
struct task_struct___facts {
	struct sighand_struct___facts *sighand;
	struct seccomp___facts seccomp;
};
#pragma clang attribute pop

static __always_inline u64 quit_handler_of(struct task_struct___facts *task)
{
	struct sighand_struct___facts *sighand = BPF_CORE_READ(task, sighand);

	return sighand ? (u64)BPF_CORE_READ(sighand, action[SIGQUIT - 1].sa.sa_handler) : 0;
}

static __always_inline u32 allowed_bit(const void *bits, u32 nr)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (const u64 *)bits + nr / 64);
	return word >> nr % 64 & 1;
}

/*
 * The system calls that a thread may make. The kernel keeps a bit map of the calls that all filters
 * of a thread allow for any arguments (since 5.11). A filter without this cache, or the strict
 * mode, counts as forbidding everything.
 */
static __always_inline u32 allowed_of(struct task_struct___facts *task)
{
	u32 allowed = 0;

	if (!bpf_core_field_exists(task->seccomp.mode) || !BPF_CORE_READ(task, seccomp.mode))
		return ~0u;
	struct seccomp_filter___facts *filter = BPF_CORE_READ(task, seccomp.filter);
	if (!filter || !bpf_core_field_exists(filter->cache.allow_native))
		return 0;
	const void *bits = __builtin_preserve_access_index(&filter->cache.allow_native);
#define X(name, x86, arm64, arm64_name) \
	allowed |= allowed_bit(bits, MACHINE_CALL(x86, arm64)) << CALL_##name;
	CALLS_OF_AGENT(X)
	CALLS_OF_LISTENER(X)
#undef X
	return allowed;
}

/* Writes each thread that has a filter, and one thread of each other process. */
SEC("iter/task")
int facts_list(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	struct task_facts f = { .pid = task->tgid, .tid = task->pid };
	f.allowed = allowed_of((void *)task);
	if (f.pid != f.tid && f.allowed == ~0u)
		return 0;
	f.quit_handler = quit_handler_of((void *)task);
	bpf_seq_write(ctx->meta->seq, &f, sizeof(f));
	return 0;
}
