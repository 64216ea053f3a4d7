/* SPDX-License-Identifier: Apache-2.0 */
/* A sampling perf event on every online CPU. */
#include "capture/programs/cpus.h"

#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/perf.h"

#define TRIED_MAX   64 /* most CPUs that are tried until one can count the event */
#define STACK_BYTES (64u << 10)

/* Fewer missed samples, absolute or as a part of those due, are a machine's noise. */
#define MISSED_MIN  3
#define MISSED_PART 500

/* The samples of one event so far. */
struct cpu_counts {
	u64 nr;        /* samples that were due */
	u64 nr_missed; /* samples among `nr` for which our program did not run */
	u64 nr_runs;   /* runs of our program */
	/* As in struct event_runs. */
	u64 nr_busy, nr_wanted, nr_late, nr_late_wanted, nr_skipped, nr_skipped_wanted;
};

/* Missed samples of a CPU, and how many of them were due in tasks that are sampled. */
struct cpu_missed {
	/* all missed; those that the BPF program counted as late, as skipped */
	u64 nr, nr_late, nr_skipped;
	struct missed late, skipped;
	struct missed other_late, other_skipped; /* nobody knows in which tasks */
};

struct cpu_event {
	int cpu, fd;
	u64 running_ns; /* see perf_has_run */
	struct bpf_link *link;
	u64 enabled_ns;        /* CLOCK_MONOTONIC; 0: not yet */
	struct event_runs ran; /* on the CPU before the event was opened */
	u64 nr_wanted;
	struct cpu_missed missed;
	struct paced paced; /* of a clock */
};

struct cpus {
	struct programs *bpf;
	struct perf_event_attr attr;
	const cpulist *only; /* NULL: all CPUs */
	u32 event;
	struct pacer pacer; /* of a clock */
	pthread_t thread;   /* sets the periods of clocks while they run */
	bool has_thread;
	pthread_mutex_t lock; /* guards the fields below; the thread releases it while it waits */
	pthread_cond_t stopped;
	bool running;
	u64 stopped_ns; /* CLOCK_MONOTONIC, when the event was stopped; 0: it is running */
	VEC(struct cpu_event) events;
	bool takes_skipped;
	u64 gone_wanted; /* runs of the program for targets, of events that were closed */
	double gone_skipped, gone_late;
	cpulist refused; /* online CPUs that do not count the event */
	int refused_err; /* of the last of them */
};

bool cpus_are_clocks(const struct cpus *c)
{
	return c->attr.type == PERF_TYPE_SOFTWARE && c->attr.config == PERF_COUNT_SW_CPU_CLOCK;
}

static u64 count_of(const struct cpu_event *e)
{
	u64 values[2]; /* count, time */

	return read(e->fd, values, sizeof(values)) == sizeof(values) ? values[0] : 0;
}

/*
 * Computes the count from the clock, without interrupting the CPU. Too high once the CPU is
 * offline.
 */
static u64 clock_count_of(const struct cpus *c, const struct cpu_event *e)
{
	u64 now_ns = c->stopped_ns ?: time_mono_ns();

	return e->enabled_ns && now_ns > e->enabled_ns ? now_ns - e->enabled_ns : 0;
}

/* `counted` was read before `ran`, so that a run in between counts as due. */
static struct cpu_counts counts_of(const struct cpus *c, const struct cpu_event *e, u64 counted,
				   const struct event_runs *ran)
{
	u64 nr = ran->nr - e->ran.nr, by_runs = ran->counted - e->ran.counted;
	u64 period = nr ? by_runs / nr : 0;
	u64 nr_missed = period && counted > by_runs ? (counted - by_runs) / period : 0;

	if (cpus_are_clocks(c)) {
		u64 nr_due = paced_due(&e->paced, counted);
		nr_missed = nr_due > nr ? nr_due - nr : 0;
	}
	return (struct cpu_counts){ .nr = nr + nr_missed,
				    .nr_missed = nr_missed,
				    .nr_runs = nr,
				    .nr_busy = ran->nr_busy - e->ran.nr_busy,
				    .nr_wanted = ran->nr_wanted - e->ran.nr_wanted,
				    .nr_late = ran->nr_late - e->ran.nr_late,
				    .nr_late_wanted = ran->nr_late_wanted - e->ran.nr_late_wanted,
				    .nr_skipped = ran->nr_skipped - e->ran.nr_skipped,
				    .nr_skipped_wanted =
					    ran->nr_skipped_wanted - e->ran.nr_skipped_wanted };
}

