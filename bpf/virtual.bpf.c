// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads the states of a JVM's virtual threads at one moment. User space runs these programs with
 * BPF_PROG_TEST_RUN: virtual_find finds a CPU on which the JVM runs, and virtual_take interrupts
 * the JVM there, so that its memory is at hand. They are an object of their own, because few
 * recordings need them.
 */
#include "java_reference.h"
#include "kernel.h"

#include "virtual_abi.h"

#define CPUS_MAX        1024
#define CLOCK_MONOTONIC 1
#define CHAIN_MAX       8 /* nodes of a bin */

struct virtual_places_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VIRTUAL_PLACES);
	__type(key, u32);
	__type(value, struct virtual_place);
};
struct virtual_places_map virtual_places SEC(".maps");

/* The run queues of the CPUs: 0 if unknown. Their symbol is not exported. */
struct run_queues_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS_MAX);
	__type(key, u32);
	__type(value, u64);
};
struct run_queues_map run_queues SEC(".maps");

/* CO-RE finds the kernel's types by their names. */
struct rq___virtual {
	struct task_struct *curr;
} __attribute__((preserve_access_index));

struct cfs_rq___virtual {
	struct rq___virtual *rq;
} __attribute__((preserve_access_index));

struct sched_entity___virtual {
	struct cfs_rq___virtual *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct___virtual {
	struct sched_entity___virtual se;
} __attribute__((preserve_access_index));

/* Remembers the run queue of the CPU on which it runs. Returns 0, or -2 (ENOENT). */
SEC("raw_tp/virtual_learn")
int virtual_learn(const u64 *args)
{
	struct task_struct___virtual *task = (void *)bpf_get_current_task();
	u32 cpu = bpf_get_smp_processor_id();

	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq___virtual *)0)->rq))
		return -2;
	u64 rq = (u64)BPF_CORE_READ(task, se.cfs_rq, rq);
	return rq ? bpf_map_update_elem(&run_queues, &cpu, &rq, BPF_ANY) : -2;
}

struct find {
	u32 pid;
	int cpu;
};

static long look_at_cpu(u32 cpu, struct find *f)
{
	const u64 *rq = bpf_map_lookup_elem(&run_queues, &cpu);

	if (!rq || !*rq)
		return 0;
	struct task_struct *task = BPF_CORE_READ((struct rq___virtual *)*rq, curr);
	if (!task || BPF_CORE_READ(task, tgid) != f->pid)
		return 0;
	f->cpu = cpu;
	return 1;
}

/*
 * args[0]: PID, args[1]: the number of CPUs. Returns a CPU on which the process runs, or -1.
 */
SEC("raw_tp/virtual_find")
int virtual_find(const u64 *args)
{
	struct find find = { .pid = args[0], .cpu = -1 };

	bpf_loop(args[1], look_at_cpu, &find, 0);
	return find.cpu;
}

static __always_inline bool read_bytes(void *out, u32 len, u64 addr)
{
	return !bpf_probe_read_user(out, len, (void *)addr);
}

static __always_inline u64 address_of(const struct virtual_place *p, u64 reference)
{
	return p->is_colored ? java_colored_address(reference) : reference;
}

/* The object to which the field at `addr` refers; 0 for null and for what cannot be read. */
static __noinline u64 read_reference(const struct virtual_place *p, u64 addr)
{
	u64 wide = 0;
	u32 narrow = 0;

	if (p->reference_bytes != sizeof(narrow))
		return read_bytes(&wide, sizeof(wide), addr) ? address_of(p, wide) : 0;
	if (!read_bytes(&narrow, sizeof(narrow), addr) || !narrow)
		return 0;
	return p->narrow_base + ((u64)narrow << (p->narrow_shift & 7));
}

static __always_inline bool is_of_class(const struct virtual_place *p, u64 object, u64 class)
{
	u64 word = 0;

	if (p->class_bytes == sizeof(u32))
		return read_bytes(&word, sizeof(u32), object + p->class_at) && word == class;
	return read_bytes(&word, sizeof(word), object + p->class_at) &&
	       word >> (p->class_shift & 63) == class;
}

static __always_inline u32 read_number(u64 addr)
{
	u32 number = 0;

	return read_bytes(&number, sizeof(number), addr) ? number : 0;
}

/*
 * Copies the stack of a thread without a carrier, if it lies in one chunk and is short enough.
 * Otherwise user space reads it later.
 */
static __noinline int copy_stack(struct virtual_place *p, u64 object, struct virtual_seen *seen)
{
	u64 cont = read_reference(p, object + p->cont);
	u64 chunk = cont ? read_reference(p, cont + p->tail) : 0;

	if (!seen || !chunk || !is_of_class(p, chunk, p->chunk) ||
	    read_reference(p, chunk + p->parent))
		return 0;
	u32 size = read_number(chunk + p->size), sp = read_number(chunk + p->sp);
	u32 end = p->end ? read_number(chunk + p->end) : size - read_number(chunk + p->arguments);
	u32 at = p->nr_words;
	u32 words = end - sp + p->metadata;
	if (end > size || sp >= end || sp < p->metadata || words > VIRTUAL_STACK ||
	    at > VIRTUAL_WORDS - VIRTUAL_STACK)
		return 0;
	if (!read_bytes(&p->words[at], words * sizeof(u64),
			chunk + p->stack + (u64)(sp - p->metadata) * sizeof(u64)))
		return 0;
	seen->first_word = at;
	seen->nr_words = words;
	p->nr_words = at + words;
	return 0;
}

