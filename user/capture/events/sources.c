/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a recording, opened in the kernel. */
#include "capture/events/sources.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/event_kind.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/cpus.h"
#include "capture/programs/detacher.h"
#include "capture/programs/other_programs.h"
#include "capture/stacks/kernel_text.h"
#include "capture/unwind/sample_stack.h"

/* The part of the ring for each CPU: for events at a steady rate, and for those in bursts. */
#define RING_BYTES_STEADY (512 * 1024)
#define RING_BYTES_BURSTS (1024 * 1024)

/* Time until a warning is repeated, and until other processes' BPF programs are listed again. */
#define TOLD_HOLDS_NS  (600 * NS_PER_SEC)
#define OTHERS_HOLD_NS (60 * NS_PER_SEC)

#define COMPARED_SAMPLES 10 /* samples due on each CPU between two checks for skipped samples */

struct source_probes {
	u32 event;
	u32 fallback; /* enum agent_hook: for processes where it does not report; 0: for all */
	struct probes *probes;
};

struct sources {
	struct programs *bpf;
	const struct events *events;
	const struct event_options *options;
	VEC(struct cpus *) cpus;
	VEC(struct bpf_link *) links;
	VEC(struct source_probes) probes;
	struct detacher *detacher; /* NULL after sources_stop */
	struct skipped *skipped;   /* NULL: not needed so far */
	/* result of skipped_poll; -EAGAIN: the program does not run yet */
	int skipped_err;
	u64 nr_declined[NR_PROGRAMS]; /* runs, so far */
	struct missed declined[ABI_EVENTS];
	bool is_missing_some; /* samples that nothing takes */
	other_program_list others;
	u64 looked_ns, listed_ns, told_ns, compared_ns; /* CLOCK_MONOTONIC */
	u32 nr_gone;                                    /* see sources_count_gone */
	u32 nr_headless;                                /* see sources_lose_probes */
	bool has_waits;
	struct span window;
	bool has_sched_text, has_entry_text;
	struct kernel_text sched_text, entry_text;
	struct knobs knobs; /* as configured */
	struct str text;
};

static void configure(const struct events *events, const struct event_options *o,
		      struct knobs *knobs)
{
	for (u32 i = 0; i < events->list.nr; i++) {
		const struct event *e = &events->list.at[i];
		e->kind->configure(e, i, o, knobs);
	}
}

void sources_configure(const struct events *events, const struct event_options *o,
		       struct programs_options *bpf)
{
	configure(events, o, &bpf->knobs);
	bpf->knobs.kernel_only = o->kernel_only;
	bpf->knobs.has_labels = o->has_labels;
	bpf->knobs.has_cpus = o->cpus != NULL;
	for (size_t i = 0; o->cpus && i < o->cpus->nr && o->cpus->at[i] < KNOBS_CPUS; i++)
		bpf->knobs.cpus[o->cpus->at[i] / 64] |= 1ull << (o->cpus->at[i] % 64);
	vec_each(e, &events->list) {
		bpf->programs |= e->kind->programs;
		if (bpf->nr_slots < e->kind->nr_slots)
			bpf->nr_slots = e->kind->nr_slots;
		bpf->cpu_bytes +=
			e->kind->nr_slots > SLOT_PERF + 1 ? RING_BYTES_BURSTS : RING_BYTES_STEADY;
	}
}

static void describe_cpus(struct sources *s)
{
	auto_str struct str list = { 0 };

	if (!s->options->cpus)
		return;
	cpulist_text(s->options->cpus, &list);
	sources_describe(s, "CPU%s %s only", s->options->cpus->nr > 1 ? "s" : "", list.at);
}

static bool has_clocks(const struct sources *s)
{
	vec_each(c, &s->cpus)
		if (cpus_are_clocks(*c))
			return true;
	return false;
}

static void load_skipped(struct sources *s)
{
	int err = skipped_load(s->bpf, &s->skipped);

	if (!err)
		return;
	s->skipped_err = err;
	log_debug("samples that the kernel skips are lost: %s", strerror(-err));
}

int sources_open(struct programs *bpf, const struct events *events, const struct event_options *o,
		 struct sources **out)
{
	struct sources *s = xcalloc(1, sizeof(*s));
	int err = 0;

