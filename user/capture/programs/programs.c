/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of a recording: loading, attaching, reading. */
#include "capture/programs/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "base/types.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/kernel_types.h"
#include "capture/programs/load.h"
#include "knobs.h"
#include "sandbox/rights.h"

#include "recording.skel.h" /* needs the types above */

/*
 * Uprobes attached with BPF links, from Linux 6.6 on. Unlike perf's uprobes they need no
 * CAP_SYS_ADMIN. libbpf supports them only from 1.3 on. The type is for
 * bpf_program__set_expected_attach_type, before loading.
 */
#define UPROBE_MULTI_ATTACH_TYPE 48

#define CMD_LINK_CREATE 28        /* BPF_LINK_CREATE */
#define FLAG_AT_RETURN  (1u << 0) /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr for these links; headers before 6.6 lack it. */
struct link_create {
	u32 program_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	u64 path;
	u64 offsets;
	u64 semaphore_offsets;
	u64 cookies;
	u32 nr;
	u32 multi_flags;
	u32 pid;
	u32 pad;
};

/* The link is its descriptor; the lowest bit distinguishes it from a pointer. */
static struct bpf_link *link_of_fd(int fd)
{
	return (struct bpf_link *)((uintptr_t)fd << 1 | 1);
}

/* `out` receives a link without libbpf's struct. Returns 0 or a negative errno. */
static int uprobe_multi_attach(int program_fd, const struct programs_uprobe *at,
			       struct bpf_link **out)
{
	const u64 off = at->file_off, semaphore_off = at->semaphore_off, cookie = at->cookie;
	struct link_create attr = {
		.program_fd = (u32)program_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (u64)(uintptr_t)at->path,
		.offsets = (u64)(uintptr_t)&off,
		.semaphore_offsets = semaphore_off ? (u64)(uintptr_t)&semaphore_off : 0,
		.cookies = (u64)(uintptr_t)&cookie,
		.nr = 1,
		.multi_flags = at->at_return ? FLAG_AT_RETURN : 0,
		.pid = at->pid > 0 ? (u32)at->pid : 0,
	};
	long fd = syscall(SYS_bpf, CMD_LINK_CREATE, &attr, sizeof(attr));

	*out = fd < 0 ? NULL : link_of_fd((int)fd);
	return fd < 0 ? -errno : 0;
}

/* Ends a link of uprobe_multi_attach. Returns false for any other link, and for NULL. */
static bool uprobe_multi_detach(struct bpf_link *link)
{
	if (!((uintptr_t)link & 1))
		return false;
	close((int)((uintptr_t)link >> 1));
	return true;
}

#define LOADING_NICENESS (-20)
#define GENERATIONS_MAX  64 /* depth of the tree of processes; a real one has a dozen */
#define RING_BYTES_MIN   (4 * 1024 * 1024)
#define RING_BYTES_MAX   (64 * 1024 * 1024)

struct programs {
	struct recording_skel *skel; /* from gen/recording.skel.h */
	struct ring *ring;
	pthread_t loading; /* the thread that loads them, while is_loading */
	bool is_loading;
	int load_err;
	struct load_refusal refusal; /* if load_err */
	u32 programs;                /* PROGRAM_BIT of each that events chose */
	struct bpf_link *waits[3];
	int measure_fd; /* keeps the kernel's run-time statistics on; -1: off */
};

/* A power of two, as the ring buffer requires. */
static u32 ring_size(const struct programs_options *o, int nr_cpus)
{
	size_t need = o->ring_bytes ?: (size_t)nr_cpus * o->cpu_bytes;
	size_t size = o->ring_bytes ? 4096 : RING_BYTES_MIN;
	size_t most = o->ring_bytes_max && !o->ring_bytes ? o->ring_bytes_max : RING_BYTES_MAX;

	while (size < need && 2 * size <= most)
		size *= 2;
	return (u32)size;
}

/*
 * The place where a thread returns to a CPU: a tracepoint from Linux 6.16 on, before that a
 * function.
 */
#define RESUME_TRACEPOINT "sched_exit_tp"
#define RESUME_FUNCTION   "finish_task_switch"

