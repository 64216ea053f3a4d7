/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a sample in the profile. */
#include "capture/samples/levels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "capture/samples/virtual_waits.h"
#include "jvm/process/process_context.h"
#include "jvm/process/process_names.h"

#define ID_SHOWN 12 /* digits of a container id, as runtimes show them */

static const char *const level_names[NR_LEVELS] = {
	[LEVEL_PROCESS] = "process", [LEVEL_THREAD] = "thread", [LEVEL_CONTAINER] = "container",
	[LEVEL_POD] = "pod",         [LEVEL_HOST] = "host",
};

void levels_add(struct level_list *list, enum level level)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->at[i] == level)
			return;
	list->at[list->nr++] = level;
}

static int parse_one(const char *text, size_t len, struct level_list *out)
{
	for (enum level level = 0; level < NR_LEVELS; level++)
		if (strlen(level_names[level]) == len && !strncmp(text, level_names[level], len)) {
			levels_add(out, level);
			return 0;
		}
	return -EINVAL;
}

int levels_parse(const char *text, struct level_list *out, struct str *why)
{
	out->nr = 0;
	if (!strcmp(text, "none"))
		return 0;
	for (;; text++) {
		size_t len = strcspn(text, ",");
		if (parse_one(text, len, out)) {
			str_addf(why,
				 "takes none, or a list of process, thread, container, pod and "
				 "host, separated by commas");
			return -EINVAL;
		}
		text += len;
		if (!*text)
			return 0;
	}
}

static const char *const states[NR_STATES] = {
	[STATE_RUNNING] = "running",
	[STATE_RUNNABLE] = "runnable",
	[STATE_SLEEPING] = "sleeping",
	[STATE_DISK] = "disk",
	[STATE_UNINTERRUPTIBLE] = "uninterruptible",
	[STATE_STOPPED] = "stopped",
	[STATE_IDLE] = "idle",
	[STATE_PINNED] = "pinned",
};

/* Brackets mark groups that have no name of their own. */
static void add_name(struct str *out, enum level level, const struct labels *of, const char *host)
{
	switch (level) {
	case LEVEL_PROCESS:
		if (of->jvm)
			str_addf(out, "%s - %u", of->jvm, of->pid);
		else
			str_addf(out, "%s-%u", of->comm, of->pid);
		break;
	case LEVEL_THREAD:
		if (of->tid >= VIRTUAL_TID)
			str_add(out, of->thread);
		else
			str_addf(out, "%s-%u", of->thread, of->tid);
		break;
	case LEVEL_CONTAINER:
		if (!of->container_id)
			str_add(out, "[no container]");
		else if (*of->container)
			str_add(out, of->container);
		else
			str_addf(out, "%.*s", ID_SHOWN, of->container_id);
		break;
	case LEVEL_POD:
		if (of->pod && *of->pod)
			str_addf(out, "%s/%s", of->namespace, of->pod);
		else if (of->pod_uid && *of->pod_uid)
			str_add(out, of->pod_uid);
		else
			str_add(out, "[no pod]");
		break;
	default:
		str_add(out, host);
	}
}

/* In a profile an unknown text is "". */
static const char *known(const char *text)
{
	return text && *text ? text : NULL;
}

/* At the end of the recording the profile has frames of its own. */
static node_id group(struct levels *l, node_id parent, const char *name)
{
	frame_id frame = l->profile->shares_frames
				 ? symbolizer_group(l->symbolizer, name)
				 : frames_intern(l->profile->frames, FRAME_GROUP, name, "");

	return profile_child(l->profile, parent, frame);
}

static node_id node_of(struct levels *l, const struct labels *labels)
{
	node_id node = 0;

	for (size_t i = 0; i < l->list.nr; i++) {
		auto_str struct str name = { 0 };
		add_name(&name, l->list.at[i], labels, l->profile->host);
		node = group(l, node, name.at);
	}
	if (labels->state) {
		auto_str struct str name = { 0 };
		str_addf(&name, "[%s]", labels->state);
		node = group(l, node, name.at);
	}
	return node;
}

/* As node_of, for labels that the profile has as `id`. Most samples have labels of earlier ones. */
static node_id node_of_known(struct levels *l, labels_id id, const struct labels *labels)
{
	while (l->nodes->nr <= id)
		vec_push(l->nodes, 0);
	if (!l->nodes->at[id])
		l->nodes->at[id] = node_of(l, labels) + 1;
	return l->nodes->at[id] - 1;
}