	s->bpf = bpf;
	s->events = events;
	s->options = o;
	s->detacher = detacher_new();
	s->skipped_err = -EAGAIN;
	configure(events, o, &s->knobs);
	for (u32 i = 0; !err && i < events->list.nr; i++)
		err = events->list.at[i].kind->open(s, &events->list.at[i], i);
	if (err) {
		sources_close(s);
		return err;
	}
	describe_cpus(s);
	if (has_clocks(s) && skipped_is_likely(bpf))
		load_skipped(s);
	*out = s;
	return 0;
}

/* The event of a sample. sources_configure gave its number to the BPF programs. */
const struct event *sources_event(const struct sources *s, const struct sample *sample)
{
	assert(sample->event < s->events->list.nr);
	return &s->events->list.at[sample->event];
}

static void detach_all(struct sources *s)
{
	vec_each(p, &s->probes)
		probes_take_off(p->probes, s->detacher);
	vec_each(link, &s->links)
		detacher_add(s->detacher, *link);
	s->links.nr = 0;
	detacher_free(s->detacher);
	s->detacher = NULL;
}

void sources_close(struct sources *s)
{
	if (!s)
		return;
	vec_each(c, &s->cpus)
		cpus_close(*c);
	if (s->detacher)
		detach_all(s);
	skipped_free(s->skipped);
	vec_fini(&s->others);
	vec_each(p, &s->probes)
		probes_free(p->probes);
	vec_fini(&s->cpus);
	vec_fini(&s->links);
	vec_fini(&s->probes);
	str_fini(&s->text);
	free(s);
}

/*
 * The comparison of samples taken with samples due reads counters of all CPUs. It is repeated only
 * after COMPARED_SAMPLES more samples were due on each CPU: at 3 Hz, comparing at every tick took a
 * fifth of the recorder's CPU time.
 */
static bool is_time_to_compare(struct sources *s)
{
	u64 hz = s->options->freq_hz > 0 ? (u64)s->options->freq_hz : COMPARED_SAMPLES;
	u64 now_ns = time_mono_ns();

	if (now_ns - s->compared_ns < COMPARED_SAMPLES * NS_PER_SEC / hz)
		return false;
	s->compared_ns = now_ns;
	return true;
}

/* Loads and attaches the program for skipped samples once a sample was skipped. */
static void follow_skipped(struct sources *s)
{
	if (s->skipped_err != -EAGAIN)
		return;
	if (s->skipped) {
		s->skipped_err = skipped_poll(s->skipped);
		if (!s->skipped_err)
			log_debug("skipped samples are taken");
		else if (s->skipped_err != -EAGAIN)
			log_debug("skipped samples cannot be taken: %s", strerror(-s->skipped_err));
		for (size_t i = 0; !s->skipped_err && i < s->cpus.nr; i++)
			cpus_take_skipped(s->cpus.at[i]);
		return;
	}
	if (!is_time_to_compare(s))
		return;
	vec_each(c, &s->cpus)
		if (!s->skipped && s->skipped_err == -EAGAIN && cpus_seem_to_miss(*c))
			load_skipped(s);
}

/* Programs of ours that the kernel does not run while another BPF program runs on the CPU. */
static const enum program declined_programs[] = { PROGRAM_TRACE_HIT, PROGRAM_KPROBE_HIT,
						  PROGRAM_OFFCPU_BACK };

static bool is_run_by(const struct event *e, enum program program)
{
	return e->kind->programs & 1u << program;
}

/* The samples of the event that were due, among the runs of its program. */
static u64 wanted_of(const u64 counts[NR_EVENT_COUNTS], const struct event_runs *ran)
{
	return ran->nr_wanted + counts[EVENT_THROTTLED] + counts[EVENT_BUSY];
}

/*
 * The kernel counts declined runs by program, not by event. Each event gets the part that its
 * targets have of the program's runs. If the program never ran, the first event gets all.
 */
static void count_declined(struct sources *s, enum program program, u64 events[][NR_EVENT_COUNTS],
			   u64 *stats)
{
	u64 declined = programs_nr_declined(s->bpf, program), nr_runs = 0;
	u64 more = declined - s->nr_declined[program];
	struct event_runs ran[ABI_EVENTS];

	s->nr_declined[program] = declined;
	for (u32 i = 0; declined && i < s->events->list.nr; i++) {
		programs_sum_runs(s->bpf, i, &ran[i]);
		nr_runs += is_run_by(&s->events->list.at[i], program) ? ran[i].nr : 0;
	}
	for (u32 i = 0; declined && i < s->events->list.nr; i++) {
		if (!is_run_by(&s->events->list.at[i], program))
			continue;
		struct missed *m = &s->declined[i];
		u64 wanted = wanted_of(events[i], &ran[i]);
		missed_add(m, more, wanted, nr_runs);
		u64 nr = (u64)(m->nr + 0.5);
		events[i][EVENT_DECLINED] += nr;
		events[i][EVENT_DUE] += events[i][EVENT_DUE] ? 0 : wanted + nr;
		stats[STAT_DECLINED] += nr;
		more = nr_runs ? more : 0;
	}
}