static struct bpf_program *program_of(const struct recording_skel *skel, enum program program)
{
	switch (program) {
#define X(NAME, name)        \
	case PROGRAM_##NAME: \
		return skel->progs.name;
		PROGRAMS(X)
#undef X
	case PROGRAM_NONE:
	case NR_PROGRAMS:
		break;
	}
	return NULL;
}

static bool is_of_this_kernel(enum program program)
{
	if (program == PROGRAM_OFFCPU_END)
		return programs_kernel_has(RESUME_TRACEPOINT);
	return program != PROGRAM_OFFCPU_BACK || !programs_kernel_has(RESUME_TRACEPOINT);
}

/* Whether BPF must follow processes, to keep their selection or their window. */
static bool follows_targets(const struct knobs *knobs)
{
	return knobs->include || knobs->exclude || knobs->window != WINDOW_NONE;
}

static void choose_programs(const struct recording_skel *skel, const struct programs_options *o)
{
	bool follows = follows_targets(&o->knobs);
	u32 chosen = o->programs;

	if (o->knobs.window != WINDOW_NONE)
		chosen |= PROGRAM_BIT(WINDOW_BEGIN) | PROGRAM_BIT(WINDOW_END);
	for (enum program p = PROGRAM_NONE + 1; p < NR_PROGRAMS; p++)
		bpf_program__set_autoload(program_of(skel, p),
					  chosen & 1u << p && is_of_this_kernel(p));
	bpf_program__set_autoload(skel->progs.target_fork, follows);
	bpf_program__set_autoload(skel->progs.target_exec, follows);
	bpf_program__set_autoload(skel->progs.target_exit, follows);
	bpf_program__set_autoload(skel->progs.target_list, follows);
	bpf_program__set_autoload(skel->progs.target_children, follows);
}

/* Whether the map of live memory is needed, which takes 25 ms to create. */
static bool follows_memory(const struct knobs *knobs)
{
	return knobs->memory.interval || knobs->alloc_is_live;
}

static bool has_filter(const struct knobs *knobs)
{
	for (u32 i = 0; i < ABI_EVENTS; i++)
		if (knobs->events[i].has_filter)
			return true;
	return false;
}

/*
 * Links for several uprobes detach in a third of the time, and many at once. With a process as
 * target they saw only its main thread before Linux 6.10 and its stable branches (commit
 * 46ba0e49b642).
 */
static bool has_multi_links(void)
{
	return programs_can_attach_without_admin() &&
	       (!capability_has(CAP_SYS_ADMIN) || kernel_is_from(6, 10));
}

/* Reads the kernel's types only if a program for uprobes is loaded. */
static void choose_links(struct recording_skel *skel)
{
	struct bpf_program *program;
	bool is_asked = false, multi = false;

	bpf_object__for_each_program(program, skel->obj)
	{
		if (!bpf_program__autoload(program) ||
		    strncmp(bpf_program__section_name(program), "u", 1) != 0)
			continue;
		multi = is_asked ? multi : has_multi_links();
		is_asked = true;
		if (multi)
			bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH_TYPE);
	}
}

static int configure(struct recording_skel *skel, const struct programs_options *o)
{
	int nr_cpus = libbpf_num_possible_cpus();
	if (nr_cpus < 0)
		return nr_cpus;

	choose_programs(skel, o);
	choose_links(skel);
	kernel_types_forget();
	skel->rodata->knobs = o->knobs;
	skel->rodata->knobs.nr_cpus = (u32)nr_cpus;
	const struct {
		struct bpf_map *map;
		u32 nr;
	} sizes[] = {
		{ skel->maps.scratches, (u32)nr_cpus * o->nr_slots },
		{ skel->maps.records, ring_size(o, nr_cpus) },
		{ skel->maps.clock_ids, (u32)nr_cpus * ABI_EVENTS },
		{ skel->maps.filter_patterns,
		  has_filter(&o->knobs) ? ABI_EVENTS * FILTER_PATTERNS : 1 },
		{ skel->maps.memory_live, follows_memory(&o->knobs) ? MEMORY_LIVE_MAX : 1 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int err = bpf_map__set_max_entries(sizes[i].map, sizes[i].nr);
		if (err)
			return err;
	}
	return 0;
}

static int use_tables(struct recording_skel *skel, const struct tables_fds *node)
{
	return bpf_map__reuse_fd(skel->maps.unwind_rows, node->rows)
		       ?: bpf_map__reuse_fd(skel->maps.unwind_ranges, node->ranges)
		       ?: bpf_map__reuse_fd(skel->maps.unwind_procs, node->procs)
		       ?: bpf_map__reuse_fd(skel->maps.jvms, node->jvms)
		       ?: bpf_map__reuse_fd(skel->maps.context_places, node->context_places)
		       ?: bpf_map__reuse_fd(skel->maps.java_places, node->java_places);
}

static int open_skel(struct programs *bpf, const struct programs_options *o)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_types_path());
	struct recording_skel *skel = bpf->skel = recording_skel__open_opts(&opts);

	return skel ? configure(skel, o) ?: use_tables(skel, &o->tables) : -errno;
}