/* The runs on each possible CPU; NULL if they cannot be read. The caller frees them. */
static struct event_runs *read_runs(const struct cpus *c, u32 *nr)
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free struct event_runs *ran = xcalloc(nr_cpus > 0 ? (size_t)nr_cpus : 1, sizeof(*ran));

	*nr = nr_cpus > 0 ? (u32)nr_cpus : 0;
	return programs_event_runs(c->bpf, c->event, ran, *nr) ? NULL : take(ran);
}

/* Takes as many of `room` as the counter has grown from `was` to `now`, and returns that number. */
static u64 take_part(u64 *was, u64 now, u64 *room)
{
	u64 more = now - *was < *room ? now - *was : *room;

	*was += more;
	*room -= more;
	return more;
}

/*
 * The BPF program counts late and skipped samples, with the task of each. For all other missed
 * samples nobody knows the task, so the mean is used. Other tracing programs cause no missed
 * samples once skipped samples are taken, and none on an idle CPU.
 */
static void take_counts(const struct cpus *c, struct cpu_event *e, const struct cpu_counts *now)
{
	struct cpu_missed *m = &e->missed;
	u64 more = now->nr_missed > m->nr ? now->nr_missed - m->nr : 0;
	bool is_late = c->takes_skipped && cpus_are_clocks(c);

	m->nr += more;
	u64 late = take_part(&m->nr_late, now->nr_late, &more);
	u64 skipped = is_late ? 0 : take_part(&m->nr_skipped, now->nr_skipped, &more);
	missed_add(&m->late, late, now->nr_late_wanted, now->nr_late);
	missed_add(&m->skipped, skipped, now->nr_skipped_wanted, now->nr_skipped);
	missed_add(&m->other_late, is_late ? more : 0, now->nr_wanted, now->nr_runs);
	missed_add(&m->other_skipped, is_late ? 0 : more, now->nr_wanted, now->nr_busy);
	e->nr_wanted = now->nr_wanted;
}

static double nr_late(const struct cpu_missed *m)
{
	return m->late.nr + m->other_late.nr;
}

static double nr_skipped(const struct cpu_missed *m)
{
	return m->skipped.nr + m->other_skipped.nr;
}

static void measure(const struct cpus *c, struct cpu_event *e)
{
	u64 counted = count_of(e);
	u32 nr;
	auto_free struct event_runs *ran = read_runs(c, &nr);

	if (!ran || (u32)e->cpu >= nr)
		return;
	struct cpu_counts now = counts_of(c, e, counted, &ran[e->cpu]);
	take_counts(c, e, &now);
}

static void measure_all(struct cpus *c)
{
	vec_each(e, &c->events)
		measure(c, e);
}

struct cpus_due cpus_due(struct cpus *c)
{
	pthread_mutex_lock(&c->lock);
	u64 nr_wanted = c->gone_wanted;
	double skipped = c->gone_skipped, late = c->gone_late;
	measure_all(c);
	vec_each(e, &c->events) {
		nr_wanted += e->nr_wanted;
		skipped += nr_skipped(&e->missed);
		late += nr_late(&e->missed);
	}
	pthread_mutex_unlock(&c->lock);
	struct cpus_due due = { .nr_skipped = (u64)(skipped + 0.5), .nr_late = (u64)(late + 0.5) };
	due.nr = nr_wanted + due.nr_skipped + due.nr_late;
	return due;
}

void cpus_take_skipped(struct cpus *c)
{
	pthread_mutex_lock(&c->lock);
	measure_all(c);
	c->takes_skipped = true;
	pthread_mutex_unlock(&c->lock);
}

bool cpus_seem_to_miss(struct cpus *c)
{
	u32 nr;
	auto_free struct event_runs *ran = read_runs(c, &nr);
	u64 nr_due = 0, nr_missed = 0;

	if (!ran || !cpus_are_clocks(c))
		return false;
	pthread_mutex_lock(&c->lock);
	vec_each(e, &c->events) {
		if ((u32)e->cpu >= nr)
			continue;
		struct cpu_counts now = counts_of(c, e, clock_count_of(c, e), &ran[e->cpu]);
		nr_due += now.nr;
		nr_missed += now.nr_missed;
	}
	pthread_mutex_unlock(&c->lock);
	return nr_missed >= MISSED_MIN && nr_missed * MISSED_PART >= nr_due;
}

static int enable(struct cpu_event *e)
{
	int err = ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;

	e->enabled_ns = time_mono_ns();
	return err;
}

