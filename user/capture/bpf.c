/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs in the kernel. */
#include "capture/bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/privilege.h"
#include "capture/uprobe_multi.h"
#include "knobs.h"

#include "sysflame.skel.h" /* needs the types above */

#define RING_BYTES_PER_CPU (512 * 1024)
#define RING_BYTES_MIN     (4 * 1024 * 1024)
#define RING_BYTES_MAX     (64 * 1024 * 1024)

struct bpf {
	struct sysflame *skel; /* from gen/sysflame.skel.h */
	struct ring_buffer *ring;
	bpf_record_fn record; /* during bpf_drain */
	void *ctx;
	const char *programs[BPF_PROGRAMS]; /* that sample; NULL-terminated */
	struct bpf_link *waits[3];
	int measure_fd; /* keeps the kernel's run-time statistics on; -1 */
};

/*
 * The verifier's log is one message of many lines, the last of which say what it refuses. What
 * libbpf calls debugging are thousands of lines on how it relocates programs.
 */
static int print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	auto_free char *text = NULL;
	char *rest;

	if (level == LIBBPF_DEBUG || log_get_level() < LOG_DEBUG || vasprintf(&text, fmt, args) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
	return 0;
}

static int on_record(void *ctx, void *data, size_t len)
{
	struct bpf *bpf = ctx;

	bpf->record(data, len, bpf->ctx);
	return 0;
}

/* A power of two, as the ring buffer wants it. */
static u32 ring_size(size_t wanted, int nr_cpus)
{
	size_t need = wanted ?: (size_t)nr_cpus * RING_BYTES_PER_CPU;
	size_t size = wanted ? 4096 : RING_BYTES_MIN;

	while (size < need && size < RING_BYTES_MAX)
		size *= 2;
	return (u32)size;
}

/* Where a thread is back on a CPU, from Linux 6.16 on and before. */
#define RESUME_TRACEPOINT "sched_exit_tp"
#define RESUME_FUNCTION   "finish_task_switch"

/* The function's name, with what the compiler put behind it; NULL if it is not there. */
static char *kernel_function(const char *wanted)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	size_t len = strlen(wanted);
	char line[512], name[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*c %255s", name) == 1 && !strncmp(name, wanted, len) &&
		    (!name[len] || !strncmp(name + len, ".isra.", strlen(".isra."))))
			return xstrdup(name);
	return NULL;
}

static bool is_of_this_kernel(const char *program)
{
	if (!strcmp(program, "offcpu_end"))
		return bpf_kernel_has(RESUME_TRACEPOINT);
	return strcmp(program, "offcpu_back") || !bpf_kernel_has(RESUME_TRACEPOINT);
}

static bool is_asked_for(const char *program, const struct bpf_options *o)
{
	for (const char *const *p = o->programs; *p; p++)
		if (!strcmp(*p, program))
			return is_of_this_kernel(program);
	if (!strcmp(program, "remote_read"))
		return o->remote_reads;
	if (!strncmp(program, "window_", strlen("window_")))
		return o->knobs.window != WINDOW_NONE;
	return !strncmp(program, "proc_", strlen("proc_"));
}

/* Whether the kernel says that it is that version or a newer one. */
static bool kernel_is_from(unsigned major, unsigned minor)
{
	struct utsname kernel;
	unsigned is_major, is_minor;

	return !uname(&kernel) && sscanf(kernel.release, "%u.%u", &is_major, &is_minor) == 2 &&
	       (is_major > major || (is_major == major && is_minor >= minor));
}

/*
 * Links for several uprobes are taken off in a third of the time, and many of them at a time. Of
 * processes, before Linux 6.10 and its stable branches they saw the main thread only (commit
 * 46ba0e49b642).
 */
static bool multi_knows_threads(void)
{
	return kernel_is_from(6, 10);
}