/* The kernel keeps 15 bytes of a thread's name, a JVM the whole name. */
static const char *thread_name(struct levels *l, const struct process *p,
			       const struct sample *sample)
{
	pid_t tid = (pid_t)sample->task.tid;
	const char *name = NULL;

	if (p->is_jvm)
		name = jvm_registry_thread_name(l->jvms, p->id, tid, sample->comm)
			       ?: agents_thread_name(l->agents, p->id, tid, sample->comm);
	return name ?: sample->comm;
}

/*
 * Reads the names of a process. If the profile has no services, only JVMs are read. If names change
 * later, levels_settle gives them to earlier samples.
 */
static const struct process_names *names_of(const struct levels *l, struct process *p,
					    const struct container *c, bool is_over)
{
	static const struct process_names none;

	if (!l->has_services && !process_is_java(p)) {
		if (!is_over)
			process_context_update(p);
		return &none;
	}
	const char *command = p->is_jvm ? jvm_registry_command(l->jvms, p->id) : NULL;
	return process_names_update(p, command, c, is_over);
}

/* The time from levels.begin_ns to `time_ns`. */
static u64 since_begin(const struct levels *l, u64 time_ns)
{
	return time_ns > l->begin_ns ? time_ns - l->begin_ns : 0;
}

static bool has_level(const struct levels *l, enum level level)
{
	for (size_t i = 0; i < l->list.nr; i++)
		if (l->list.at[i] == level)
			return true;
	return false;
}

static u64 thread_key(const struct labels *of)
{
	return (u64)of->pid << 32 | of->tid;
}

/* Some samples arrive late. */
static void note_thread(struct levels *l, const struct sample *sample, labels_id id)
{
	if (!has_level(l, LEVEL_THREAD))
		return;
	u64 *slot = dict_add(&l->threads->by_thread, thread_key(&l->profile->labels.at[id]));
	if (!*slot) {
		vec_push(&l->threads->all, (struct newest_thread){ 0 });
		*slot = l->threads->all.nr;
	}
	struct newest_thread *newest = &l->threads->all.at[*slot - 1];
	if (sample->time_ns >= newest->time_ns)
		*newest = (struct newest_thread){ sample->time_ns, id };
}

static u64 program_key(u32 pid, u64 program)
{
	return hash_u64(hash_u64(program) ^ pid);
}

static void note_program(struct levels *l, labels_id id)
{
	struct program_labels *all = l->programs;
	const struct labels *of = &l->profile->labels.at[id];

	if (id < all->older.nr)
		return;
	while (all->older.nr < id)
		vec_push(&all->older, 0);
	u64 *newest = dict_add(&all->newest, program_key(of->pid, of->program));
	vec_push(&all->older, (labels_id)*newest);
	*newest = id + 1ul;
}

static void place_parts(const struct levels *l, const struct sample *sample,
			const struct sample_weight *weight, const struct labels *labels,
			struct place *out)
{
	struct profile *profile = l->profile;
	struct labels own = *labels;
	struct slots_part parts[SLOTS_PARTS] = { { .value = weight->value } };
	char time[SLOTS_TEXT_BYTES];

	out->nr_parts = 1;
	if (profile->slot_ns)
		out->nr_parts = slots_divide(since_begin(l, sample->time_ns - weight->lasted_ns),
					     since_begin(l, sample->time_ns), profile->slot_ns,
					     weight->value, parts);
	for (size_t i = 0; i < out->nr_parts; i++) {
		if (profile->slot_ns) {
			slots_text(&parts[i].slots, time);
			own.time = time;
		}
		out->parts[i] =
			(struct place_part){ profile_intern_labels(profile, &own), parts[i].value };
	}
}

/* The labels of earlier samples, for a sample whose process executes another program by now. */
static struct labels past_labels(const struct levels *l, const struct sample *sample,
				 struct place_traits traits)
{
	const u64 *newest =
		dict_find(&l->programs->newest, program_key(sample->task.pid, traits.program_ns));
	struct labels found = { .service = l->has_services ? traits.comm : NULL };

	if (newest) {
		found = l->profile->labels.at[*newest - 1];
		found.jvm = known(found.jvm);
	}
	return found;
}