/* Notes the program's runs so far: they belong to an earlier event on the CPU. */
static void note_runs(struct cpus *c, struct cpu_event *e)
{
	u32 nr;
	auto_free struct event_runs *ran = read_runs(c, &nr);
	u64 id = 0;

	if (ran && (u32)e->cpu < nr)
		e->ran = ran[e->cpu];
	if (cpus_are_clocks(c) && !ioctl(e->fd, PERF_EVENT_IOC_ID, &id))
		programs_set_clock(c->bpf, c->event, e->cpu, id);
}

#define PMUS "/sys/bus/event_source/devices"

/* The type of the counters of a kind of CPU ("cpu_atom"); 0 if `cpu` is of another kind. */
static u64 pmu_of_kind(const char *kind, int cpu)
{
	auto_free char *cpus_path = xasprintf(PMUS "/%s/cpus", kind);
	auto_free char *type_path = xasprintf(PMUS "/%s/type", kind);
	auto_free char *cpus = NULL, *type = NULL;
	cpulist list = { 0 };
	size_t len;

	if (file_read(cpus_path, 4096, &cpus, &len) || file_read(type_path, 64, &type, &len))
		return 0;
	cpus[strcspn(cpus, "\n")] = '\0';
	bool has_cpu = !cpulist_parse(cpus, &list) && cpulist_has(&list, cpu);
	vec_fini(&list);
	return has_cpu ? strtoull(type, NULL, 10) : 0;
}

/*
 * On a processor with several kinds of CPUs the generic events are those of the first kind, unless
 * the upper half of the config has the type of another one's counters (perf_event_open(2),
 * PERF_PMU_TYPE_SHIFT; x86 since Linux 5.13).
 */
static u64 pmu_of(int cpu)
{
	DIR *pmus = opendir(PMUS);
	u64 type = 0;

	for (const struct dirent *d; pmus && !type && (d = readdir(pmus));)
		if (!strncmp(d->d_name, "cpu_", 4) || !strncmp(d->d_name, "armv8_", 6))
			type = pmu_of_kind(d->d_name, cpu);
	if (pmus)
		closedir(pmus);
	return type;
}

static int open_on(const struct perf_event_attr *attr, int cpu)
{
	struct perf_event_attr own = *attr;
	int fd = perf_open(attr, cpu);

	if (fd != -ENOENT || (attr->type != PERF_TYPE_HARDWARE && attr->type != PERF_TYPE_HW_CACHE))
		return fd;
	u64 pmu = pmu_of(cpu);
	own.config |= pmu << PERF_PMU_TYPE_SHIFT;
	return pmu ? perf_open(&own, cpu) : fd;
}

static int add_cpu(struct cpus *c, int cpu)
{
	auto_close int fd = open_on(&c->attr, cpu);
	if (fd < 0)
		return fd;

	struct bpf_link *link;
	int err = programs_attach_perf(c->bpf, fd, c->event, &link);
	if (err)
		return err;
	/* Attaching enables the event. */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	struct cpu_event e = { .cpu = cpu, .fd = take_fd(fd), .link = link };
	paced_init(&e.paced, &c->pacer);
	note_runs(c, &e);
	if (c->running)
		enable(&e);
	vec_push(&c->events, e);
	return 0;
}

static void drop_event(struct cpus *c, size_t i)
{
	struct cpu_event *e = &c->events.at[i];

	measure(c, e);
	c->gone_wanted += e->nr_wanted;
	c->gone_skipped += nr_skipped(&e->missed);
	c->gone_late += nr_late(&e->missed);
	programs_set_clock(c->bpf, c->event, e->cpu, 0);
	programs_detach(e->link);
	close(e->fd);
	c->events.at[i] = c->events.at[--c->events.nr];
}

/* Appends the online CPUs that the event is for. */
static int read_wanted(const struct cpus *c, cpulist *out)
{
	size_t nr = 0;

	int err = cpulist_online(out);
	for (size_t i = 0; !err && i < out->nr; i++)
		if (!c->only || cpulist_has(c->only, out->at[i]))
			out->at[nr++] = out->at[i];
	out->nr = err ? out->nr : nr;
	return err;
}

/* The CPU has no such counter, or somebody else holds it. Others may have one. */
static bool is_refusal(const struct cpus *c, int err)
{
	return c->attr.type != PERF_TYPE_SOFTWARE &&
	       (err == -ENOENT || err == -EBUSY || err == -EOPNOTSUPP || err == -ENOSPC);
}