static int configure(struct sysflame *skel, const struct bpf_options *o)
{
	struct bpf_program *program;
	int nr_cpus = libbpf_num_possible_cpus();
	if (nr_cpus < 0)
		return nr_cpus;

	bool multi = bpf_can_attach_without_admin() &&
		     (!privilege_has(CAP_SYS_ADMIN) || multi_knows_threads());
	bpf_object__for_each_program(program, skel->obj)
	{
		bpf_program__set_autoload(program, is_asked_for(bpf_program__name(program), o));
		if (multi && !strncmp(bpf_program__section_name(program), "u", 1))
			bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH_TYPE);
	}
	skel->rodata->knobs = o->knobs;
	skel->rodata->knobs.nr_cpus = (u32)nr_cpus;
	const struct tables_sizes tables = TABLES_SIZES_DEFAULT;
	const struct {
		struct bpf_map *map;
		u32 nr;
	} sizes[] = {
		{ skel->maps.scratches, (u32)nr_cpus * o->nr_slots },
		{ skel->maps.records, ring_size(o->ring_bytes, nr_cpus) },
		{ skel->maps.unwind_rows, tables.nr_words / 2 },
		{ skel->maps.unwind_ranges, tables.nr_ranges },
		{ skel->maps.jvms, tables.nr_jvms },
		{ skel->maps.remote_copies, o->remote_reads ? ABI_COPIES : 1 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int err = bpf_map__set_max_entries(sizes[i].map, sizes[i].nr);
		if (err)
			return err;
	}
	return 0;
}

static int load(struct bpf *bpf, const struct bpf_options *o)
{
	bpf->skel = sysflame__open();
	if (!bpf->skel)
		return -errno;

	int err = configure(bpf->skel, o) ?: sysflame__load(bpf->skel);
	if (err)
		return err;

	bpf->ring = ring_buffer__new(bpf_map__fd(bpf->skel->maps.records), on_record, bpf, NULL);
	return bpf->ring ? 0 : -errno;
}

int bpf_load(const struct bpf_options *options, struct bpf **out)
{
	libbpf_set_print(print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);

	struct bpf *bpf = xcalloc(1, sizeof(*bpf));
	bpf->measure_fd = -1;
	memcpy(bpf->programs, options->programs, sizeof(bpf->programs));
	int err = privilege_check() ?: load(bpf, options);
	if (err) {
		if (err == -EACCES && !privilege_check())
			log_error("this kernel's verifier refuses the BPF programs; please report "
				  "it with what -v prints and uname -r");
		else
			privilege_explain("loading the BPF programs", err);
		if (!privilege_check() && !kernel_is_from(5, 15))
			log_error(
				"this kernel is older than Linux 5.15, which sysflame needs; some "
				"distributions have its BPF in older ones");
		bpf_free(bpf);
		return err;
	}
	*out = bpf;
	return 0;
}

void bpf_free(struct bpf *bpf)
{
	if (!bpf)
		return;
	if (bpf->measure_fd >= 0)
		close(bpf->measure_fd);
	ring_buffer__free(bpf->ring);
	for (size_t i = 0; i < ARRAY_SIZE(bpf->waits); i++)
		bpf_link__destroy(bpf->waits[i]);
	sysflame__destroy(bpf->skel);
	free(bpf);
}

int bpf_attach_perf(struct bpf *bpf, int perf_fd, u32 event, struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = event);
	auto_close int fd = dup(perf_fd); /* the link closes its own */
	if (fd < 0)
		return -errno;

	*out = bpf_program__attach_perf_event_opts(bpf->skel->progs.perf_sample, fd, &opts);
	if (!*out)
		return -errno;
	fd = -1;
	return 0;
}

int bpf_attach_tracepoint(struct bpf *bpf, const char *group, const char *name, u32 event,
			  struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = event);

	*out = bpf_program__attach_tracepoint_opts(bpf->skel->progs.trace_hit, group, name, &opts);
	return *out ? 0 : -errno;
}

/* A link that libbpf does not know is its descriptor, told from a pointer by the lowest bit. */
static struct bpf_link *link_of_fd(int fd)
{
	return (struct bpf_link *)((uintptr_t)fd << 1 | 1);
}

