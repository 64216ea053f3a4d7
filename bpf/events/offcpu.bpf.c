// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Off-CPU waits, from the time a thread leaves its CPU until it is back. They are sampled by
 * duration with the unit min_ns (sampling.h), or a larger unit while there are too many
 * (throttle.h). Kernel threads are excluded.
 */
#include "unwind/unwind.h"

#include "cpus.h"
#include "kernel.h"
#include "maps.h"
#include "records.h"
#include "regs.h"
#include "sampling.h"
#include "target.h"
#include "task.h"
#include "throttle.h"
#include "window.h"

/* Bits of task_struct.__state, include/linux/sched.h. */
#define TASK_INTERRUPTIBLE   0x01
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED         0x0c /* or traced */
#define TASK_DEAD            0x80

/* Whether a thread waits for a futex, and whether it is a lock, by its system call. */
#define SYS_FUTEX MACHINE_CALL(202, 98)

/* include/uapi/linux/futex.h */
#define FUTEX_WAIT        0
#define FUTEX_LOCK_PI     6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2    13
#define FUTEX_CMD_MASK    0x7f

static __always_inline bool futex_is_waited_for(const struct pt_regs *user)
{
	u32 command = PT_REGS_PARM2(user) & FUTEX_CMD_MASK;

	return THREAD_CALL(user) == SYS_FUTEX &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

/*
 * The futex word of a contended lock is 2 in glibc, Rust and Go's runtime, and 2 or 3 in glibc's
 * rwlock. In musl its highest bit is set, in Rust's RwLock one of the two highest
 * (library/std/src/sys/sync/rwlock/futex.rs, READERS_WAITING). Conditions and idle threads wait for
 * other values. Exceptions are recognised by their stack (user/capture/events/event_wait.c).
 */
static __always_inline bool futex_is_lock(const struct pt_regs *user)
{
	u32 command = PT_REGS_PARM2(user) & FUTEX_CMD_MASK, value = PT_REGS_PARM3(user);

	if (futex_is_waited_for(user))
		return value == 2 || value == 3 || value >> 30;
	return THREAD_CALL(user) == SYS_FUTEX &&
	       (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2);
}

bool waits_are_reported; /* the iterator's next pass is the last one */

static __always_inline u32 state_of(struct task_struct *task, u32 bits, bool is_preempted)
{
	if (is_preempted || !bits)
		return STATE_RUNNABLE;
	if (bits & TASK_STOPPED)
		return STATE_STOPPED;
	if (!(bits & TASK_UNINTERRUPTIBLE))
		return STATE_SLEEPING;
	/*
	 * io_schedule sets in_iowait. Waits for locks, memory, or a child of vfork do not set it.
	 */
	return BPF_CORE_READ_BITFIELD(task, in_iowait) ? STATE_DISK : STATE_UNINTERRUPTIBLE;
}

static __always_inline void begin_wait(struct task_struct *task, u32 state, u32 cpu, u64 now_ns)
{
	struct wait *wait =
		bpf_task_storage_get(&waits, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!wait) {
		count(STAT_WAIT_LOST);
		for (u32 i = 0; i < KNOBS_WAITS; i++)
			if (knobs.waits[i].min_ns)
				count_event(knobs.waits[i].event, EVENT_UNTIMED);
		return;
	}
	wait->state = state;
	wait->cpu = cpu;
	wait->since_ns = now_ns;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(offcpu_begin, bool is_preempted, struct task_struct *task)
{
	u64 now_ns = bpf_ktime_get_ns();
	u32 bits = task->__state;

	if (now_ns >= recording_end_ns || task_is_kernel(task) ||
	    (bits & TASK_DEAD && !is_preempted) || !target_is_wanted(task))
		return 0;
	begin_wait(task, state_of(task, bits, is_preempted), bpf_get_smp_processor_id(), now_ns);
	return 0;
}

/*
 * The time at which the counted part of a wait begins; WINDOW_NEVER if no part of the wait counts.
 * This function and the next ones are global: the verifier checks each once, and their paths join
 * before the unwinder.
 */
__noinline u64 offcpu_begin_ns(u32 pid, u64 since_ns)
{
	u64 window_ns = window_since(pid);

	return window_ns > since_ns ? window_ns : since_ns;
}

static __always_inline void sample_wait(void *ctx, u32 state, const struct sampled_wait *w)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct scratch *s = stack_begin(SLOT_SWITCH, w->event);

	if (!s)
		return;
	s->sample.kind = w->kind;
	s->sample.time_ns = w->end_ns;
	s->sample.state = state;
	stack_kernel(ctx, s);
	u32 stop = unwind_user(ctx, s);
	for (u32 i = 0; i < KNOBS_WAITS; i++) {
		if (!w->unit_ns[i])
			continue;
		s->sample.event = knobs.waits[i].event;
		s->sample.weight = w->waited_ns;
		s->sample.unit_ns = w->unit_ns[i];
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

/* Whether the wait counts for the event. */
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

/*
 * The unit at which the wait is a sample; 0 if it is not. Global: the verifier checks it once, not
 * for each event.
 */
__noinline u32 offcpu_unit(u64 waited_ns, u64 min_ns)
{
	u64 weight = sampling_weigh(waited_ns, min_ns);

	return weight ? throttle_choose(THROTTLE_WAITS, weight, min_ns) : 0;
}

/* Returns the number unchanged, but makes the verifier forget its value. */
__noinline u32 offcpu_any(u32 number)
{
	keep_as_written(number);
	return number;
}

/* The unit at which the wait is a sample of the event; 0 if it is not. */
static __always_inline u32 sample_unit(u32 event, struct task_struct *task, const struct wait *wait,
				       u64 waited_ns)
{
	u64 min_ns = knobs.waits[event].min_ns;
	u32 unit_ns = min_ns ? offcpu_unit(waited_ns, min_ns) : 0;

	if (!unit_ns || !counts_for(event, task, wait))
		return 0;
	if (unit_ns != min_ns)
		count_event(knobs.waits[event].event, EVENT_SPARSE);
	return unit_ns;
}

/* The time at which the counted part of a wait ends, for a wait that ends now. */
__noinline u64 offcpu_end_ns(void)
{
	u64 now_ns = bpf_ktime_get_ns(), end_ns = recording_end_ns;

	return now_ns < end_ns ? now_ns : end_ns;
}

__noinline u64 offcpu_waited(u64 begin_ns, u64 end_ns)
{
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

__noinline u32 offcpu_kind(u64 end_ns)
{
	return end_ns == recording_end_ns ? RECORD_PENDING : RECORD_SAMPLE;
}

/*
 * Runs in the thread that is back; its stacks are the same as during the wait. Threads that wait
 * when recording ends are also sampled here, unless the last pass of the iterator below reports
 * them. Each wait gets one record: whoever writes it sets since_ns to 0, which tells the other.
 *
 *	thread back before recording_end_ns     end_wait sends RECORD_SAMPLE, since_ns = 0
 *	thread back after it, before the pass   end_wait sends RECORD_PENDING, since_ns = 0;
 *	                                        the pass sees 0 and writes nothing
 *	thread still waits at the pass          report writes the record, since_ns = 0;
 *	                                        end_wait sees 0 when the thread is back
 *
 * Earlier passes do not set since_ns. User space unwinds the stacks that they wrote. It keeps the
 * stack of a thread only if the last pass reports that thread, too.
 */
static __always_inline int end_wait(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task_is_kernel(task))
		return 0;
	struct wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);
	if (!wait || !wait->since_ns)
		return 0;

	struct sampled_wait *w = &wait->sampled;
	u32 any = 0;

	w->end_ns = offcpu_end_ns();
	w->kind = offcpu_kind(w->end_ns);
	w->waited_ns = offcpu_waited(offcpu_begin_ns(task->tgid, wait->since_ns), w->end_ns);
	wait->since_ns = 0;
#pragma unroll /* Linux 6.1 refuses loops that fall through to their head */
	for (u32 i = 0; i < KNOBS_WAITS; i++) {
		u32 unit_ns = sample_unit(i, task, wait, w->waited_ns);
		if (unit_ns)
			w->event = knobs.waits[i].event;
		w->unit_ns[i] = unit_ns;
		any |= offcpu_any(unit_ns);
	}
	if (any)
		sample_wait(ctx, wait->state, w);
	return 0;
}

/* The end of __schedule. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(offcpu_end, bool is_switch)
{
	return is_switch ? end_wait(ctx) : 0;
}

/* Kernels before 6.16 have no such tracepoint: finish_task_switch is near it. */
SEC("kprobe")
int offcpu_back(struct pt_regs *ctx)
{
	return end_wait(ctx);
}

/*
 * Writes a waiting thread's record once. Its user stack can only be read from its process's memory.
 */
static __always_inline void report(struct seq_file *seq, struct task_struct *task,
				   struct wait *wait)
{
	u32 key = 0;
	struct blocked_thread *p = bpf_map_lookup_elem(&pendings, &key);

	if (!p)
		return;
	p->sample = (struct sample){
		.kind = RECORD_PENDING,
		.task = task_id_of(task),
		.time_ns = recording_end_ns,
		.weight = offcpu_begin_ns(task->tgid, wait->since_ns),
		.state = wait->state,
	};
	BPF_CORE_READ_STR_INTO(&p->sample.comm, task, comm);
	struct regs regs;
	regs_from_task(&regs, (struct pt_regs *)bpf_task_pt_regs(task));
	regs_keep(&p->regs, &regs);
	p->tls = task_tls(task);
	p->start_stack = BPF_CORE_READ((struct task_struct___image *)task, mm, start_stack);
	p->events = 0;
	for (u32 i = 0; i < KNOBS_WAITS; i++)
		p->events |= counts_for(i, task, wait) ? 1 << i : 0;
	long bytes = bpf_get_task_stack(task, p->kernel, sizeof(p->kernel), 0);
	p->sample.nr_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
	/* Write all of it: a length that the verifier can bound would cost more than the bytes. */
	if (!bpf_seq_write(seq, p, sizeof(*p)) && waits_are_reported)
		wait->since_ns = 0; /* if there was no room, the task comes again */
}

/* The field is an int in Linux 6.18, a byte in 7.2. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, on_cpu);
}

/*
 * Runs for every task. At the start it stores which threads already wait. After the recording's end
 * it writes a struct blocked_thread for each thread that still waits.
 */
SEC("iter/task")
int offcpu_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || task_is_kernel(task) || is_on_cpu(task) || task->exit_state ||
	    !target_is_wanted(task))
		return 0;
	struct wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);
	if (bpf_ktime_get_ns() < recording_end_ns) {
		if (!wait)
			begin_wait(task, state_of(task, task->__state, false), WAIT_NO_CPU,
				   bpf_ktime_get_ns());
	} else if (wait && wait->since_ns && cpu_is_sampled(wait->cpu) &&
		   offcpu_begin_ns(task->tgid, wait->since_ns) != WINDOW_NEVER) {
		report(ctx->meta->seq, task, wait);
	}
	return 0;
}