/*
 * Loads the programs, which takes 70 ms of CPU time while the user waits. Raises its priority:
 * without CAP_SYS_NICE it shares the CPU with busy programs.
 */
static void *load(void *programs)
{
	struct programs *bpf = programs;
	int niceness = getpriority(PRIO_PROCESS, 0); /* of this thread */

	setpriority(PRIO_PROCESS, 0, LOADING_NICENESS);
	load_watch(&bpf->refusal);
	bpf->load_err = recording_skel__load(bpf->skel);
	load_watch(NULL);
	setpriority(PRIO_PROCESS, 0, niceness);
	return NULL;
}

/*
 * Loads the programs in a thread: while the kernel verifies them, the caller reads processes and
 * their files.
 */
static void load_apart(struct programs *bpf)
{
	bpf->is_loading = !thread_start(0, load, bpf, &bpf->loading);
	if (!bpf->is_loading)
		load(bpf);
}

static void explain(const struct programs *bpf, int err)
{
	const char *compiler = bpf->skel ? (const char *)bpf->skel->rodata->bpf_compiler : NULL;

	load_explain(err, &bpf->refusal, compiler);
}

int programs_load_begin(const struct programs_options *options, struct programs **out)
{
	struct programs *bpf = xcalloc(1, sizeof(*bpf));
	bpf->measure_fd = -1;
	bpf->programs = options->programs;
	int err = load_begin() ?: open_skel(bpf, options);
	if (err) {
		explain(bpf, err);
		programs_free(bpf);
		return err;
	}
	load_apart(bpf);
	*out = bpf;
	return 0;
}

static void await_load(struct programs *bpf)
{
	if (bpf->is_loading)
		pthread_join(bpf->loading, NULL);
	bpf->is_loading = false;
}

int programs_load_end(struct programs *bpf)
{
	await_load(bpf);
	const struct recording_skel *skel = bpf->skel;
	int err = bpf->load_err;
	if (!err) {
		const struct ring_place place = { .fd = bpf_map__fd(skel->maps.records),
						  .is_called = &skel->bss->receiver_is_called,
						  .halvings = &skel->bss->backlog_halvings };
		err = ring_new(&place, &bpf->ring);
	}
	if (err)
		explain(bpf, err);
	return err;
}

void programs_free(struct programs *bpf)
{
	if (!bpf)
		return;
	await_load(bpf);
	if (bpf->measure_fd >= 0)
		close(bpf->measure_fd);
	ring_free(bpf->ring);
	for (size_t i = 0; i < ARRAY_SIZE(bpf->waits); i++)
		bpf_link__destroy(bpf->waits[i]);
	recording_skel__destroy(bpf->skel);
	free(bpf);
}

int programs_attach_perf(struct programs *bpf, int perf_fd, u32 event, struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = event);
	auto_close int fd = dup(perf_fd); /* the link closes it */
	if (fd < 0)
		return -errno;

	*out = bpf_program__attach_perf_event_opts(bpf->skel->progs.perf_sample, fd, &opts);
	if (!*out)
		return -errno;
	fd = -1;
	return 0;
}

/*
 * Attaches the program that ends targets at their exit. It is attached again after the events, so
 * that it runs last at the tracepoint that it shares with them.
 */
static int follow_exits(struct recording_skel *skel)
{
	bpf_link__destroy(skel->links.target_exit);
	skel->links.target_exit = load_attach(skel->progs.target_exit);
	return skel->links.target_exit ? 0 : -errno;
}

