// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where threads wait: from when one leaves its CPU until it is back, sampled by their duration
 * with min_ns for a unit (chance.h), a larger one while there are too many (throttle.h). Kernel
 * threads are left out: their waiting is their business.
 */
#include "unwind.h"

#include "chance.h"
#include "futex.h"
#include "regs.h"
#include "target.h"
#include "task.h"
#include "throttle.h"
#include "window.h"

/* Bits of task_struct.__state, include/linux/sched.h. */
#define TASK_INTERRUPTIBLE   0x01
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED         0x0c /* or traced */
#define TASK_DEAD            0x80

u64 waits_end_ns;    /* see maps.h */
bool waits_are_told; /* what the iterator tells it tells for the last time */

static __always_inline u32 state_of(u32 bits, bool is_preempted)
{
	if (is_preempted || !bits)
		return STATE_RUNNABLE;
	if (bits & TASK_STOPPED)
		return STATE_STOPPED;
	return bits & TASK_UNINTERRUPTIBLE ? STATE_DISK : STATE_SLEEPING;
}

static __always_inline void begin_wait(struct task_struct *task, u32 state)
{
	struct wait *wait =
		bpf_task_storage_get(&waits, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!wait) {
		count(STAT_WAIT_LOST);
		return;
	}
	wait->state = state;
	wait->since_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_switch")
int BPF_PROG(offcpu_begin, bool is_preempted, struct task_struct *task)
{
	u32 bits = task->__state;

	if (waits_end_ns || task_is_kernel(task) || (bits & TASK_DEAD && !is_preempted) ||
	    !target_is_wanted(task))
		return 0;
	begin_wait(task, state_of(bits, is_preempted));
	return 0;
}

/* When the wait began as far as it counts, WINDOW_NEVER if it does not. */
static __always_inline u64 begin_of(const struct wait *wait, struct task_struct *task)
{
	u64 since_ns = window_since(task->tgid);

	return since_ns > wait->since_ns ? since_ns : wait->since_ns;
}

/* A wait that is a sample. */
struct sampled_wait {
	u64 end_ns, waited_ns;
	u32 unit_ns[KNOBS_WAITS]; /* by which it is one of each event; 0: it is none of it */
};

static __always_inline void sample_wait(void *ctx, u32 state, const struct sampled_wait *w)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct scratch *s = stack_begin(SLOT_SWITCH, 0);

	if (!s)
		return;
	s->sample.kind = waits_end_ns ? RECORD_PENDING : RECORD_SAMPLE;
	s->sample.time_ns = w->end_ns;
	s->sample.state = state;
	stack_kernel(ctx, s);
	u32 stop = unwind_user(ctx, s);
	for (u32 i = 0; i < KNOBS_WAITS; i++) {
		u64 unit_ns = w->unit_ns[i];
		if (!unit_ns)
			continue;
		bool is_whole = i == WAIT_LOCK || w->waited_ns >= unit_ns;
		s->sample.event = knobs.waits[i].event;
		s->sample.weight = is_whole ? w->waited_ns : unit_ns;
		s->sample.unit_ns = unit_ns;
		stack_submit(s, stop);
	}
	stack_end(s);
	throttle_spend(THROTTLE_WAITS, now_ns);
}

static __always_inline bool is_jvm(const struct task_struct *task)
{
	u32 pid = task->tgid;
	const struct unwind_proc *proc = bpf_map_lookup_elem(&unwind_procs, &pid);

	return proc && proc->jvm != UNWIND_NO_JVM;
}

/* Whether the wait is one of that event. */
static __always_inline bool counts_for(u32 event, struct task_struct *task, const struct wait *wait)
{
	const struct pt_regs *user;

	if (!knobs.waits[event].min_ns)
		return false;
	if (event != WAIT_NATIVELOCK && event != WAIT_LOCK)
		return true;
	if (wait->state != STATE_SLEEPING)
		return false;
	user = (const struct pt_regs *)bpf_task_pt_regs(task);
	return event == WAIT_LOCK ? futex_is_waited_for(user) && is_jvm(task) : futex_is_lock(user);
}

static __always_inline u64 unit_of(u64 min_ns, u32 halvings)
{
	u64 unit_ns = min_ns << (halvings & 31);

	return halvings > 31 || unit_ns > CHANCE_UNIT_MAX ? CHANCE_UNIT_MAX : unit_ns;
}

/*
 * The unit by which the wait is a sample, 0 if it is none. Two chances in a row are as one by the
 * larger unit. A global function, which the verifier reads once and not for each event.
 */
