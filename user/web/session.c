/* SPDX-License-Identifier: Apache-2.0 */
/* Joins and merges the parts of a recording. */
#include "web/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "web/input.h"
#include "web/keeping.h"
#include "web/service.h"

#define JOIN_AT  32           /* parts */
#define PART_MAX (256u << 20) /* bytes */

void session_free(struct session *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->why);
	free(s);
}

char *session_target(const struct control_start *start)
{
	static const char *const kinds[NR_CONTROL_TARGETS] = {
		[CONTROL_TARGET_PID] = "pid",
		[CONTROL_TARGET_COMM] = "command",
		[CONTROL_TARGET_USER] = "user",
		[CONTROL_TARGET_CGROUP] = "cgroup",
		[CONTROL_TARGET_CONTAINER] = "container",
		[CONTROL_TARGET_POD] = "pod",
	};

	if (start->target == CONTROL_TARGET_NODE)
		return xstrdup("node");
	if (start->target == CONTROL_TARGET_JVMS)
		return xstrdup("all JVMs");
	return xasprintf("%s %s", kinds[start->target], start->target_text);
}

void session_explain(struct session *s, const char *sentence)
{
	if (!*sentence)
		return;
	char *both = s->why ? xasprintf("%s %s", s->why, sentence) : xstrdup(sentence);
	free(s->why);
	s->why = both;
}

void session_answer(struct session *s, int err, const char *why)
{
	session_answer_fn answer = take(s->answer);

	s->is_known = true;
	if (answer)
		answer(s->ctx, err, why, s->id);
}

/* A job over the first `nr` parts, 0: all. */
static int convert(struct session *s, const char *format, u32 nr, job_done_fn done)
{
	const struct input in = {
		.store = s->sv->store, .kind = INPUT_PARTS, .id = s->id, .nr = nr
	};
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = nr ?: s->nr_parts },
		.fds = { input_file(&in, 0), -1 },
		.open = input_open,
		.open_ctx = input_new(&in),
		.is_needed = true,
		.done = done,
		.ctx = s,
	};

	copy_text(order.params.format, sizeof(order.params.format), format);
	copy_text(order.params.title, sizeof(order.params.title), s->name ?: "");
	return queue_add(s->sv->queue, &order);
}

static void joined(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;

	s->is_joining = false;
	if (!err && !store_join_parts(s->sv->store, s->id, 0, JOIN_AT, result->at, result->nr))
		s->nr_parts -= JOIN_AT - 1;
	if (s->is_ended && err != -ECANCELED)
		session_finish(s);
}

void session_join(struct session *s)
{
	if (s->nr_parts < JOIN_AT || s->is_joining || s->is_ended)
		return;
	s->is_joining = !convert(s, "sflm", JOIN_AT, joined);
}

static void fill_facts(const struct session *s, struct stored *f)
{
	*f = (struct stored){
		.id = s->id,
		.name = xstrdup(s->name),
		.events = xstrdup(s->start.events),
		.target = session_target(&s->start),
		.error = xstrdup(s->why ?: ""),
		.source = xstrdup("recording"),
		.start_ns = s->begin_wall_ns ?: s->asked_wall_ns,
		.samples = s->samples,
		.lost = s->lost > s->state.lost ? s->lost : s->state.lost,
		.rate_hz = s->start.rate_hz ?: 99,
		.state = s->is_cut || s->err ? STORED_PARTIAL : STORED_COMPLETE,
	};
	if (s->end_wall_ns > s->begin_wall_ns)
		f->duration_ns = s->end_wall_ns - s->begin_wall_ns;
}

/* The parts of a profile that could not be written stay: they are found at the next start. */
static void kept(void *ctx, int err, u64 id)
{
	struct session *s = ctx;

	if (!err)
		store_drop_parts(s->sv->store, id);
	s->is_over = true;
}

static void keep_failed(struct session *s)
{
	struct stored f;

	if (!s->why)
		session_explain(s, s->is_cut ? "The recording ended before its first part."
					     : "The recording has no samples.");
	fill_facts(s, &f);
	f.state = STORED_FAILED;
	keep_profile(s->sv, &f, NULL, kept, s);
}

static void keep_first_part(struct session *s)
{
	struct stored f;
	struct payload *b = NULL;
	auto_close int fd = store_open_part(s->sv->store, s->id, 0);
	int err = fd < 0 ? fd : payload_of_file(fd, PART_MAX, &b);

	if (err) {
		session_explain(s, "Its parts could not be read.");
		keep_failed(s);
		return;
	}
	fill_facts(s, &f);
	keep_profile(s->sv, &f, b, kept, s);
	payload_put(b);
}

static void merged(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;
	struct stored f;

	if (err == -ECANCELED) {
		s->is_over = true;
		return;
	}
	if (err) {
		session_explain(s, "Only its first part is kept: the parts could not be merged.");
		s->is_cut = true;
		keep_first_part(s);
		return;
	}
	fill_facts(s, &f);
	keep_profile(s->sv, &f, result, kept, s);
}

static void pulled(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;

	s->pulled(s->ctx, err, result);
	store_drop_parts(s->sv->store, s->id);
	s->is_over = true;
}

void session_finish(struct session *s)
{
	if (s->is_joining || s->is_merging || s->is_over)
		return;
	s->is_merging = true;
	if (s->is_discarded) {
		store_drop_parts(s->sv->store, s->id);
		s->is_over = true;
	} else if (*s->pull_format) {
		int err = s->nr_parts ? convert(s, s->pull_format, 0, pulled) : s->err ?: -ENODATA;
		if (err)
			pulled(s, err, NULL);
	} else if (!s->nr_parts) {
		keep_failed(s);
	} else if (s->nr_parts == 1) {
		keep_first_part(s);
	} else {
		int err = convert(s, "sflm", 0, merged);
		if (err)
			merged(s, err, NULL);
	}
}