void sources_count_missed(struct sources *s, u64 events[][NR_EVENT_COUNTS], u64 *stats)
{
	vec_each(c, &s->cpus) {
		struct cpus_due due = cpus_due(*c);
		u64 *counts = events[cpus_event(*c)];

		counts[EVENT_DUE] += due.nr;
		counts[EVENT_SKIPPED] += due.nr_skipped;
		counts[EVENT_LATE] += due.nr_late;
		stats[STAT_SKIPPED] += due.nr_skipped;
		stats[STAT_LATE] += due.nr_late;
	}
	for (size_t i = 0; i < ARRAY_SIZE(declined_programs); i++)
		count_declined(s, declined_programs[i], events, stats);
}

static bool are_some_missing(const struct sources *s)
{
	bool takes_skipped = !s->skipped_err || s->skipped_err == -EAGAIN;

	for (size_t i = 0; i < ARRAY_SIZE(declined_programs); i++)
		if (programs_nr_declined(s->bpf, declined_programs[i]))
			return true;
	vec_each(c, &s->cpus)
		if (!(takes_skipped && cpus_are_clocks(*c)) && cpus_due(*c).nr_skipped)
			return true;
	return false;
}

/*
 * Notes the run times of other processes' BPF programs at the first missing sample: later reports
 * count from there.
 */
static void look_for_missing(struct sources *s)
{
	u64 now_ns = time_mono_ns();

	if (s->is_missing_some || now_ns - s->looked_ns < NS_PER_SEC)
		return;
	s->looked_ns = now_ns;
	s->is_missing_some = are_some_missing(s);
	if (s->is_missing_some)
		other_programs_read(&s->others);
}

bool sources_misses_some(const struct sources *s)
{
	return s->is_missing_some || are_some_missing(s);
}

bool sources_others(struct sources *s, other_program_list *out)
{
	other_program_list now = { 0 };
	u64 now_ns = time_mono_ns();
	bool is_new = !s->told_ns || now_ns - s->told_ns > TOLD_HOLDS_NS;

	if (s->listed_ns && now_ns - s->listed_ns < OTHERS_HOLD_NS)
		return false;
	s->listed_ns = now_ns;
	other_programs_read(&now);
	vec_each(p, &now)
		vec_push(out, *p);
	other_programs_since(&s->others, out);
	vec_fini(&s->others);
	s->others = now;
	if (is_new)
		s->told_ns = now_ns;
	return is_new;
}

int sources_start(struct sources *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->cpus.nr; i++) {
		err = cpus_start(s->cpus.at[i]);
		if (err)
			log_error("perf events cannot be started: %s", descriptors_error_text(err));
	}
	if (!err && s->has_waits) {
		err = programs_start_waits(s->bpf);
		if (err)
			log_error("waits cannot be followed: %s", descriptors_error_text(err));
	}
	for (u32 i = 0; !err && i < s->events->list.nr; i++) {
		const struct event *e = &s->events->list.at[i];
		if (e->kind->start)
			err = e->kind->start(s, e, i);
	}
	return err;
}

void sources_set_window(struct sources *s, const struct span *window)
{
	s->window = *window;
	programs_set_window(s->bpf, window);
}

void sources_count_gone(struct sources *s)
{
	s->nr_gone++;
}

/* The kernel matches probes to a process by the main thread's memory (uprobe_multi_link_filter). */
void sources_lose_probes(struct sources *s, const struct process *p)
{
	bool any = false;

	vec_each(probes, &s->probes)
		any |= p && probes_has(probes->probes, p);
	s->nr_headless += any;
}

void sources_stop_cpus(struct sources *s)
{
	vec_each(c, &s->cpus)
		cpus_stop(*c);
}

void sources_stop(struct sources *s)
{
	if (s->nr_gone)
		log_warn("%u processes ended, or their main thread did, before they had all their "
			 "probes",
			 s->nr_gone);
	if (s->nr_headless)
		log_warn("the main thread of %u processes ended before they did, and with it "
			 "their probes: later calls are missing, and memory freed later counts as "
			 "not freed",
			 s->nr_headless);
	detach_all(s);
}