int programs_attach_tracepoint(struct programs *bpf, const char *group, const char *name, u32 event,
			       struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = event);

	*out = bpf_program__attach_tracepoint_opts(bpf->skel->progs.trace_hit, group, name, &opts);
	if (!*out)
		return -errno;
	bool is_exit = bpf->skel->links.target_exit && !strcmp(name, "sched_process_exit");
	int err = is_exit ? follow_exits(bpf->skel) : 0;
	if (err)
		bpf_link__destroy(*out);
	return err;
}

int programs_attach_kprobe(struct programs *bpf, const struct programs_kprobe *at, u32 event,
			   struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = event, .offset = at->offset,
		    .retprobe = at->at_return);

	*out = bpf_program__attach_kprobe_opts(bpf->skel->progs.kprobe_hit, at->function, &opts);
	return *out ? 0 : -errno;
}

int programs_set_filter(struct programs *bpf, u32 event, const struct filter *filter,
			const struct filter_pattern *patterns, u32 nr_patterns)
{
	struct recording_skel *skel = bpf->skel;
	int err = bpf_map__update_elem(skel->maps.filters, &event, sizeof(event), filter,
				       sizeof(*filter), BPF_ANY);

	for (u32 i = 0; !err && i < nr_patterns; i++) {
		u32 key = event * FILTER_PATTERNS + i;
		err = bpf_map__update_elem(skel->maps.filter_patterns, &key, sizeof(key),
					   &patterns[i], sizeof(patterns[i]), BPF_ANY);
	}
	return err;
}

int programs_attach_program(struct programs *bpf, const struct programs_uprobe *at,
			    struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = at->cookie, .retprobe = at->at_return,
		    .ref_ctr_offset = at->semaphore_off);
	struct bpf_program *program = program_of(bpf->skel, at->program);

	if (!program || bpf_program__fd(program) < 0)
		return -ENOENT;
	if (bpf_program__expected_attach_type(program) == UPROBE_MULTI_ATTACH_TYPE)
		return uprobe_multi_attach(bpf_program__fd(program), at, out);
	*out = bpf_program__attach_uprobe_opts(program, at->pid, at->path, at->file_off, &opts);
	return *out ? 0 : -errno;
}

int programs_set_memory_file(struct programs *bpf, u32 number, const struct memory_file *file)
{
	return bpf_map__update_elem(bpf->skel->maps.memory_files, &number, sizeof(number), file,
				    sizeof(*file), BPF_ANY);
}

int programs_memory_file(const struct programs *bpf, u32 number, struct memory_file *out)
{
	return bpf_map__lookup_elem(bpf->skel->maps.memory_files, &number, sizeof(number), out,
				    sizeof(*out), 0);
}

#define LIVE_BATCH 4096

int programs_each_live(struct programs *bpf, programs_live_fn visit, void *ctx)
{
	int fd = bpf_map__fd(bpf->skel->maps.memory_live), err = 0;
	auto_free struct memory_key *keys = xcalloc(LIVE_BATCH, sizeof(*keys));
	auto_free struct memory_live *values = xcalloc(LIVE_BATCH, sizeof(*values));
	u32 place, *from = NULL;

	while (!err) {
		u32 nr = LIVE_BATCH, nr_gone = 0;
		err = bpf_map_lookup_batch(fd, from, &place, keys, values, &nr, NULL);
		if (err && err != -ENOENT)
			return err;
		from = &place;
		for (u32 i = 0; i < nr; i++)
			if (visit((pid_t)keys[i].pid, (u32)values[i].tid, values[i].sample_ns, ctx))
				keys[nr_gone++] = keys[i];
		if (nr_gone)
			bpf_map_delete_batch(fd, keys, &nr_gone, NULL);
	}
	return 0;
}

void programs_use_hierarchies(struct programs *bpf, u32 mask)
{
	bpf->skel->bss->target_hierarchies = mask;
}

void programs_detach(struct bpf_link *link)
{
	if (!uprobe_multi_detach(link))
		bpf_link__destroy(link);
}

