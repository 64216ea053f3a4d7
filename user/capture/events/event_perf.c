/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu, and the events that the processor or the kernel counts, by perf's names.
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/events/event_kind.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/cpus.h"

/* Smaller periods would keep a CPU busy with samples alone. */
#define FAST_PERIOD_MIN 10000

#define CPUINFO_BYTES (1u << 20)

struct perf_name {
	const char *name, *alias; /* alias may be NULL */
	u32 type;
	u64 config;
	const char *unit; /* NULL: "events" */
	const char *help;
};

#define HW(name, alias, config, help)                                               \
	{                                                                           \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, NULL, help \
	}
#define CYCLES(name, alias, config, help)                                               \
	{                                                                               \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, "cycles", help \
	}
#define SW(name, alias, config, unit, help)                                         \
	{                                                                           \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, unit, help \
	}

/* The names of `perf list` (perf_event_open(2)). */
static const struct perf_name names[] = {
	CYCLES("cycles", "cpu-cycles", CPU_CYCLES, "cycles of the CPU"),
	HW("instructions", NULL, INSTRUCTIONS, "instructions completed"),
	HW("cache-references", NULL, CACHE_REFERENCES, "accesses to the last-level cache"),
	HW("cache-misses", NULL, CACHE_MISSES, "misses of the last-level cache"),
	HW("branches", "branch-instructions", BRANCH_INSTRUCTIONS, "branches completed"),
	HW("branch-misses", NULL, BRANCH_MISSES, "branches predicted wrongly"),
	HW("bus-cycles", NULL, BUS_CYCLES, "cycles of the bus"),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
	   "cycles without an instruction to issue"),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND,
	   "cycles waiting for data or units"),
	CYCLES("ref-cycles", NULL, REF_CPU_CYCLES, "cycles at a constant rate"),
	SW("cpu-clock", NULL, CPU_CLOCK, "ns", "time by the clock of the CPU"),
	SW("task-clock", NULL, TASK_CLOCK, "ns", "time by the clock of the threads"),
	SW("page-faults", "faults", PAGE_FAULTS, "faults", "page faults"),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN, "faults", "page faults without reading a disk"),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ, "faults", "page faults that read a disk"),
	SW("context-switches", "cs", CONTEXT_SWITCHES, "switches", "a thread leaves its CPU"),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS, "migrations",
	   "a thread continues on another CPU"),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS, "faults", "unaligned accesses"),
	SW("emulation-faults", NULL, EMULATION_FAULTS, "faults",
	   "instructions that the kernel emulates"),
};

/* LLC-load-misses and the like: a cache, then an operation; config as in perf_event_open(2). */
struct cache_part {
	const char *name;
	u64 config;
};

#define OP(op)   (PERF_COUNT_HW_CACHE_OP_##op << 8)
#define MISS(op) (OP(op) | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct cache_part caches[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D }, { "L1-icache", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", PERF_COUNT_HW_CACHE_LL },        { "dTLB", PERF_COUNT_HW_CACHE_DTLB },
	{ "iTLB", PERF_COUNT_HW_CACHE_ITLB },     { "branch", PERF_COUNT_HW_CACHE_BPU },
	{ "node", PERF_COUNT_HW_CACHE_NODE },
};
static const struct cache_part operations[] = {
	{ "-loads", OP(READ) },          { "-load-misses", MISS(READ) },
	{ "-stores", OP(WRITE) },        { "-store-misses", MISS(WRITE) },
	{ "-prefetches", OP(PREFETCH) }, { "-prefetch-misses", MISS(PREFETCH) },
};

static bool find_operation(const char *rest, u64 cache, struct event *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(rest, operations[i].name)) {
			e->perf_type = PERF_TYPE_HW_CACHE;
			e->perf_config = cache | operations[i].config;
			return true;
		}
	return false;
}

static bool find_cache(const char *text, struct event *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		size_t len = strlen(caches[i].name);
		if (!strncmp(text, caches[i].name, len) &&
		    find_operation(text + len, caches[i].config, e))
			return true;
	}
	return false;
}

/* rNNN: the event's number, in hex, from the processor's manual. */
static bool find_raw(const char *text, struct event *e)
{
	size_t len = strlen(text);

	if (text[0] != 'r' || len < 2 || len > 17 ||
	    strspn(text + 1, "0123456789abcdefABCDEF") != len - 1)
		return false;
	e->perf_type = PERF_TYPE_RAW;
	e->perf_config = strtoull(text + 1, NULL, 16);
	return true;
}