void sources_follow(struct sources *s)
{
	vec_each(c, &s->cpus)
		cpus_follow(*c);
}

/* Whether probes may still be placed: until sources_stop, which detaches all of them for good. */
static bool places_probes(const struct sources *s)
{
	return s->detacher;
}

void sources_add_process(struct sources *s, const struct process *p)
{
	if (!places_probes(s))
		return;
	vec_each(probes, &s->probes)
		if (!probes->fallback)
			probes_add_process(probes->probes, p);
}

void sources_fall_back(struct sources *s, const struct process *p, u32 hooks)
{
	if (!places_probes(s))
		return;
	vec_each(probes, &s->probes)
		if (probes->fallback & hooks)
			probes_add_process(probes->probes, p);
}

void sources_end_fallback(struct sources *s, const struct process *p, u32 hooks)
{
	if (!places_probes(s))
		return;
	vec_each(probes, &s->probes)
		if (probes->fallback & hooks)
			probes_remove_process(probes->probes, p, s->detacher);
}

void sources_remove_process(struct sources *s, const struct process *p)
{
	if (!places_probes(s))
		return;
	vec_each(probes, &s->probes)
		probes_remove_process(probes->probes, p, s->detacher);
}

void sources_poll(struct sources *s, const struct processes *all)
{
	follow_skipped(s);
	look_for_missing(s);
	if (!places_probes(s))
		return;
	vec_each(probes, &s->probes)
		probes_poll(probes->probes, all);
}

void sources_turn(struct sources *s)
{
	vec_each(probes, &s->probes)
		probes_turn(probes->probes);
}

bool sources_are_being_prepared(const struct sources *s)
{
	vec_each(probes, &s->probes)
		if (probes_are_searching(probes->probes))
			return true;
	return s->skipped && s->skipped_err == -EAGAIN;
}

bool sources_are_placed(const struct sources *s)
{
	return s->probes.nr;
}

bool sources_is_double(const struct sources *s, const struct event *event,
		       const struct sample *sample, const struct process *p)
{
	if (!event->kind->is_double)
		return false;
	vec_each(probes, &s->probes)
		if (probes->event == sample->event && !probes->fallback)
			return event->kind->is_double(s, probes->probes, sample, p);
	return false;
}

bool sources_is_live_only(const struct sources *s, const struct event *event, u64 *age_ns)
{
	*age_ns = 0;
	return event->kind->is_held && event->kind->is_held(s->options, age_ns);
}

/*
 * Whether a wait is sampled: the rule of bpf/events/offcpu.bpf.c while there are not too many
 * waits.
 */
static bool is_sampled(u64 waited_ns, u64 min_ns)
{
	return min_ns && waited_ns && drand48() * (double)min_ns < (double)waited_ns;
}

struct pending_context {
	struct sources *sources;
	sources_blocked_fn pending;
	void *ctx;
};

static void weigh_pending(const struct blocked_thread *p, void *ctx)
{
	struct pending_context *c = ctx;
	u64 since_ns = p->sample.weight, end_ns = p->sample.time_ns;
	struct sources_wait wait = {
		.waited_ns = end_ns > since_ns ? end_ns - since_ns : 0,
		.is_idle = since_ns <= c->sources->window.begin_ns,
	};

	for (u32 i = 0; i < KNOBS_WAITS; i++) {
		const struct wait_knobs *w = &c->sources->knobs.waits[i];
		wait.number = w->event;
		wait.unit_ns = w->min_ns;
		if (p->events & 1 << i && is_sampled(wait.waited_ns, w->min_ns))
			c->pending(p, &wait, c->ctx);
	}
}

void sources_blocked(struct sources *s, sources_blocked_fn pending, void *ctx)
{
	struct pending_context c = { s, pending, ctx };

	if (s->has_waits)
		programs_blocked(s->bpf, false, weigh_pending, &c);
}

static void note_since(const struct blocked_thread *p, void *since)
{
	*dict_add(since, p->sample.task.tid) = p->sample.weight;
}

void sources_last_blocked(struct sources *s, struct dict *since)
{
	if (s->has_waits)
		programs_blocked(s->bpf, true, note_since, since);
}

const char *sources_text(const struct sources *s)
{
	return s->text.at;
}