static int open_all(struct cpus *c)
{
	cpulist online = { 0 };
	int err = read_wanted(c, &online);

	for (size_t i = 0; !err && i < online.nr; i++) {
		err = add_cpu(c, online.at[i]);
		if (err == -ENODEV) /* went offline since the list was read */
			err = 0;
		if (!is_refusal(c, err))
			continue;
		vec_push(&c->refused, online.at[i]);
		c->refused_err = err;
		err = 0;
	}
	vec_fini(&online);
	return err ?: c->events.nr ? 0 : c->refused_err;
}

int cpus_refused(const struct cpus *c, struct str *list)
{
	if (c->refused.nr)
		cpulist_text(&c->refused, list);
	return c->refused_err;
}

/* The kernel makes a period of a clock's frequency once (perf_swevent_init_hrtimer). */
static void init_pacer(struct cpus *c)
{
	const struct perf_event_attr *attr = &c->attr;
	pthread_condattr_t clock;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&c->stopped, &clock);
	pthread_condattr_destroy(&clock);
	if (cpus_are_clocks(c))
		pacer_init(&c->pacer,
			   attr->freq ? NS_PER_SEC / attr->sample_freq : attr->sample_period,
			   time_mono_ns());
}

int cpus_open(struct programs *bpf, const struct perf_event_attr *attr, const cpulist *only,
	      u32 event, struct cpus **out)
{
	struct cpus *c = xcalloc(1, sizeof(*c));

	c->bpf = bpf;
	c->event = event;
	c->only = only;
	c->attr = *attr;
	c->attr.size = sizeof(c->attr);
	c->attr.disabled = 1;
	c->attr.read_format = PERF_RUN_FORMAT;
	init_pacer(c);
	int err = open_all(c);
	if (err) {
		cpus_close(c);
		return err;
	}
	*out = c;
	return 0;
}

static void end_thread(struct cpus *c)
{
	pthread_mutex_lock(&c->lock);
	c->running = false;
	pthread_cond_signal(&c->stopped);
	pthread_mutex_unlock(&c->lock);
	if (c->has_thread)
		pthread_join(c->thread, NULL);
	c->has_thread = false;
}

void cpus_close(struct cpus *c)
{
	if (!c)
		return;
	end_thread(c);
	while (c->events.nr)
		drop_event(c, c->events.nr - 1);
	vec_fini(&c->events);
	vec_fini(&c->refused);
	pthread_cond_destroy(&c->stopped);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The kernel begins the new period at once. */
static void set_period(struct cpu_event *e, u64 period_ns)
{
	u64 counted_ns = count_of(e);

	if (counted_ns && !ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period_ns))
		paced_set(&e->paced, period_ns, counted_ns);
}

static double mean_debt(const struct cpus *c)
{
	double sum = 0;

	vec_each(e, &c->events)
		sum += paced_debt(&e->paced, &c->pacer);
	return c->events.nr ? sum / (double)c->events.nr : 0;
}

static void wait_until(struct cpus *c, u64 end_ns)
{
	const struct timespec end = { (time_t)(end_ns / NS_PER_SEC), (long)(end_ns % NS_PER_SEC) };

	while (c->running && time_mono_ns() < end_ns)
		pthread_cond_timedwait(&c->stopped, &c->lock, &end);
}

/*
 * CPUs are sampled by turns: in step, each sample would find what the interrupts of the others
 * delay, such as threads that spin for a lock. CPUs may come and go during a wait.
 */
static void pace_round(struct cpus *c)
{
	const struct pacer_round round = pacer_next(&c->pacer, mean_debt(c));
	u64 begin_ns = time_mono_ns();

	for (size_t i = 0; c->running && i < c->events.nr; i++) {
		wait_until(c, begin_ns + round.period_ns * i / c->events.nr);
		if (c->running && i < c->events.nr)
			set_period(&c->events.at[i], round.period_ns);
	}
	wait_until(c, begin_ns + round.length_ns);
}