/* Words of an ObjectWaiter, see user/jvm/memory/java_locks.h. */
enum {
	WAITER_THREAD = 2,
	WAITER_VTHREAD,
	WAITER_MONITOR,
	WAITER_WORDS
};

/* The monitor for which the thread waits: that of the ObjectWaiter which refers to it. */
static __noinline u64 find_monitor(const struct virtual_place *p, u64 object)
{
	u64 waiter, thread, words[WAITER_WORDS];

	for (u32 i = 0; i < VIRTUAL_WAITERS; i++) {
		if (!p->waiters[i] ||
		    !read_bytes(&waiter, sizeof(waiter), object + p->waiters[i]) || !waiter ||
		    waiter & 7 || !read_bytes(words, sizeof(words), waiter) ||
		    words[WAITER_THREAD] || !words[WAITER_VTHREAD])
			continue;
		if (read_bytes(&thread, sizeof(thread), words[WAITER_VTHREAD]) &&
		    address_of(p, thread) == object)
			return words[WAITER_MONITOR];
	}
	return 0;
}

static __noinline int add_thread(struct virtual_place *p, u64 object, u32 slot)
{
	struct virtual_seen seen = { .object = object, .slot = slot };
	u32 nr = p->nr_threads;

	if (!is_of_class(p, object, p->class))
		return 0;
	if (nr >= VIRTUAL_THREADS) {
		p->is_partial = 1;
		return 0;
	}
	read_bytes(&seen.id, sizeof(seen.id), object + p->id);
	read_bytes(&seen.state, sizeof(seen.state), object + p->state);
	seen.has_carrier = read_reference(p, object + p->carrier) != 0;
	seen.blocker = p->blocker ? read_reference(p, object + p->blocker) : 0;
	if (!seen.has_carrier) {
		seen.monitor = find_monitor(p, object);
		copy_stack(p, object, &seen);
	}
	p->threads[nr & (VIRTUAL_THREADS - 1)] = seen;
	p->nr_threads = nr + 1;
	return 0;
}

struct walk {
	struct virtual_place *place;
	u64 node; /* the next one of the bin; 0: go on with the next slot */
	u32 slot; /* the next one */
	u32 nr_nodes;
};

static long step(u32 i, struct walk *w)
{
	struct virtual_place *p = w->place;
	s32 hash = -1;

	if (!w->node) {
		if (w->slot >= p->nr_slots || w->slot >= VIRTUAL_SLOTS)
			return 1;
		w->node = read_reference(p, p->slots[w->slot & (VIRTUAL_SLOTS - 1)]);
		w->slot++;
		w->nr_nodes = 0;
		return 0;
	}
	u64 node = w->node;
	w->node = 0;
	if (!read_bytes(&hash, sizeof(hash), node + p->node_hash) || hash < 0 ||
	    w->nr_nodes++ == CHAIN_MAX) {
		p->is_partial = 1;
		return 0;
	}
	u64 thread = read_reference(p, node + p->node_key);
	if (thread)
		add_thread(p, thread, w->slot - 1);
	w->node = read_reference(p, node + p->node_next);
	return 0;
}

/* Fills in the place, if its process runs on this CPU. */
static __always_inline void take(struct virtual_place *p)
{
	struct walk walk = { .place = p };

	if ((u32)(bpf_get_current_pid_tgid() >> 32) != p->pid)
		return;
	p->nr_threads = p->is_partial = p->nr_words = 0;
	bpf_loop(VIRTUAL_SLOTS + 2 * VIRTUAL_THREADS, step, &walk, 0);
	if (walk.slot < p->nr_slots)
		p->is_partial = 1;
	p->is_taken = 1;
}

/* args[0]: number of the place. */
SEC("raw_tp/virtual_take")
int virtual_take(const u64 *args)
{
	u32 key = args[0];
	struct virtual_place *p = bpf_map_lookup_elem(&virtual_places, &key);

	if (p)
		take(p);
	return 0;
}

/* include/uapi/linux/bpf.h */
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct virtual_timer {
	struct bpf_timer timer;
};

struct virtual_timers_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VIRTUAL_PLACES);
	__type(key, u32);
	__type(value, struct virtual_timer);
};
struct virtual_timers_map virtual_timers SEC(".maps");

static int expire(void *map, u32 *key, struct virtual_timer *timer)
{
	struct virtual_place *p = bpf_map_lookup_elem(&virtual_places, key);

	if (!p || !p->is_armed)
		return 0;
	take(p);
	p->is_armed = 0;
	return 0;
}

/*
 * Starts the timer of a place. It expires on this CPU, and fills in the place if the process runs
 * here. The recorder wakes up right after it, mostly on the same CPU.
 */
SEC("syscall")
int virtual_arm(struct virtual_arm_args *args)
{
	u32 key = args->place;
	struct virtual_timer *t = bpf_map_lookup_elem(&virtual_timers, &key);

	if (!t)
		return -2;
	bpf_timer_init(&t->timer, &virtual_timers,
		       CLOCK_MONOTONIC); /* fails from the second time on */
	return bpf_timer_set_callback(&t->timer, expire) ?: bpf_timer_start(&t->timer, args->ns, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
