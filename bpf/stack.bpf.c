// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A sample under construction. */
#include "stack.h"

#include "context.h"
#include "cpus.h"
#include "maps.h"
#include "records.h"
#include "target.h"
#include "task.h"
#include "throttle.h"
#include "window.h"

#define RECORD_HEAD_BYTES 16 /* the kernel's header, and rounding up to 8 bytes */
#define LOCK_TRIES        4

static __always_inline struct scratch *take_record(u32 slot, u32 cpu)
{
	u32 end = slot == SLOT_UPROBE ? NR_SLOTS : slot + 1;

	for (; slot < end; slot++) {
		u32 i = slot * knobs.nr_cpus + cpu;
		struct scratch *s = bpf_map_lookup_elem(&scratches, &i);

		if (!s) {
			count(STAT_NO_SCRATCH);
			return NULL;
		}
		if (!__sync_lock_test_and_set(&s->is_taken, 1))
			return s;
	}
	count(STAT_BUSY);
	return NULL;
}

static __always_inline struct scratch *begin(u32 slot, u32 event, u32 throttle)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!target_is_wanted(task)) {
		count(task->pid ? STAT_FILTERED : STAT_IDLE);
		return NULL;
	}

	u32 cpu = bpf_get_smp_processor_id();
	if (!cpu_is_sampled(cpu)) {
		count(STAT_OTHER_CPU);
		return NULL;
	}

	/* A sample may come after the recording's end: a wait is sampled when it is over. */
	u64 now_ns = bpf_ktime_get_ns();
	if (slot != SLOT_SWITCH && !recording_holds(now_ns))
		return NULL;

	if (window_since(task->tgid) == WINDOW_NEVER) {
		count(STAT_WINDOW);
		return NULL;
	}

	if (throttle == THROTTLE_HITS && !throttle_allows(now_ns)) {
		count(STAT_THROTTLED);
		count_event(event, EVENT_THROTTLED);
		return NULL;
	}

	struct scratch *s = take_record(slot, cpu);
	if (!s) {
		count_event(event, EVENT_BUSY);
		return NULL;
	}

	s->throttle = throttle;
	s->sample.kind = RECORD_SAMPLE;
	s->sample.event = event;
	s->sample.task = task_id_of(task);
	s->sample.time_ns = now_ns;
	s->sample.weight = 1;
	s->sample.cpu = cpu;
	s->sample.state = STATE_NONE;
	s->sample.nr_context = 0;
	s->sample.unit_ns = 0;
	s->sample.mapped = 0;
	s->sample.nr_kernel = 0;
	s->sample.nr_user = 0;
	s->sample.unloads = 0;
	bpf_get_current_comm(s->sample.comm, sizeof(s->sample.comm));
	return s;
}

__hidden struct scratch *stack_begin(u32 slot, u32 event)
{
	return begin(slot, event, slot >= SLOT_TRACE ? THROTTLE_HITS : NR_THROTTLES);
}

__hidden struct scratch *stack_begin_hook(u32 event)
{
	return begin(SLOT_UPROBE, event, THROTTLE_HOOKS);
}

__hidden void stack_end(struct scratch *s)
{
	if (s->throttle < NR_THROTTLES)
		throttle_spend(s->throttle, s->sample.time_ns);
	__sync_lock_test_and_set(&s->is_taken, 0);
}

__hidden void stack_kernel(void *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, s->words, ABI_KERNEL_FRAMES * sizeof(u64), 0);

	s->sample.nr_kernel = bytes > 0 ? bytes / sizeof(u64) : 0;
}

static __always_inline bool has_room(u64 bytes)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) + bytes + RECORD_HEAD_BYTES <=
	       bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);
}

/*
 * Returns whether the record is in the ring. In an NMI the kernel only tries the ring's lock, which
 * another CPU holds for a moment. Linux 6.15 and newer wait for it.
 */
static __always_inline bool add_record(struct scratch *s, u64 bytes)
{
	for (u32 i = 0; i < LOCK_TRIES; i++) {
		if (!bpf_ringbuf_output(&records, s, bytes, records_flags()))
			return true;
		if (!has_room(bytes))
			return false;
	}
	return false;
}

static __always_inline void count_loss(const struct scratch *s, bool is_locked)
{
	records_failed();
	count(is_locked ? STAT_RING_LOCKED : STAT_RING_FULL);
	count_event(s->sample.event & (ABI_EVENTS - 1),
		    is_locked ? EVENT_RING_LOCKED : EVENT_RING_FULL);
}

__hidden void stack_submit(struct scratch *s, u32 stop)
{
	context_add(s);
	if (knobs.has_labels)
		java_values_add(s);
	u64 words = s->sample.nr_kernel + 2 * (u64)s->sample.nr_user +
		    (s->sample.nr_context & ~SAMPLE_HAS_VALUES) +
		    (s->sample.nr_context & SAMPLE_HAS_VALUES ? SAMPLE_VALUES : 0);

	s->sample.stop = stop;
	count(STAT_SAMPLES);
	count(stop);
	if (words > ABI_SAMPLE_WORDS)
		return;
	u64 bytes = sizeof(struct sample) + words * sizeof(u64);
	if (!add_record(s, bytes))
		count_loss(s, has_room(bytes));
}