enum placing levels_place(struct levels *l, struct process *p, const struct sample *sample,
			  const struct sample_weight *weight, struct place_traits traits,
			  struct place *out)
{
	const struct container *c = process_container(p, l->containers);
	const struct process_names *names = names_of(l, p, c, false);
	bool is_past = traits.program_ns != p->program_ns;
	const struct labels past = is_past ? past_labels(l, sample, traits) : (struct labels){ 0 };
	const struct process_context *context = &p->context;
	const char *service = l->has_services ? names->service : context->service;
	const struct labels labels = {
		.pid = sample->task.pid,
		.tid = sample->task.tid,
		.program = traits.program_ns,
		.comm = traits.comm,
		.thread = traits.thread ?: thread_name(l, p, sample),
		.state = traits.state < NR_STATES ? states[traits.state] : NULL,
		.leaf = traits.leaf,
		.owner = traits.owner,
		.executor = traits.executor,
		.stack = traits.stack,
		.container_id = c ? c->id : NULL,
		.container = c ? c->name : NULL,
		.namespace = c ? c->namespace : NULL,
		.pod = c ? c->pod : NULL,
		.pod_uid = c ? c->pod_uid : NULL,
		.service = is_past ? past.service : service,
		.instance = is_past ? past.instance : context->instance,
		.environment = is_past ? past.environment : context->environment,
		.version = is_past ? past.version : context->version,
		.jvm = is_past ? past.jvm : names->jvm,
		.tags = traits.request->tags[l->requests < REQUEST_TRACES ? l->requests
									  : REQUEST_ATTRIBUTES],
	};

	p->has_samples |= !is_past;
	if (l->thread && regexec(l->thread, labels.thread, 0, NULL, 0))
		return OTHER_THREAD;
	place_parts(l, sample, weight, &labels, out);
	out->node = node_of_known(l, out->parts[0].labels, &labels);
	for (size_t i = 0; i < out->nr_parts; i++)
		note_program(l, out->parts[i].labels);
	note_thread(l, sample, out->parts[0].labels);
	return PLACED;
}

/*
 * A thread that often renames itself has, in some samples, only the name that the kernel keeps: the
 * begin of its whole name (thread_names_ask).
 */
#define COMM_BYTES 15
#define AMBIGUOUS  UINT64_MAX

/* By thread and first bytes: labels with the whole name + 1. */
static u64 *whole_name(struct dict *all, const struct labels *of)
{
	return dict_add(all, hash_u64(thread_key(of) ^ hash_keyed(of->thread, COMM_BYTES)));
}

static void find_whole_names(const struct profile *p, struct dict *out)
{
	for (labels_id id = 0; id < p->labels.nr; id++) {
		const struct labels *of = &p->labels.at[id];
		if (strlen(of->thread) <= COMM_BYTES)
			continue;
		u64 *first = whole_name(out, of);
		if (!*first)
			*first = id + 1;
		else if (*first != AMBIGUOUS &&
			 strcmp(p->labels.at[*first - 1].thread, of->thread) != 0)
			*first = AMBIGUOUS;
	}
}

static const char *whole_thread(const struct levels *l, struct dict *names, const struct labels *of)
{
	if (strlen(of->thread) != COMM_BYTES)
		return of->thread;
	u64 first = *whole_name(names, of);
	return first && first != AMBIGUOUS ? l->profile->labels.at[first - 1].thread : of->thread;
}

struct settling {
	struct levels *levels;
	labels_id *to;        /* by earlier labels */
	struct dict names;    /* see find_whole_names */
	VEC(frame_id) frames; /* scratch */
};

/* The process of these labels, unless it has ended or executes another program now. */
static struct process *process_of(const struct labels *of, const struct processes *all)
{
	struct process *p = processes_newest(all, (pid_t)of->pid);

	while (p && p->program_ns != of->program)
		p = p->older;
	return p;
}

/* Runtimes join a group after the start, and name a container after its start. */
static void take_container(struct labels *to, const struct container *c)
{
	if (!c || (*to->container_id && strcmp(to->container_id, c->id) != 0))
		return;
	to->container_id = c->id;
	to->container = known(c->name) ?: to->container;
	to->namespace = known(c->namespace) ?: to->namespace;
	to->pod = known(c->pod) ?: to->pod;
	to->pod_uid = known(c->pod_uid) ?: to->pod_uid;
}