static bool find_name(const char *text, struct event *e)
{
	for (const struct perf_name *n = names; n < names + ARRAY_SIZE(names); n++)
		if (!strcmp(text, n->name) || (n->alias && !strcmp(text, n->alias))) {
			e->perf_type = n->type;
			e->perf_config = n->config;
			e->unit = n->unit ?: e->unit;
			return true;
		}
	return find_cache(text, e) || find_raw(text, e);
}

static bool is_fast(u32 type, u64 config)
{
	return type != PERF_TYPE_SOFTWARE || config == PERF_COUNT_SW_CPU_CLOCK ||
	       config == PERF_COUNT_SW_TASK_CLOCK;
}

static int check_period(const char *text, const struct event_options *o, u32 type, u64 config,
			struct str *why)
{
	if (!o->period || o->period >= FAST_PERIOD_MIN || !is_fast(type, config))
		return 0;
	str_addf(why, "--period %llu: too many samples of %s; takes %d or more",
		 (unsigned long long)o->period, text, FAST_PERIOD_MIN);
	return -EINVAL;
}

static char *explain(u32 type, int err)
{
	bool is_hardware = type != PERF_TYPE_SOFTWARE;

	if (is_hardware &&
	    (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -EINVAL))
		return xstrdup("the processor does not count it, or hides its counters as virtual "
			       "machines often do");
	if (err == -EPERM || err == -EACCES)
		return xstrdup("the kernel does not permit it; CAP_PERFMON is missing");
	return xstrdup(strerror(-err));
}

static u64 max_clock_khz(int cpu)
{
	auto_free char *path =
		xasprintf("/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", cpu);
	auto_free char *text = NULL;
	size_t len;

	return file_read(path, 64, &text, &len) ? 0 : strtoull(text, NULL, 10);
}

/* Virtual machines have no cpufreq. */
static u64 clock_of_cpuinfo_khz(void)
{
	auto_free char *text = NULL;
	size_t len;

	if (file_read("/proc/cpuinfo", CPUINFO_BYTES, &text, &len))
		return 0;
	const char *line = strstr(text, "cpu MHz");
	const char *colon = line ? strchr(line, ':') : NULL;
	return colon ? (u64)(strtod(colon + 1, NULL) * 1000) : 0;
}

/* The clock of the fastest CPU, so that no CPU takes more samples than requested. 0: unknown. */
static u64 clock_khz(void)
{
	cpulist online = { 0 };
	u64 most = 0;

	if (!cpulist_online(&online))
		vec_each(cpu, &online) {
			u64 khz = max_clock_khz(*cpu);
			most = khz > most ? khz : most;
		}
	vec_fini(&online);
	return most ?: clock_of_cpuinfo_khz();
}

u64 cycles_period(u64 khz, int freq_hz)
{
	u64 period = khz * 1000 / (u64)freq_hz;

	return period && period < FAST_PERIOD_MIN ? FAST_PERIOD_MIN : period;
}

/*
 * With a frequency, the kernel begins with a period of 1 and adjusts the period at ticks. It
 * adjusts nothing while a CPU's ticks are stopped (perf_adjust_freq_unthr_context). Cycles have a
 * fixed period instead: a CPU at full clock has the rate of -F, a slower one fewer samples of the
 * same weight.
 */
static u64 period_of(u32 type, u64 config, const struct event_options *o)
{
	bool is_cycles = type == PERF_TYPE_HARDWARE && (config == PERF_COUNT_HW_CPU_CYCLES ||
							config == PERF_COUNT_HW_REF_CPU_CYCLES);

	return o->period || !is_cycles ? o->period : cycles_period(clock_khz(), o->freq_hz);
}

static struct perf_event_attr attr_of(u32 type, u64 config, const struct event_options *o)
{
	struct perf_event_attr attr = { .type = type, .config = config };

	attr.sample_period = period_of(type, config, o);
	if (!attr.sample_period) {
		attr.freq = 1;
		attr.sample_freq = (u64)o->freq_hz;
	}
	return attr;
}

static char *why_not(u32 type, u64 config)
{
	const struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.sample_period = 1000000,
	};
	int err = cpus_try(&attr);

	return err ? explain(type, err) : NULL;
}

static int parse_cpu(const char *text, const struct event_options *o, struct event *e,
		     struct str *why)
{
	if (strcmp(text, "cpu"))
		return -ENOENT;
	return check_period(text, o, PERF_TYPE_HARDWARE, 0, why);
}

static int parse_perf(const char *text, const struct event_options *o, struct event *e,
		      struct str *why)
{
	if (!find_name(text, e))
		return -ENOENT;
	int err = check_period(text, o, e->perf_type, e->perf_config, why);
	if (err)
		return err;
	auto_free char *reason = why_not(e->perf_type, e->perf_config);
	if (!reason)
		return 0;
	str_addf(why, "-e %s: %s", text, reason);
	return -ENOTSUP;
}

