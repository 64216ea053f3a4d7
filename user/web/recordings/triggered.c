/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that fired. */
#include "web/recordings/triggered.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "web/recordings/keeping.h"
#include "web/recordings/range.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

#define SETTING     "fired"           /* the list, in the store */
#define PATIENCE_NS (30 * NS_PER_SEC) /* for the present slice: 10 s, and time for its names */

static struct fired *find(struct service *sv, u64 number)
{
	vec_each(f, &sv->triggered.list)
		if (f->number == number)
			return f;
	return NULL;
}

json_t *triggered_json(const struct service *sv)
{
	const struct triggered *t = &sv->triggered;
	json_t *list = json_array();

	for (size_t i = t->list.nr; i-- > 0;) {
		const struct fired *f = &t->list.at[i];
		json_array_append_new(list,
				      json_pack("{s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:s}", "at_ms",
						(json_int_t)f->at_ms, "name", f->name, "why",
						f->why, "target", f->target, "source", f->source,
						"recording", (json_int_t)f->recording, "before",
						(json_int_t)f->before, "refused", f->refused));
	}
	return list;
}

static void save(struct service *sv)
{
	json_t *list = triggered_json(sv);
	auto_free char *text = json_dumps(list, JSON_COMPACT);

	json_decref(list);
	sv->changed |= CHANGED_TRIGGERS;
	if (text && store_set_setting(sv->store, SETTING, text))
		log_debug("the list of triggers that fired is not kept");
}

static void recall_text(const json_t *o, const char *name, char *field, size_t size)
{
	const char *text = json_string_value(json_object_get(o, name));

	copy_text(field, size, text ?: "");
}

static bool is_stored(struct store *store, u64 id)
{
	struct stored s;

	if (store_get(store, id, &s))
		return false;
	stored_fini(&s);
	return true;
}

void triggered_recall(struct service *sv)
{
	struct triggered *t = &sv->triggered;
	auto_free char *text = store_setting(sv->store, SETTING);
	json_t *list = text ? json_loads(text, 0, NULL) : NULL;

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *o = json_array_get(list, i);
		struct fired f = { .number = ++t->last_number };
		f.at_ms = (u64)json_integer_value(json_object_get(o, "at_ms"));
		f.recording = (u64)json_integer_value(json_object_get(o, "recording"));
		f.before = (u64)json_integer_value(json_object_get(o, "before"));
		recall_text(o, "name", f.name, sizeof(f.name));
		recall_text(o, "why", f.why, sizeof(f.why));
		recall_text(o, "target", f.target, sizeof(f.target));
		recall_text(o, "source", f.source, sizeof(f.source));
		recall_text(o, "refused", f.refused, sizeof(f.refused));
		vec_push(&t->list, f);
		/* The parts of the trigger's recording may still become a profile. */
		if (f.recording && !is_stored(sv->store, f.recording))
			vec_push(&t->ids, f.recording);
	}
	json_decref(list);
}

static u64 list_add(struct service *sv, const struct control_fired *fired, const char *source)
{
	static const char *const kinds[NR_CONTROL_TARGETS] = {
		[CONTROL_TARGET_NODE] = "node",           [CONTROL_TARGET_PID] = "process",
		[CONTROL_TARGET_CGROUP] = "group",        [CONTROL_TARGET_POD] = "pod",
		[CONTROL_TARGET_CONTAINER] = "container",
	};
	struct triggered *t = &sv->triggered;
	struct fired f = { .number = ++t->last_number, .at_ms = time_wall_ns() / NS_PER_MS };
	const char *kind = fired->target < NR_CONTROL_TARGETS ? kinds[fired->target] : NULL;

	if (t->list.nr >= TRIGGERED_MAX) {
		memmove(t->list.at, t->list.at + 1, (t->list.nr - 1) * sizeof(t->list.at[0]));
		t->list.nr--;
	}
	copy_text(f.name, sizeof(f.name), fired->name);
	copy_text(f.why, sizeof(f.why), fired->why);
	copy_text(f.source, sizeof(f.source), source);
	snprintf(f.target, sizeof(f.target), "%s%s%.120s", kind ?: "",
		 *fired->target_text ? " " : "", fired->target_text);
	vec_push(&t->list, f);
	return f.number;
}

/* The slices before a trigger, while they become a profile. */
struct before {
	struct service *sv;
	u64 number; /* of the trigger in the list */
	char *name, *container, *pod;
	u64 from_ns, to_ns;
	u64 due_ns; /* deadline for the last slice */
};

static void free_before(struct before *b)
{
	free(b->name);
	free(b->container);
	free(b->pod);
	free(b);
}

/* Its texts are those of `b`. */
static struct range range_of(const struct before *b)
{
	struct range r = RANGE_ALL(b->from_ns / NS_PER_MS, b->to_ns / NS_PER_MS);

	r.container = b->container;
	r.pod = b->pod;
	return r;
}

static void kept(void *ctx, int err, u64 id)
{
	struct before *b = ctx;
	struct fired *entry = find(b->sv, b->number);

	if (!err)
		store_pin(b->sv->store, id, true);
	if (!err && entry) {
		entry->before = id;
		save(b->sv);
	}
	free_before(b);
}