/* `p` may be NULL. `is_over`: the program of the labels has ended. */
static labels_id with_new_names(struct settling *s, labels_id id, struct process *p, bool is_over)
{
	struct levels *l = s->levels;
	struct labels new = l->profile->labels.at[id];

	if (p) {
		const struct container *c = process_container(p, l->containers);
		const struct process_names *names = names_of(l, p, c, is_over);
		take_container(&new, c);
		new.jvm = names->jvm ?: new.jvm;
		new.service = l->has_services ? names->service : p->context.service ?: new.service;
		new.instance = p->context.instance ?: new.instance;
		new.environment = p->context.environment ?: new.environment;
		new.version = p->context.version ?: new.version;
	}
	take_container(&new, containers_known(l->containers, new.container_id));
	new.thread = whole_thread(l, &s->names, &new);
	return profile_intern_labels(l->profile, &new);
}

static const char *newest_name(struct settling *s, const struct labels *of)
{
	const struct levels *l = s->levels;
	const u64 *slot = dict_find(&l->threads->by_thread, thread_key(of));

	if (!slot)
		return of->thread;
	const struct newest_thread *newest = &l->threads->all.at[*slot - 1];
	return whole_thread(l, &s->names, &l->profile->labels.at[newest->labels]);
}

/* The node with the same path of frames, below the levels of other labels. */
static node_id move_node(struct settling *s, node_id node, const struct labels *of)
{
	struct levels *l = s->levels;
	struct labels groups = *of;
	node_id to = 0;

	s->frames.nr = 0;
	for (node_id at = node; at; at = l->profile->nodes.at[at].parent)
		vec_push(&s->frames, l->profile->nodes.at[at].frame);
	if (s->frames.nr < l->list.nr) /* it has no stack */
		return node;
	groups.jvm = known(of->jvm);
	groups.container_id = known(of->container_id);
	groups.state = NULL; /* one of the frames */
	to = node_of(l, &groups);
	for (size_t i = s->frames.nr - l->list.nr; i-- > 0;)
		to = profile_child(l->profile, to, s->frames.at[i]);
	return to;
}

static void settle_weight(struct weight *w, void *ctx)
{
	struct settling *s = ctx;
	bool is_renamed = s->to[w->labels] != w->labels;

	w->labels = s->to[w->labels];
	struct labels of = s->levels->profile->labels.at[w->labels];
	const char *thread = newest_name(s, &of);
	if (is_renamed || strcmp(thread, of.thread) != 0) {
		of.thread = thread;
		w->node = move_node(s, w->node, &of);
	}
}

void levels_settle(struct levels *l, const struct processes *all)
{
	size_t nr = l->profile->labels.nr;
	auto_free labels_id *to = xcalloc(nr + 1, sizeof(to[0]));
	struct settling s = { .levels = l, .to = to };
	bool has_new = false;

	find_whole_names(l->profile, &s.names);
	for (labels_id id = 0; id < nr; id++) {
		const struct labels of = l->profile->labels.at[id];
		to[id] = with_new_names(&s, id, process_of(&of, all), false);
		has_new |= to[id] != id || strcmp(newest_name(&s, &of), of.thread) != 0;
	}
	if (has_new)
		profile_change_weights(l->profile, settle_weight, &s);
	profile_forget_programs(l->profile);
	vec_fini(&s.frames);
	dict_fini(&s.names);
}

void levels_settle_program(struct levels *l, struct process *p)
{
	u64 *newest = dict_find(&l->programs->newest, program_key((u32)p->id.pid, p->program_ns));
	labels_id nr = (labels_id)l->profile->labels.nr, next = newest ? (labels_id)*newest : 0;
	auto_free labels_id *to = NULL;
	struct settling s = { .levels = l };

	for (; next; next = l->programs->older.at[next - 1]) {
		labels_id id = next - 1, new = with_new_names(&s, id, p, true);
		if (new == id)
			continue;
		if (!to) {
			to = xcalloc(nr, sizeof(to[0]));
			for (labels_id own = 0; own < nr; own++)
				to[own] = own;
		}
		to[id] = new;
	}
	s.to = to;
	if (to) {
		*newest = to[*newest - 1] + 1ul; /* for samples that still wait */
		profile_change_weights(l->profile, settle_weight, &s);
		traces_change(l->traces, settle_weight, &s);
	}
	vec_fini(&s.frames);
	dict_fini(&s.names);
}