int bpf_attach_program(struct bpf *bpf, const struct bpf_uprobe *at, struct bpf_link **out)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = at->cookie, .retprobe = at->at_return,
		    .ref_ctr_offset = at->semaphore_off);
	struct bpf_program *program = bpf_object__find_program_by_name(bpf->skel->obj, at->program);

	if (bpf_program__expected_attach_type(program) == UPROBE_MULTI_ATTACH_TYPE) {
		int fd = uprobe_multi_attach(bpf_program__fd(program), at);
		*out = fd < 0 ? NULL : link_of_fd(fd);
		return fd < 0 ? fd : 0;
	}
	*out = bpf_program__attach_uprobe_opts(program, at->pid, at->path, at->file_off, &opts);
	return *out ? 0 : -errno;
}

int bpf_set_memory_file(struct bpf *bpf, u32 number, const struct memory_file *file)
{
	return bpf_map__update_elem(bpf->skel->maps.memory_files, &number, sizeof(number), file,
				    sizeof(*file), BPF_ANY);
}

int bpf_memory_file(const struct bpf *bpf, u32 number, struct memory_file *out)
{
	return bpf_map__lookup_elem(bpf->skel->maps.memory_files, &number, sizeof(number), out,
				    sizeof(*out), 0);
}

#define LIVE_BATCH 4096

int bpf_each_live(struct bpf *bpf, bpf_live_fn visit, void *ctx)
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

void bpf_use_hierarchies(struct bpf *bpf, u32 mask)
{
	bpf->skel->bss->target_hierarchies = mask;
}

void bpf_detach(struct bpf_link *link)
{
	if ((uintptr_t)link & 1)
		close((int)((uintptr_t)link >> 1));
	else
		bpf_link__destroy(link);
}

/* Reads all that an iterator writes, record by record into `record`. */
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
	bpf_pending_fn pending; /* may be NULL */
	void *ctx;
};

static void visit_pending(const void *record, void *ctx)
{
	const struct pending_visit *v = ctx;
	const struct pending *p = record;

	if (v->pending && p->sample.nr_kernel <= ABI_KERNEL_FRAMES)
		v->pending(p, v->ctx);
}

static int read_tasks(struct bpf *bpf, bpf_pending_fn pending, void *ctx)
{
	struct pending_visit v = { pending, ctx };
	struct pending p;

	return read_iterator(bpf->waits[2], &p, sizeof(p), visit_pending, &v);
}

struct process_visit {
	bpf_process_fn visit;
	void *ctx;
};

static void visit_process(const void *record, void *ctx)
{
	const struct process_visit *v = ctx;

	v->visit(record, v->ctx);
}

int bpf_each_target(struct bpf *bpf, bpf_process_fn visit, void *ctx)
{
	struct process_visit v = { visit, ctx };
	struct task_id id;
	struct bpf_link *link = bpf_program__attach(bpf->skel->progs.proc_targets);
	if (!link)
		return -errno;

	int err = read_iterator(link, &id, sizeof(id), visit_process, &v);
	bpf_link__destroy(link);
	return err;
}

struct remote_fds bpf_remote(const struct bpf *bpf)
{
	return (struct remote_fds){
		.program = bpf_program__fd(bpf->skel->progs.remote_read),
		.copies = bpf_map__fd(bpf->skel->maps.remote_copies),
	};
}

struct targets_fds bpf_targets(const struct bpf *bpf)
{
	return (struct targets_fds){
		.pids = bpf_map__fd(bpf->skel->maps.targets),
		.comms = bpf_map__fd(bpf->skel->maps.target_comms),
		.users = bpf_map__fd(bpf->skel->maps.target_users),
		.cgroups = bpf_map__fd(bpf->skel->maps.target_cgroups),
	};
}

static struct bpf_link *attach_end_of_waits(struct bpf *bpf)
{
	auto_free char *function = NULL;

	if (bpf_kernel_has(RESUME_TRACEPOINT))
		return bpf_program__attach(bpf->skel->progs.offcpu_end);
	function = kernel_function(RESUME_FUNCTION);
	errno = ENOENT;
	return function ? bpf_program__attach_kprobe(bpf->skel->progs.offcpu_back, false, function)
			: NULL;
}

int bpf_start_waits(struct bpf *bpf)
{
	if (!(bpf->waits[0] = bpf_program__attach(bpf->skel->progs.offcpu_begin)) ||
	    !(bpf->waits[1] = attach_end_of_waits(bpf)) ||
	    !(bpf->waits[2] = bpf_program__attach(bpf->skel->progs.offcpu_tasks)))
		return -errno;
	return read_tasks(bpf, NULL, NULL);
}