static void configure_cpu(const struct event *e, u32 number, const struct event_options *o,
			  struct knobs *knobs)
{
	knobs->events[number].weight = 1;
	knobs->events[number].is_clock = true;
}

/* Each sample weighs as much as was counted since the previous one. */
static void configure_perf(const struct event *e, u32 number, const struct event_options *o,
			   struct knobs *knobs)
{
	knobs->events[number].weight = 0;
	knobs->events[number].is_clock =
		e->perf_type == PERF_TYPE_SOFTWARE && e->perf_config == PERF_COUNT_SW_CPU_CLOCK;
}

/* perf lowers its limit when interrupts took too long, so an earlier rate may be too high. */
static int check_frequency(int freq_hz)
{
	auto_free char *text = NULL;
	size_t len;

	if (file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, &len))
		return 0;
	int limit = atoi(text);
	if (freq_hz <= limit)
		return 0;
	log_error("-F %d: the kernel allows at most %d samples per second now; use -F %d, or raise "
		  "the limit: sysctl kernel.perf_event_max_sample_rate=%d",
		  freq_hz, limit, limit, freq_hz);
	return -EINVAL;
}

static int open_at(struct sources *s, u32 type, u64 config, const char *name, u32 number)
{
	const struct event_options *o = sources_options(s);
	struct perf_event_attr attr = attr_of(type, config, o);

	int err = attr.freq ? check_frequency(o->freq_hz) : 0;
	if (err)
		return err;
	err = sources_add_cpus(s, &attr, number);
	if (err) {
		privilege_explain("opening perf events", err);
		return err;
	}
	if (!attr.freq)
		sources_describe(s, "%s, 1 of %llu", name, (unsigned long long)attr.sample_period);
	else
		sources_describe(s, "%s, %d Hz", name, o->freq_hz);
	return 0;
}

/*
 * Opens the event cpu as a clock, not as cycles: on a CPU that sleeps or changes its frequency,
 * cycles do not measure time.
 */
static int open_cpu(struct sources *s, const struct event *e, u32 number)
{
	return open_at(s, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "cpu-clock", number);
}

static int open_perf(struct sources *s, const struct event *e, u32 number)
{
	return open_at(s, e->perf_type, e->perf_config, e->name, number);
}

static void each_cache(const struct event_kind *kind, events_visit_fn tell, void *ctx)
{
	for (size_t c = 0; c < ARRAY_SIZE(caches); c++)
		for (size_t o = 0; o < ARRAY_SIZE(operations); o++) {
			u64 config = caches[c].config | operations[o].config;
			auto_free char *name =
				xasprintf("%s%s", caches[c].name, operations[o].name);
			auto_free char *reason = why_not(PERF_TYPE_HW_CACHE, config);
			tell(name, kind->unit, "accesses to a cache, or its misses", reason, ctx);
		}
}

static void each_perf(const struct event_kind *kind, bool all, events_visit_fn tell, void *ctx)
{
	for (const struct perf_name *n = names; n < names + ARRAY_SIZE(names); n++) {
		auto_free char *reason = why_not(n->type, n->config);
		tell(n->name, n->unit ?: kind->unit, n->help, reason, ctx);
	}
	if (all) {
		each_cache(kind, tell, ctx);
	} else {
		auto_free char *no_cache = why_not(PERF_TYPE_HW_CACHE, 0);
		tell("CACHE-loads, ..", kind->unit,
		     "L1-dcache, LLC, dTLB, ..: events --all has them", no_cache, ctx);
	}
	auto_free char *reason = why_not(PERF_TYPE_RAW, 0);
	tell("rNNN", kind->unit, "an event of the processor, its number in hex", reason, ctx);
}

const struct event_kind event_kind_cpu = {
	.name = "cpu",
	.unit = "samples",
	.value = EVENT_VALUE_SAMPLE,
	.help = "CPU time, by the clock of each CPU",
	.programs = PROGRAM_BIT(PERF_SAMPLE),
	.nr_slots = SLOT_PERF + 1,
	.sparser = "lower -F",
	.has_period = true,
	.parse = parse_cpu,
	.configure = configure_cpu,
	.open = open_cpu,
};

const struct event_kind event_kind_perf = {
	.name = "perf",
	.unit = "events",
	.help = "events that the processor or the kernel counts",
	.programs = PROGRAM_BIT(PERF_SAMPLE),
	.nr_slots = SLOT_PERF + 1,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_perf,
	.configure = configure_perf,
	.open = open_perf,
	.each = each_perf,
};