__noinline u32 offcpu_unit(u64 waited_ns, u64 min_ns)
{
	u64 weight = chance_weigh(waited_ns, min_ns);

	if (!weight)
		return 0;
	u64 unit_ns = unit_of(min_ns, throttle_halvings(bpf_ktime_get_ns()));
	return chance_weigh(weight, unit_ns) ? unit_ns : 0;
}

/* The unit by which the wait is a sample of that event, 0 if it is none. */
static __always_inline u32 sample_unit(u32 event, struct task_struct *task, const struct wait *wait,
				       u64 waited_ns)
{
	u64 min_ns = knobs.waits[event].min_ns;
	u32 unit_ns = min_ns ? offcpu_unit(waited_ns, min_ns) : 0;

	if (!unit_ns || !counts_for(event, task, wait))
		return 0;
	if (unit_ns != min_ns)
		count(STAT_SPARSE);
	return unit_ns;
}

/*
 * In the thread that is back; its stacks are as they were all the while. Who waits when recording
 * ends is sampled here too, unless it still waits when the iterator below tells of it last.
 */
static __always_inline int end_wait(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task_is_kernel(task))
		return 0;
	struct wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);
	if (!wait || !wait->since_ns)
		return 0;

	u64 begin_ns = begin_of(wait, task);
	struct sampled_wait w = { .end_ns = waits_end_ns ?: bpf_ktime_get_ns() };
	bool any = false;

	wait->since_ns = 0;
	w.waited_ns = w.end_ns > begin_ns ? w.end_ns - begin_ns : 0;
	for (u32 i = 0; i < KNOBS_WAITS; i++) {
		w.unit_ns[i] = sample_unit(i, task, wait, w.waited_ns);
		any |= w.unit_ns[i];
	}
	if (any)
		sample_wait(ctx, wait->state, &w);
	return 0;
}

/* The end of __schedule. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(offcpu_end, bool is_switch)
{
	return is_switch ? end_wait(ctx) : 0;
}

/* Where kernels before 6.16 are about there: finish_task_switch. */
SEC("kprobe")
int offcpu_back(struct pt_regs *ctx)
{
	return end_wait(ctx);
}

/* Writes what is known of a waiting thread, once; its user stack only its process's memory tells.
 */
static __always_inline void report(struct seq_file *seq, struct task_struct *task,
				   struct wait *wait)
{
	u32 key = 0;
	struct pending *p = bpf_map_lookup_elem(&pendings, &key);

	if (!p)
		return;
	p->sample = (struct sample){
		.kind = RECORD_PENDING,
		.task = task_id_of(task),
		.time_ns = waits_end_ns,
		.weight = begin_of(wait, task),
		.state = wait->state,
	};
	BPF_CORE_READ_STR_INTO(&p->sample.comm, task, comm);
	struct regs regs;
	regs_from_task(&regs, (struct pt_regs *)bpf_task_pt_regs(task));
	p->pc = regs.pc;
	p->sp = regs.sp;
	p->fp = regs.fp;
	p->ax = regs.ax;
	p->bx = regs.bx;
	p->r13 = regs.r13;
	p->r15 = regs.r15;
	p->tls = task_tls(task);
	p->events = 0;
	for (u32 i = 0; i < KNOBS_WAITS; i++)
		p->events |= counts_for(i, task, wait) ? 1 << i : 0;
	long bytes = bpf_get_task_stack(task, p->kernel, sizeof(p->kernel), 0);
	p->sample.nr_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	/* All of it: a length that the verifier could bound would cost more than the bytes. */
	if (!bpf_seq_write(seq, p, sizeof(*p)) && waits_are_told)
		wait->since_ns = 0; /* else, if there was no room, the task comes again */
}

/* An int in Linux 6.18, a byte in 7.2. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, on_cpu);
}

/*
 * Every task: at the start it notes who waits already, once recording has ended it writes a struct
 * pending for each thread that still does.
 */
SEC("iter/task")
int offcpu_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || task_is_kernel(task) || is_on_cpu(task) || task->exit_state ||
	    !target_is_wanted(task))
		return 0;
	struct wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);
	if (!waits_end_ns && !wait)
		begin_wait(task, state_of(task->__state, false));
	else if (waits_end_ns && wait && wait->since_ns && begin_of(wait, task) != WINDOW_NEVER)
		report(ctx->meta->seq, task, wait);
	return 0;
}