bool bpf_can_follow_waits(void)
{
	auto_free char *function = NULL;

	if (bpf_kernel_has(RESUME_TRACEPOINT))
		return true;
	function = kernel_function(RESUME_FUNCTION);
	return function;
}

void bpf_end_waits(struct bpf *bpf)
{
	bpf->skel->bss->waits_end_ns = time_mono_ns();
}

void bpf_pending(struct bpf *bpf, bool is_last, bpf_pending_fn pending, void *ctx)
{
	bpf->skel->bss->waits_are_told = is_last;
	int err = read_tasks(bpf, pending, ctx);

	if (err)
		log_warn("waits that did not end are missing: %s", strerror(-err));
}

static bool kernel_has_type(const char *name, u32 kind)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, name, kind) > 0;

	btf__free(btf);
	return has;
}

bool bpf_kernel_has(const char *tracepoint)
{
	auto_free char *name = xasprintf("btf_trace_%s", tracepoint);

	return kernel_has_type(name, BTF_KIND_TYPEDEF);
}

bool bpf_can_attach_without_admin(void)
{
	return kernel_has_type("bpf_uprobe_multi_link", BTF_KIND_STRUCT);
}

bool bpf_can_read_remote(void)
{
	return kernel_has_type("bpf_task_from_pid", BTF_KIND_FUNC);
}

void bpf_kernel_enumerators(const char *name, bpf_enumerator_fn visit, void *ctx)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;

	for (u32 i = 0; type && i < btf_vlen(type); i++)
		visit(btf__name_by_offset(btf, btf_enum(type)[i].name_off), btf_enum(type)[i].val,
		      ctx);
	btf__free(btf);
}

int bpf_attach_processes(struct bpf *bpf)
{
	struct sysflame *skel = bpf->skel;

	skel->links.proc_fork = bpf_program__attach(skel->progs.proc_fork);
	skel->links.proc_exec = bpf_program__attach(skel->progs.proc_exec);
	skel->links.proc_exit = bpf_program__attach(skel->progs.proc_exit);
	if (skel->links.proc_fork && skel->links.proc_exec && skel->links.proc_exit)
		return 0;
	int err = -errno;
	privilege_explain("following processes", err);
	return err;
}

struct tables_fds bpf_tables(const struct bpf *bpf)
{
	return (struct tables_fds){
		.rows = bpf_map__fd(bpf->skel->maps.unwind_rows),
		.ranges = bpf_map__fd(bpf->skel->maps.unwind_ranges),
		.procs = bpf_map__fd(bpf->skel->maps.unwind_procs),
		.jvms = bpf_map__fd(bpf->skel->maps.jvms),
	};
}

int bpf_drain(struct bpf *bpf, bpf_record_fn record, void *ctx)
{
	bpf->record = record;
	bpf->ctx = ctx;
	int nr = ring_buffer__consume(bpf->ring);
	return nr < 0 ? nr : 0;
}

void bpf_stats(const struct bpf *bpf, u64 stats[NR_STATS])
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free u64 *per_cpu = xcalloc((size_t)nr_cpus, sizeof(u64));

	for (u32 stat = 0; stat < NR_STATS; stat++) {
		stats[stat] = 0;
		if (bpf_map__lookup_elem(bpf->skel->maps.stats, &stat, sizeof(stat), per_cpu,
					 (size_t)nr_cpus * sizeof(u64), 0))
			continue;
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			stats[stat] += per_cpu[cpu];
	}
}

int bpf_measure(struct bpf *bpf)
{
	bpf->measure_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return bpf->measure_fd < 0 ? bpf->measure_fd : 0;
}

static void add_walks(const struct bpf *bpf, struct sampling_cost *out)
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

void bpf_measured(const struct bpf *bpf, struct sampling_cost *out)
{
	*out = (struct sampling_cost){ 0 };
	for (const char *const *name = bpf->programs; *name; name++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(bpf->skel->obj, *name);
		struct bpf_prog_info info = { 0 };
		u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			continue;
		out->run_ns += info.run_time_ns;
		out->runs += info.run_cnt;
	}
	add_walks(bpf, out);
}