/* Reads an iterator's output, record by record, into `record`. */
static int read_iterator(const struct bpf_link *link, void *record, size_t size,
			 void (*visit)(const void *record, void *ctx), void *ctx)
{
	auto_close int fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;

	size_t have = 0;
	for (ssize_t got; (got = read(fd, (char *)record + have, size - have));) {
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		have += got > 0 ? (size_t)got : 0;
		if (have < size)
			continue;
		have = 0;
		visit(record, ctx);
	}
	return 0;
}

struct pending_visit {
	programs_blocked_fn pending; /* may be NULL */
	void *ctx;
};

static void visit_pending(const void *record, void *ctx)
{
	const struct pending_visit *v = ctx;
	const struct blocked_thread *p = record;

	if (v->pending && p->sample.nr_kernel <= ABI_KERNEL_FRAMES)
		v->pending(p, v->ctx);
}

static int read_tasks(struct programs *bpf, programs_blocked_fn pending, void *ctx)
{
	struct pending_visit v = { pending, ctx };
	struct blocked_thread p;

	if (!bpf->waits[2]) /* the recording ended before programs_start_waits */
		return 0;
	return read_iterator(bpf->waits[2], &p, sizeof(p), visit_pending, &v);
}

struct process_visit {
	programs_process_fn visit;
	void *ctx;
};

static void visit_process(const void *record, void *ctx)
{
	const struct process_visit *v = ctx;

	v->visit(record, v->ctx);
}

static int each_process(struct bpf_program *iterator, programs_process_fn visit, void *ctx)
{
	struct process_visit v = { visit, ctx };
	struct task_id id;

	if (bpf_program__fd(iterator) < 0)
		return 0;
	struct bpf_link *link = load_attach(iterator);
	if (!link)
		return -errno;

	int err = read_iterator(link, &id, sizeof(id), visit_process, &v);
	bpf_link__destroy(link);
	return err;
}

int programs_each_target(struct programs *bpf, programs_process_fn visit, void *ctx)
{
	return each_process(bpf->skel->progs.target_list, visit, ctx);
}

static void count_child(const struct task_id *id, void *nr)
{
	++*(size_t *)nr;
}

int programs_select_children(struct programs *bpf)
{
	for (int generation = 0; generation < GENERATIONS_MAX; generation++) {
		size_t nr = 0;
		int err = each_process(bpf->skel->progs.target_children, count_child, &nr);
		if (err || !nr)
			return err;
	}
	return 0;
}

struct targets_fds programs_targets(const struct programs *bpf)
{
	return (struct targets_fds){
		.pids = bpf_map__fd(bpf->skel->maps.targets),
		.comms = bpf_map__fd(bpf->skel->maps.target_comms),
		.users = bpf_map__fd(bpf->skel->maps.target_users),
		.cgroups = bpf_map__fd(bpf->skel->maps.target_cgroups),
	};
}

static struct bpf_link *attach_end_of_waits(struct programs *bpf)
{
	auto_free char *function = NULL;

	if (bpf_program__fd(bpf->skel->progs.offcpu_end) >= 0)
		return load_attach(bpf->skel->progs.offcpu_end);
	function = kernel_function(RESUME_FUNCTION);
	return function ? bpf_program__attach_kprobe(bpf->skel->progs.offcpu_back, false, function)
			: NULL;
}

int programs_start_waits(struct programs *bpf)
{
	if (!(bpf->waits[0] = load_attach(bpf->skel->progs.offcpu_begin)) ||
	    !(bpf->waits[1] = attach_end_of_waits(bpf)) ||
	    !(bpf->waits[2] = load_attach(bpf->skel->progs.offcpu_tasks)))
		return -errno;
	return read_tasks(bpf, NULL, NULL);
}

bool programs_can_follow_waits(void)
{
	auto_free char *function = NULL;

	if (programs_kernel_has(RESUME_TRACEPOINT))
		return true;
	function = kernel_function(RESUME_FUNCTION);
	return function;
}

/* Sets the end first: a window that has begun then has its end. */
void programs_set_window(struct programs *bpf, const struct span *window)
{
	volatile u64 *begin = &bpf->skel->data->recording_begin_ns;
	volatile u64 *end = &bpf->skel->data->recording_end_ns;

	*end = window->end_ns;
	*begin = window->begin_ns;
}

