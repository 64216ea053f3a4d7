/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a sample in the profile. */
#include "capture/samples/levels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "jvm/process/jvm_name.h"

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
	[STATE_RUNNING] = "running", [STATE_RUNNABLE] = "runnable", [STATE_SLEEPING] = "sleeping",
	[STATE_DISK] = "disk",       [STATE_STOPPED] = "stopped",   [STATE_IDLE] = "idle",
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

static node_id group(struct levels *l, node_id parent, const char *name)
{
	return profile_child(l->profile, parent, symbolizer_group(l->symbolizer, name));
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
 * The name of a JVM, but not of its forks, which stays the same for all of its samples. A program
 * called "java" has it before it loads the JVM, too.
 */
static const char *name_of_jvm(struct process *p, const struct container *c)
{
	if (p->has_jvm_name)
		return p->jvm_name;
	p->has_jvm_name = true;
	bool is_own = p->jvm.pid == p->id.pid && p->jvm.start_ns == p->id.start_ns;
	if (is_own && (p->is_jvm || !strcmp(p->comm, "java"))) {
		auto_words struct words w;
		words_read(p->id, WORDS_ARGS | WORDS_ENVIRON, &w);
		if (w.args)
			p->jvm_name = jvm_name(&w, c ? c->name : NULL);
	}
	return p->jvm_name;
}

/* The time from levels.begin_ns to `time_ns`. */
static u64 since_begin(const struct levels *l, u64 time_ns)
{
	return time_ns > l->begin_ns ? time_ns - l->begin_ns : 0;
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

enum placing levels_place(struct levels *l, struct process *p, const struct sample *sample,
			  const struct sample_weight *weight, struct place_traits traits,
			  struct place *out)
{
	const struct container *c = process_container(p, l->containers);
	const struct labels labels = {
		.pid = sample->task.pid,
		.tid = sample->task.tid,
		.comm = p->comm,
		.thread = thread_name(l, p, sample),
		.state =
			traits.by_state && sample->state < NR_STATES ? states[sample->state] : NULL,
		.leaf = traits.leaf_is_inexact ? "inexact" : NULL,
		.container_id = c ? c->id : NULL,
		.container = c ? c->name : NULL,
		.namespace = c ? c->namespace : NULL,
		.pod = c ? c->pod : NULL,
		.pod_uid = c ? c->pod_uid : NULL,
		.service = l->service ? l->service(p, l->ctx) : NULL,
		.jvm = name_of_jvm(p, c),
	};

	if (l->thread && regexec(l->thread, labels.thread, 0, NULL, 0))
		return OTHER_THREAD;
	if (l->wants && !l->wants(&labels, l->ctx))
		return UNWANTED;
	out->node = node_of(l, &labels);
	place_parts(l, sample, weight, &labels, out);
	return PLACED;
}