static void *pace(void *cpus)
{
	struct cpus *c = cpus;

	pthread_mutex_lock(&c->lock);
	while (c->running)
		pace_round(c);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int cpus_start(struct cpus *c)
{
	int err = 0;

	c->running = true;
	for (size_t i = 0; !err && i < c->events.nr; i++)
		err = enable(&c->events.at[i]);
	if (err || !cpus_are_clocks(c))
		return err;
	c->has_thread = !thread_start(STACK_BYTES, pace, c, &c->thread);
	if (!c->has_thread)
		log_debug("no thread varies the period of samples");
	return 0;
}

void cpus_stop(struct cpus *c)
{
	end_thread(c);
	c->stopped_ns = time_mono_ns();
	vec_each(e, &c->events)
		ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * Whether the event no longer counts: its CPU went offline and perhaps came back, or it got no
 * hardware counter. It has to be opened again.
 */
static bool has_died(const struct cpus *c, struct cpu_event *e)
{
	return c->running && !perf_has_run(e->fd, &e->running_ns);
}

static void forget_refusal(struct cpus *c, int cpu)
{
	size_t nr = 0;

	vec_each(refused, &c->refused)
		if (*refused != cpu)
			c->refused.at[nr++] = *refused;
	c->refused.nr = nr;
}

/* Tries again on a CPU without the event: its hardware counter may be free by now. */
static void follow_cpu(struct cpus *c, int cpu)
{
	int err = add_cpu(c, cpu);
	bool was_refused = cpulist_has(&c->refused, cpu);

	if (!err && was_refused) {
		forget_refusal(c, cpu);
		log_info("CPU %d is sampled again", cpu);
	}
	if (!err || was_refused)
		return;
	vec_push(&c->refused, cpu);
	log_warn("CPU %d is not sampled any more: %s", cpu, strerror(-err));
}

void cpus_follow(struct cpus *c)
{
	cpulist online = { 0 }, known = { 0 };

	pthread_mutex_lock(&c->lock);
	if (!read_wanted(c, &online)) {
		for (size_t i = c->events.nr; i-- > 0;)
			if (!cpulist_has(&online, c->events.at[i].cpu) ||
			    has_died(c, &c->events.at[i]))
				drop_event(c, i);
		vec_each(e, &c->events)
			vec_push(&known, e->cpu);
		vec_each(cpu, &online)
			if (!cpulist_has(&known, *cpu))
				follow_cpu(c, *cpu);
	}
	pthread_mutex_unlock(&c->lock);
	vec_fini(&online);
	vec_fini(&known);
}

int cpus_nr(const struct cpus *c)
{
	return (int)c->events.nr;
}

u32 cpus_event(const struct cpus *c)
{
	return c->event;
}

int cpus_try(const struct perf_event_attr *attr)
{
	struct perf_event_attr own = *attr;
	cpulist online = { 0 };
	int err = cpulist_online(&online);

	own.size = sizeof(own);
	own.disabled = 1;
	for (size_t i = 0; i < online.nr; i++) {
		auto_close int fd = open_on(&own, online.at[i]);
		/* SELinux may allow opening but not changing it. */
		err = fd < 0 ? fd : ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
		if (!err || attr->type == PERF_TYPE_SOFTWARE || i == TRIED_MAX)
			break;
	}
	vec_fini(&online);
	return err;
}

/* A round has enough periods that the drift of one to two periods hardly changes the rate. */
#define ROUND_PERIODS 50
#define ROUND_NS      (250 * NS_PER_MS)

void pacer_init(struct pacer *p, u64 mean_ns, u64 seed)
{
	*p = (struct pacer){ .mean_ns = mean_ns, .random = seed };
}

/* At least 0 and below 1 (splitmix64). */
static double random_share(struct pacer *p)
{
	u64 x = p->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (double)((x ^ x >> 31) >> 11) / (double)(1ull << 53);
}

/*
 * During a round the samples drift by one to two periods against a program with the mean period, to
 * see all of its moments alike. The direction of the drift reduces the debt. Every change of the
 * period costs half a sample in the mean.
 */
struct pacer_round pacer_next(struct pacer *p, double debt)
{
	u64 shortest_ns = p->mean_ns * ROUND_PERIODS;
	double mean = (double)p->mean_ns;
	double length = (double)(shortest_ns > ROUND_NS ? shortest_ns : ROUND_NS);

	length *= 0.75 + random_share(p) / 2;
	double drift = 1 + random_share(p);
	double samples = length / mean + (debt + 0.5 > 0 ? drift : -drift);
	return (struct pacer_round){ (u64)length, (u64)(length / samples) };
}

void paced_init(struct paced *e, const struct pacer *p)
{
	*e = (struct paced){ .period_ns = p->mean_ns };
}

void paced_set(struct paced *e, u64 period_ns, u64 now_ns)
{
	e->nr = paced_due(e, now_ns);
	e->period_ns = period_ns;
	e->since_ns = now_ns;
}

u64 paced_due(const struct paced *e, u64 now_ns)
{
	return e->nr + (now_ns > e->since_ns ? (now_ns - e->since_ns) / e->period_ns : 0);
}

double paced_debt(const struct paced *e, const struct pacer *p)
{
	return (double)e->since_ns / (double)p->mean_ns - (double)e->nr;
}