void programs_blocked(struct programs *bpf, bool is_last, programs_blocked_fn pending, void *ctx)
{
	bpf->skel->bss->waits_are_reported = is_last;
	int err = read_tasks(bpf, pending, ctx);

	if (err)
		log_warn("waits that last at the end are missing: %s", strerror(-err));
}

int programs_attach_targets(struct programs *bpf)
{
	struct recording_skel *skel = bpf->skel;

	if (bpf_program__fd(skel->progs.target_fork) < 0)
		return 0;
	skel->links.target_fork = load_attach(skel->progs.target_fork);
	skel->links.target_exec = load_attach(skel->progs.target_exec);
	if (skel->links.target_fork && skel->links.target_exec && !follow_exits(skel))
		return 0;
	int err = -errno;
	privilege_explain("following the selected processes", err);
	return err;
}

struct bpf_object *programs_object(const struct programs *bpf)
{
	return bpf->skel->obj;
}

int programs_event_runs(const struct programs *bpf, u32 event, struct event_runs *out, u32 nr)
{
	return bpf_map__lookup_elem(bpf->skel->maps.event_runs, &event, sizeof(event), out,
				    nr * sizeof(*out), 0);
}

void programs_sum_runs(const struct programs *bpf, u32 event, struct event_runs *out)
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free struct event_runs *ran = xcalloc((size_t)nr_cpus, sizeof(*ran));

	*out = (struct event_runs){ 0 };
	if (programs_event_runs(bpf, event, ran, (u32)nr_cpus))
		return;
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		out->nr += ran[cpu].nr;
		out->nr_wanted += ran[cpu].nr_wanted;
	}
}

u64 programs_nr_declined(const struct programs *bpf, enum program program)
{
	return load_nr_declined(program_of(bpf->skel, program));
}

int programs_set_clock(struct programs *bpf, u32 event, int cpu, u64 id)
{
	u32 key = event * bpf->skel->rodata->knobs.nr_cpus + (u32)cpu;

	return bpf_map__update_elem(bpf->skel->maps.clock_ids, &key, sizeof(key), &id, sizeof(id),
				    BPF_ANY);
}

struct ring *programs_ring(const struct programs *bpf)
{
	return bpf->ring;
}

void programs_stats(const struct programs *bpf, u64 stats[NR_STATS])
{
	load_sum_counters(bpf->skel->maps.stats, 0, stats, NR_STATS);
}

void programs_event_counts(const struct programs *bpf, u32 event, u64 counts[NR_EVENT_COUNTS])
{
	load_sum_counters(bpf->skel->maps.event_counts, event * NR_EVENT_COUNTS, counts,
			  NR_EVENT_COUNTS);
}

int programs_measure(struct programs *bpf)
{
	bpf->measure_fd = load_timing_open();
	return bpf->measure_fd < 0 ? bpf->measure_fd : 0;
}

static void add_walks(const struct programs *bpf, struct sampling_cost *out)
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free struct walk_cost *per_cpu = xcalloc((size_t)nr_cpus, sizeof(*per_cpu));
	u32 zero = 0;

	if (bpf_map__lookup_elem(bpf->skel->maps.costs, &zero, sizeof(zero), per_cpu,
				 (size_t)nr_cpus * sizeof(*per_cpu), 0))
		return;
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		out->walks += per_cpu[cpu].nr_walks;
		out->frames += per_cpu[cpu].nr_frames;
		out->walk_ns += per_cpu[cpu].walk_ns;
		out->frame_pointer_ns += per_cpu[cpu].frame_pointers_ns;
	}
}

void programs_measured(const struct programs *bpf, struct sampling_cost *out)
{
	*out = (struct sampling_cost){ 0 };
	for (enum program p = PROGRAM_NONE + 1; p < NR_PROGRAMS; p++) {
		const struct bpf_program *program = program_of(bpf->skel, p);
		struct bpf_prog_info info = { 0 };
		u32 len = sizeof(info);

		if (!(bpf->programs & 1u << p) ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			continue;
		out->run_ns += info.run_time_ns;
		out->runs += info.run_cnt;
	}
	add_walks(bpf, out);
}

u64 programs_run_ns(const struct programs *bpf)
{
	return load_run_ns(bpf->skel->obj);
}