int sources_nr_cpus(const struct sources *s)
{
	return s->cpus.nr ? cpus_nr(s->cpus.at[0]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

struct sample_weight sources_weigh(const struct sources *s, const struct event *event,
				   const struct sample *sample)
{
	const struct event_kind *kind = event->kind;
	struct sample_weight weight = { .value = sample->weight, .count = 1 };

	/* How many waits they were is not known. */
	if (sample->kind == RECORD_VIRTUAL)
		return (struct sample_weight){ sample->weight, 0, sample->unit_ns };
	if (kind->lasts && sample->state != STATE_RUNNING)
		weight.lasted_ns = sample->weight;
	if (kind->weigh)
		weight.value = kind->weigh(s->options, sample, &weight.count);
	return weight;
}

void sources_hooks(const struct events *events, const struct event_options *o,
		   struct agent_hooks *out)
{
	*out = (struct agent_hooks){ 0 };
	vec_each(e, &events->list)
		if (e->kind->hook)
			e->kind->hook(e, o, out);
}

bool sources_keep(const struct named_stack *stack)
{
	return !stack->event->kind->keep || stack->event->kind->keep(stack);
}

bool sources_is_of_carriers(const struct event *event)
{
	return event->kind->is_of_carriers;
}

bool sources_is_of_locks(const struct event *event)
{
	return event->kind->is_of_locks;
}

u32 sources_state(const struct named_stack *stack)
{
	const struct event_kind *kind = stack->event->kind;

	return kind->state ? kind->state(stack) : STATE_NONE;
}

const char *sources_group(const struct sources *s, const struct named_stack *stack,
			  bool *is_left_out)
{
	const struct event_kind *kind = stack->event->kind;
	const char *group = kind->group ? kind->group(stack) : NULL;
	u64 age_ns;

	*is_left_out =
		group && !s->options->reserved && sources_is_live_only(s, stack->event, &age_ns);
	return group;
}

static size_t timer_frames(struct sources *s, const struct sample *sample)
{
	if (!s->has_entry_text)
		s->entry_text = kernel_text_read("entry");
	s->has_entry_text = true;
	return kernel_text_entry_frames(&s->entry_text, sample_words(sample), sample->nr_kernel);
}

/* Reads the ranges only when needed: it takes some 60 ms, and only naming uses them. */
size_t sources_frames_to_skip(struct sources *s, const struct event *event,
			      const struct sample *sample)
{
	if (sample->state == STATE_RUNNING && sample->is_from_timer)
		return timer_frames(s, sample);
	if (!sample->nr_kernel || sample->state <= STATE_RUNNING || !event->kind->state)
		return 0;
	if (!s->has_sched_text)
		s->sched_text = kernel_text_read("sched");
	s->has_sched_text = true;
	return kernel_text_frames(&s->sched_text, sample_words(sample), sample->nr_kernel);
}

int sources_add_cpus(struct sources *s, const struct perf_event_attr *attr, u32 number)
{
	struct cpus *c;
	int err = cpus_open(s->bpf, attr, s->options->cpus, number, &c);

	if (err)
		return err;
	vec_push(&s->cpus, c);
	auto_str struct str refused = { 0 };
	int why = cpus_refused(c, &refused);
	if (why)
		log_warn("%s is not counted on CPU %s: %s; what runs there is missing",
			 s->events->list.at[number].name, refused.at,
			 why == -EBUSY ? "somebody else holds the counter" : strerror(-why));
	return 0;
}

void sources_add_link(struct sources *s, struct bpf_link *link)
{
	vec_push(&s->links, link);
}

int sources_take_link(struct sources *s, const struct event *e, int err, struct bpf_link *link)
{
	if (err)
		log_error("%s cannot be attached: %s", e->name, descriptors_error_text(err));
	else
		sources_add_link(s, link);
	return err;
}

const struct probes *sources_probes(const struct sources *s, u32 number)
{
	vec_each(p, &s->probes)
		if (p->event == number)
			return p->probes;
	return NULL;
}

void sources_add_probes(struct sources *s, u32 number, struct probes *probes)
{
	vec_push(&s->probes, (struct source_probes){ number, 0, probes });
}

void sources_add_fallback(struct sources *s, u32 number, enum agent_hook hook,
			  struct probes *probes)
{
	vec_push(&s->probes, (struct source_probes){ number, hook, probes });
}

void sources_add_waits(struct sources *s)
{
	s->has_waits = true;
}

struct programs *sources_bpf(const struct sources *s)
{
	return s->bpf;
}

const struct event_options *sources_options(const struct sources *s)
{
	return s->options;
}

void sources_describe(struct sources *s, const char *fmt, ...)
{
	char line[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	str_addf(&s->text, "%s%s", s->text.len ? "; " : "", line);
}