/* A job_done_fn. */
static void rendered(void *ctx, int err, struct payload *result)
{
	struct before *b = ctx;

	if (err) {
		log_info("%s: the slices before it are not kept: %s", b->name,
			 err == -EBADMSG ? result->at : strerror(-err));
		free_before(b);
		return;
	}
	const struct range range = range_of(b);
	struct stored facts = {
		.name = xstrdup(b->name),
		.target = range_target(&range),
		.source = xstrdup("range"),
		.start_ns = b->from_ns,
		.duration_ns = b->to_ns - b->from_ns,
	};
	keep_profile(b->sv, &facts, result, kept, b);
}

/*
 * Keeps the slices before a trigger. The present slice is one of them, and arrives after its end.
 */
static void keep_before(struct service *sv, const struct control_fired *f, u64 number)
{
	struct before *b = xcalloc(1, sizeof(*b));
	u64 now_ns = time_wall_ns();

	*b = (struct before){ .sv = sv,
			      .number = number,
			      .name = xasprintf("trigger %s, %u s before", f->name, f->before_s),
			      .container = xstrdup(f->container),
			      .pod = xstrdup(f->target == CONTROL_TARGET_POD ? f->target_text : ""),
			      .from_ns = now_ns - f->before_s * NS_PER_SEC,
			      .to_ns = now_ns,
			      .due_ns = time_mono_ns() + PATIENCE_NS };
	vec_push(&sv->triggered.waiting, b);
}

static void render_waiting(struct service *sv)
{
	struct triggered *t = &sv->triggered;
	u64 now_ns = time_mono_ns();
	size_t left = 0;

	vec_each(at, &t->waiting) {
		struct before *b = *at;
		if (t->slices_end_ns < b->to_ns && now_ns < b->due_ns) {
			t->waiting.at[left++] = b;
			continue;
		}
		const struct range r = range_of(b);
		if (range_render(sv, &r, "sflm", rendered, b))
			free_before(b);
	}
	t->waiting.nr = left;
}

/* Waits for the recorder's answer. */
struct asked {
	struct service *sv;
	u64 number;
};

static void refuse(struct service *sv, u64 number, const char *why)
{
	struct fired *f = find(sv, number);

	log_warn("a trigger's recording was refused: %s", why);
	if (f) {
		copy_text(f->refused, sizeof(f->refused), why);
		sv->triggered.tell(sv, f);
	}
	save(sv);
}

/* A session_answer_fn. */
static void answered(void *ctx, int err, const char *why, u64 id)
{
	struct asked *a = ctx;
	struct fired *f = find(a->sv, a->number);

	if (err) {
		refuse(a->sv, a->number, why);
	} else {
		vec_push(&a->sv->triggered.ids, id);
		if (f) {
			f->recording = id;
			a->sv->triggered.tell(a->sv, f);
		}
		save(a->sv);
	}
	free(a);
}

static void record(struct service *sv, const struct control_fired *f, const char *name, u64 number)
{
	struct asked *a = xcalloc(1, sizeof(*a));
	struct session_order o = {
		.start = { .duration_s = f->duration_s, .target = f->target },
		.name = name,
		.who = "trigger",
		.answer = answered,
		.ctx = a,
	};

	*a = (struct asked){ sv, number };
	copy_text(o.start.events, sizeof(o.start.events), f->events);
	copy_text(o.start.target_text, sizeof(o.start.target_text), f->target_text);
	int err = sessions_start(sv->sessions, &o);
	if (!err)
		return;
	refuse(sv, number,
	       err == -EBUSY ? "As many recordings run as may."
			     : "There is no recorder at the moment.");
	free(a);
}

void triggered_take(struct service *sv, const struct control_fired *f, const char *source)
{
	auto_free char *name = xasprintf("trigger %s: %s", f->name, f->why);
	u64 number = list_add(sv, f, source);

	sv->triggered.nr++;
	store_audit(sv->store, "trigger", name);
	log_warn("%s", name);
	if (f->before_s)
		keep_before(sv, f, number);
	record(sv, f, name, number);
	save(sv);
	sv->changed |= CHANGED_SESSIONS;
}

void triggered_saw_slice(struct service *sv, u64 end_wall_ns)
{
	sv->triggered.slices_end_ns = end_wall_ns;
}

void triggered_tick(struct service *sv)
{
	struct triggered *t = &sv->triggered;
	size_t left = 0;

	render_waiting(sv);
	vec_each(id, &t->ids) {
		if (sessions_find(sv->sessions, *id))
			t->ids.at[left++] = *id;
		else if (!store_pin(sv->store, *id, true))
			sv->changed |= CHANGED_PROFILES;
	}
	t->ids.nr = left;
}

void triggered_fini(struct service *sv)
{
	vec_each(b, &sv->triggered.waiting)
		free_before(*b);
	vec_fini(&sv->triggered.waiting);
	vec_fini(&sv->triggered.ids);
	vec_fini(&sv->triggered.list);
}
