/* SPDX-License-Identifier: Apache-2.0 */
/* Loading BPF programs: the part common to those of the node and of a recording. */
#include "capture/programs/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/kernel_types.h"

/* Where print() writes a refusal. It is static because libbpf's callback takes no context. */
static _Thread_local struct load_refusal *watched;

void load_watch(struct load_refusal *out)
{
	watched = out;
}

#define REFUSED   "libbpf: prog '%31[^']'"
#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --"
#define LOG_END   "-- END PROG LOAD LOG --"
#define LOG_COUNT "processed " /* the line of statistics at the log's end */

/*
 * Takes the refused program's name, or the last line of the verifier's log, from a line of a
 * message.
 */
static void take_line(const char *line)
{
	struct load_refusal *r = watched;

	if (!r)
		return;
	if (strstr(line, LOG_BEGIN) && sscanf(line, REFUSED, r->program) == 1)
		r->reason[0] = '\0';
	else if (r->program[0] && strncmp(line, LOG_COUNT, strlen(LOG_COUNT)) != 0 &&
		 strncmp(line, "libbpf: ", 8) != 0 && strcmp(line, LOG_END) != 0)
		snprintf(r->reason, sizeof(r->reason), "%s", line);
}

/*
 * The verifier's log is one message of many lines; the last ones name the error. libbpf's debug
 * messages are left out: thousands of lines on how it relocates programs.
 */
static int print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	auto_free char *text = NULL;
	char *rest;

	if (level == LIBBPF_DEBUG || (log_get_level() < LOG_DEBUG && !watched) ||
	    vasprintf(&text, fmt, args) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		take_line(line);
		log_debug("%s", line);
	}
	return 0;
}

/* A libbpf_prog_prepare_load_fn_t. */
static int prepare_tracing(struct bpf_program *p, struct bpf_prog_load_opts *opts, long cookie)
{
	int id = kernel_types_attach_id(bpf_program__section_name(p));

	(void)cookie;
	if (id < 0)
		return id;
	opts->attach_btf_id = (u32)id;
	return bpf_program__set_type(p, BPF_PROG_TYPE_TRACING);
}

/*
 * libbpf reads all types of the kernel for each object with tracing programs, which takes 0.1 s, to
 * find the ids that they attach to. sysflame finds the ids itself. Until it is loaded, such a
 * program has another type for libbpf, one that attaches to nothing.
 */
static void register_tracing(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare_tracing);
	const enum bpf_prog_type type = BPF_PROG_TYPE_RAW_TRACEPOINT;

	libbpf_register_prog_handler("tp_btf+", type, BPF_TRACE_RAW_TP, &opts);
	libbpf_register_prog_handler("iter+", type, BPF_TRACE_ITER, &opts);
}

struct bpf_link *load_attach(const struct bpf_program *p)
{
	return bpf_program__expected_attach_type(p) == BPF_TRACE_ITER
		       ? bpf_program__attach_iter(p, NULL)
		       : bpf_program__attach_trace(p);
}

int load_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_tracing);
	libbpf_set_print(print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	return privilege_check();
}

static void explain_refusal(const struct load_refusal *refusal, const char *compiler)
{
	struct utsname kernel = { 0 };

	uname(&kernel);
	log_error("the verifier of Linux %s refuses the BPF program %s, built by %s: %s",
		  kernel.release, refusal->program, compiler ?: "an unknown compiler",
		  refusal->reason);
	log_error(
		"build sysflame with a clang that docs/support.md lists under \"Compilers\"; if it "
		"was, please report this with the output of -v");
}

/*
 * Whether the kernel is locked down. Without securityfs the only sign is that these calls are
 * refused although the capabilities are there.
 */
static bool is_locked_down(const struct load_refusal *refusal)
{
	return strstr(refusal->reason, "unknown func bpf_probe_read") ||
	       strstr(refusal->reason, "cannot use helper bpf_probe_read") ||
	       privilege_is_locked_down();
}

/*
 * libbpf tests kernel features by opening a trial object. If descriptors are exhausted, the trial
 * fails, libbpf takes the feature for missing and leaves out the map that needs it. The verifier
 * then refuses the program.
 */
void load_explain(int err, const struct load_refusal *refusal, const char *compiler)
{
	if (!privilege_check() && is_locked_down(refusal))
		log_error("loading the BPF programs failed: " PRIVILEGE_LOCKDOWN);
	else if (!privilege_check() && refusal->program[0] && !descriptors_are_few())
		explain_refusal(refusal, compiler);
	else
		privilege_explain("loading the BPF programs", err);
	if (!privilege_check() && !kernel_is_from(5, 15))
		log_error("this kernel is older than Linux 5.15, which sysflame needs; some "
			  "distributions backport the BPF features");
}

void load_sum_counters(const struct bpf_map *map, u32 first, u64 *sums, u32 nr)
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free u64 *per_cpu = xcalloc((size_t)nr_cpus, sizeof(u64));

	for (u32 i = 0; i < nr; i++) {
		u32 key = first + i;
		sums[i] = 0;
		if (bpf_map__lookup_elem(map, &key, sizeof(key), per_cpu,
					 (size_t)nr_cpus * sizeof(u64), 0))
			continue;
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			sums[i] += per_cpu[cpu];
	}
}

int load_timing_open(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}

/* The kernel's facts about the program; all zero if it is not loaded. */
static struct bpf_prog_info info_of(const struct bpf_program *p)
{
	struct bpf_prog_info info = { 0 };
	u32 len = sizeof(info);
	int fd = bpf_program__fd(p);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return (struct bpf_prog_info){ 0 };
	return info;
}

u64 load_nr_declined(const struct bpf_program *p)
{
	return info_of(p).recursion_misses;
}

u64 load_run_ns(const struct bpf_object *o)
{
	struct bpf_program *p;
	u64 sum = 0;

	bpf_object__for_each_program(p, o) sum += info_of(p).run_time_ns;
	return sum;
}
