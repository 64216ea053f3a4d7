/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps finished profiles, and has workers merge slices to longer ones. */
#include "web/recordings/keeping.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "web/jobs/summarize.h"
#include "web/recordings/service.h"

#define SUMMARY_MAX (64u << 10)
#define TRIES       3

struct keeping {
	struct service *sv;
	struct stored facts;
	struct payload *bytes;
	kept_fn done;
	void *ctx;
	u32 nr_tries;
};

static char *text_or_empty(char *text)
{
	return text ?: xstrdup("");
}

static void fill_texts(struct stored *f)
{
	f->name = text_or_empty(f->name);
	f->events = text_or_empty(f->events);
	f->target = text_or_empty(f->target);
	f->unit = text_or_empty(f->unit);
	f->error = text_or_empty(f->error);
	f->source = text_or_empty(f->source);
	f->summary = text_or_empty(f->summary);
}

static void end(struct keeping *k, int err)
{
	if (k->done)
		k->done(k->ctx, err, k->facts.id);
	stored_fini(&k->facts);
	payload_put(k->bytes);
	free(k);
}

static void add(struct keeping *k)
{
	struct stored *f = &k->facts;
	if (!f->start_ns) /* the file has no time: take the time of its upload */
		f->start_ns = time_wall_ns();
	int err = store_add(k->sv->store, f, k->bytes ? k->bytes->at : NULL,
			    k->bytes ? k->bytes->nr : 0);

	store_health_note(&k->sv->store_health, err);
	if (err)
		log_error("profile %llu is not stored: %s", (unsigned long long)f->id,
			  strerror(-err));
	if (!err && *f->summary)
		store_set_summary(k->sv->store, f->id, f->summary, f->total, f->unit);
	k->sv->changed |= CHANGED_PROFILES | CHANGED_SESSIONS;
	end(k, err);
}

/* Takes a fact from the summary unless the caller has given it. */
static void learn(u64 *fact, const json_t *o, const char *name, u64 factor)
{
	json_int_t value = json_integer_value(json_object_get(o, name));

	if (!*fact && value > 0 && (u64)value <= UINT64_MAX / factor)
		*fact = (u64)value * factor;
}

static void learn_text(char **fact, const json_t *o, const char *name, size_t max)
{
	const char *value = json_string_value(json_object_get(o, name));

	if (**fact || !value || !utf8_is_clean(value, max))
		return;
	free(*fact);
	*fact = xstrdup(value);
}

static bool is_share(const json_t *v)
{
	return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 1;
}

static bool is_clean(const json_t *v, size_t max)
{
	return json_is_string(v) && utf8_is_clean(json_string_value(v), max);
}

static json_t *shown_kinds(json_t *kinds)
{
	json_t *out = json_object();

	for (u32 i = 0; i < SUMMARY_KINDS; i++) {
		json_t *share = json_object_get(kinds, summary_kind(i));
		if (is_share(share))
			json_object_set(out, summary_kind(i), share);
	}
	return out;
}

static json_t *shown_top(const json_t *top)
{
	json_t *out = json_array(), *o;
	size_t i;

	json_array_foreach(top, i, o)
	{
		json_t *name = json_object_get(o, "name"), *share = json_object_get(o, "share");
		if (json_array_size(out) < SUMMARY_TOP && is_clean(name, SUMMARY_NAME_MAX) &&
		    is_share(share))
			json_array_append_new(out,
					      json_pack("{s:O,s:O}", "name", name, "share", share));
	}
	return out;
}

static json_t *shown_alerts(const json_t *alerts)
{
	json_t *out = json_array(), *text;
	size_t i;

	json_array_foreach(alerts, i, text) if (json_array_size(out) < SUMMARY_ALERTS &&
						is_clean(text, SUMMARY_ALERT_MAX))
		json_array_append(out, text);
	return out;
}

/*
 * The part of a summary (web/jobs/summarize.h) that lists show: a new object with `kinds`, `top`
 * and `alerts`; each is there, perhaps empty. The summary comes from a worker that read a profile
 * of anybody, and goes to browsers: only what has the known form is kept.
 */
static json_t *shown_summary(const json_t *summary)
{
	return json_pack("{s:o,s:o,s:o}", "kinds", shown_kinds(json_object_get(summary, "kinds")),
			 "top", shown_top(json_object_get(summary, "top")), "alerts",
			 shown_alerts(json_object_get(summary, "alerts")));
}

static void take_summary(struct stored *f, const struct payload *b)
{
	json_t *o = b->nr <= SUMMARY_MAX ? json_loadb(b->at, b->nr, 0, NULL) : NULL;

	if (json_is_object(o)) {
		learn(&f->total, o, "total", 1);
		learn(&f->samples, o, "samples", 1);
		learn(&f->lost, o, "lost", 1);
		learn(&f->start_ns, o, "start_ms", NS_PER_MS);
		learn(&f->duration_ns, o, "duration_ms", NS_PER_MS);
		learn_text(&f->unit, o, "unit", 32);
		learn_text(&f->events, o, "events", 256);
		json_t *shown = shown_summary(o);
		free(f->summary);
		f->summary = shown ? json_dumps(shown, JSON_COMPACT) : NULL;
		f->summary = text_or_empty(f->summary);
		json_decref(shown);
	}
	json_decref(o);
}

static void start_summary(struct keeping *k);

static void summarized(void *ctx, int err, struct payload *result)
{
	struct keeping *k = ctx;

	if (err == -ECANCELED || (err && workers_are_broken(k->sv->workers))) {
		end(k, -ECANCELED); /* the daemon ends */
		return;
	}
	if (err == -EPIPE && ++k->nr_tries < TRIES) { /* the worker may have been killed */
		start_summary(k);
		return;
	}
	if (!err)
		take_summary(&k->facts, result);
	else
		log_debug("no summary of profile %llu: %s", (unsigned long long)k->facts.id,
			  strerror(-err));
	add(k);
}

static void start_summary(struct keeping *k)
{
	struct job_order order = {
		.task = WEB_SUMMARY,
		.params = { .nr_inputs = 1 },
		.fds = { k->bytes ? payload_file(k->bytes) : -1, -1 },
		.is_needed = true,
		.done = summarized,
		.ctx = k,
	};

	if (order.fds[0] < 0)
		add(k);
	else if (queue_add(k->sv->queue, &order))
		end(k, -ECANCELED);
}

void keep_profile(struct service *sv, struct stored *facts, struct payload *bytes, kept_fn done,
		  void *ctx)
{
	struct keeping *k = xcalloc(1, sizeof(*k));

	*k = (struct keeping){ .sv = sv, .facts = *facts, .done = done, .ctx = ctx };
	k->bytes = bytes ? payload_get(bytes) : NULL;
	*facts = (struct stored){ 0 };
	fill_texts(&k->facts);
	if (!k->facts.id)
		k->facts.id = store_new_id(sv->store);
	k->facts.size_bytes = bytes ? bytes->nr : 0;
	start_summary(k);
}

/* The disk failed. Any other error is the fault of the profile that was to be stored. */
static bool is_of_disk(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS || err == -EIO;
}

const char *store_health_why(const struct store_health *h)
{
	switch (h->err) {
	case 0:
		return "";
	case -EROFS:
		return "The disk is read-only. New slices and profiles are not stored.";
	case -EIO:
		return "The disk has errors. New slices and profiles are not stored.";
	default:
		return "The disk is full. New slices and profiles are not stored.";
	}
}

void store_health_note(struct store_health *h, int err)
{
	if (err && !is_of_disk(err))
		return;
	h->nr_errors += err != 0;
	if (err && !h->err) {
		h->since_wall_ns = time_wall_ns();
		log_error("new slices and profiles are not stored: %s", strerror(-err));
	}
	if (!err && h->err)
		log_info("slices and profiles are stored again");
	h->err = err;
}

#define RETRY_NS (600 * NS_PER_SEC)

static void thinned(void *ctx, int err, struct payload *result)
{
	struct service *sv = ctx;
	struct thinning *t = &sv->thinning;

	t->is_busy = false;
	if (err == -ECANCELED)
		return;
	/*
	 * Slices that cannot be merged stay as they are, and count as done, so that later slices
	 * are merged.
	 */
	bool is_done = !err || err == -EBADMSG || err == -EPIPE || err == -ETIMEDOUT ||
		       err == -EOVERFLOW || err == -EFBIG || file_is_unreadable(err);
	if (is_done && err)
		log_warn("slices of an hour are kept as they are: %s",
			 result ? result->at : strerror(-err));
	if (is_done)
		err = store_thinning_end(sv->store, &t->at, err ? NULL : result->at,
					 err ? 0 : result->nr);
	if (err && err != -ESTALE)
		t->retry_ns = time_mono_ns() + RETRY_NS;
}

void thinning_tick(struct service *sv)
{
	struct thinning *t = &sv->thinning;

	if (t->is_busy || queue_nr(sv->queue) || time_mono_ns() < t->retry_ns ||
	    !store_thinning_due(sv->store, time_wall_ns(), &t->at))
		return;
	struct job_order order = {
		.task = WEB_THIN,
		.params = { .step_ns = t->at.step_ns },
		.fds = { store_thinning_open(sv->store, &t->at), -1 },
		.done = thinned,
		.ctx = sv,
	};
	if (order.fds[0] < 0) {
		thinned(sv, order.fds[0], NULL);
		return;
	}
	t->is_busy = true;
	if (queue_add(sv->queue, &order))
		t->is_busy = false;
}
