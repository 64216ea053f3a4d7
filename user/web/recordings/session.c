/* SPDX-License-Identifier: Apache-2.0 */
/* Joins and merges the parts of a recording. Part of web/recordings/sessions.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "web/jobs/queue.h"
#include "web/recordings/keeping.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

#define JOIN_AT  32           /* parts */
#define PART_MAX (256u << 20) /* bytes */
/* most tries of a step that may fail because of the parts themselves */
#define TRIES    3
#define WAIT_NS  NS_PER_SEC /* before the second try; it doubles */
#define WAIT_MAX (64 * NS_PER_SEC)

/*
 * The largest profile in one piece. A page of it is some 1.25 times as large, and may have 64 MB
 * (WORKER_RESULT_MAX).
 */
#define PROFILE_MAX (48u << 20)

void session_free(struct session *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->why);
	free(s->who);
	str_fini(&s->pieces);
	vec_fini(&s->ends);
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

/* Adds the start, or that it was refused, to the audit list. */
static void note_start(struct session *s, int err, const char *why)
{
	auto_free char *who = take(s->who), *target = session_target(&s->start);

	if (!who)
		return;
	auto_free char *what = xasprintf("%s recording %llu: %s of %s%s%s",
					 err ? "may not start" : "start", (unsigned long long)s->id,
					 s->start.events, target, err ? ": " : "", err ? why : "");
	store_audit(s->sv->store, who, what);
}

void session_answer(struct session *s, int err, const char *why)
{
	session_answer_fn answer = take(s->answer);

	note_start(s, err, why);
	s->is_known = true;
	if (err)
		s->pulled = NULL;
	if (answer)
		answer(s->ctx, err, why, s->id);
}

void session_pulled(struct session *s, int err, struct payload *result)
{
	job_done_fn pulled = take(s->pulled);

	if (pulled)
		pulled(s->ctx, err, result);
}

/* A job over the parts [first, first + nr). */
static int convert(struct session *s, const char *format, u32 first, u32 nr, job_done_fn done)
{
	const struct input in = {
		.store = s->sv->store, .kind = INPUT_PARTS, .id = s->id, .first = first, .nr = nr
	};
	int fd = input_file(&in, 0);
	if (fd < 0)
		return fd;
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = nr },
		.max = s->sv->max_profile_bytes ?: PROFILE_MAX,
		.fds = { fd, -1 },
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

/* Parts that cannot be joined stay as they are; later ones are joined with each other. */
static void joined(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;

	s->is_joining = false;
	if (err)
		s->nr_full += JOIN_AT;
	else if (!store_join_parts(s->sv->store, s->id, s->nr_full, JOIN_AT, result->at,
				   result->nr))
		s->nr_parts -= JOIN_AT - 1;
	if (s->is_ended && err != -ECANCELED)
		session_finish(s);
}

void session_join(struct session *s)
{
	if (s->nr_parts < s->nr_full + JOIN_AT || s->is_joining || s->is_ended)
		return;
	s->is_joining = !convert(s, "sflm", s->nr_full, JOIN_AT, joined);
}

/*
 * Explains why the profile covers less than was asked for, or why there are several. The caller
 * frees the text.
 */
static char *explanation(const struct session *s)
{
	struct str out = { 0 };

	str_add(&out, s->why ?: "");
	if (s->nr_damaged)
		str_addf(&out, "%s%u of its parts could not be read and are left out.",
			 out.len ? " " : "", s->nr_damaged);
	if (s->nr_pieces)
		str_addf(&out,
			 "%sThe recording was too large for one profile. Its beginning is in "
			 "profile%s %s.",
			 out.len ? " " : "", s->nr_pieces > 1 ? "s" : "", s->pieces.at);
	return str_take(&out);
}

static void fill_facts(const struct session *s, struct stored *f)
{
	*f = (struct stored){
		.id = s->id,
		.name = xstrdup(s->name),
		.events = xstrdup(s->start.events),
		.target = session_target(&s->start),
		.error = explanation(s),
		.source = xstrdup("recording"),
		.start_ns = s->begin_wall_ns ?: s->asked_wall_ns,
		.samples = s->samples,
		.lost = s->lost > s->state.lost ? s->lost : s->state.lost,
		.rate_hz = s->start.rate_hz ?: CONTROL_HZ,
		.state = s->cut_err || s->err ? STORED_PARTIAL : STORED_COMPLETE,
	};
	if (s->end_wall_ns > s->begin_wall_ns)
		f->duration_ns = s->end_wall_ns - s->begin_wall_ns;
}

static void merge_next(struct session *s);

bool session_is_dropped(const struct session *s)
{
	return s->is_discarded || *s->pull_format;
}

/*
 * Whether the error may pass, because it says nothing about the parts. A worker that ended may have
 * been killed (passes), or have crashed on a part.
 */
static bool is_passing(const struct session *s, int err)
{
	switch (err) {
	case -EMFILE:
	case -ENFILE:
	case -EAGAIN:
	case -EIO:
		return true;
	case -EPIPE:
	case -EPROTO:
	case -ENOMEM:
		return s->nr_tries < TRIES;
	default:
		return false;
	}
}

static void try_again(struct session *s, int err, void (*step)(struct session *s), u32 *nr_tries)
{
	u64 wait_ns = WAIT_NS << (*nr_tries < 6 ? *nr_tries : 6);

	++*nr_tries;
	s->again = step;
	s->again_ns = time_mono_ns() + (wait_ns < WAIT_MAX ? wait_ns : WAIT_MAX);
	log_warn("recording %llu is not stored yet: %s; it is tried again",
		 (unsigned long long)s->id, strerror(-err));
}

void session_tick(struct session *s)
{
	if (!s->again || time_mono_ns() < s->again_ns)
		return;
	void (*step)(struct session * s) = s->again;
	s->again = NULL;
	step(s);
}

static bool is_no_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS;
}

/*
 * Called when a profile was stored, or could not be. Its parts stay in the second case, and are
 * found at the next start.
 */
static void kept(void *ctx, int err, u64 id)
{
	struct session *s = ctx;

	if (is_no_room(err)) {
		try_again(s, err, s->maker, &s->nr_stores);
		return;
	}
	s->nr_stores = 0;
	if (!err && s->ends.nr) {
		s->nr_pieces++;
		str_addf(&s->pieces, "%s%llu", s->pieces.len ? ", " : "", (unsigned long long)id);
		merge_next(s);
		return;
	}
	if (!err)
		store_drop_parts(s->sv->store, s->id);
	s->is_over = true;
}

static void keep_failed(struct session *s)
{
	struct stored f;

	if (!s->why && !s->nr_damaged)
		session_explain(s, s->cut_err ? "The recording ended before its first part."
					      : "The recording has no samples.");
	fill_facts(s, &f);
	f.state = STORED_FAILED;
	s->maker = keep_failed;
	keep_profile(s->sv, &f, NULL, kept, s);
}

/* Facts of one profile of several; the summary finds its times and numbers. */
static void narrow(const struct session *s, struct stored *f, bool is_last)
{
	free(f->name);
	f->name = xasprintf("%s, part %u", s->name, s->nr_pieces + 1);
	f->start_ns = f->duration_ns = f->samples = f->lost = 0;
	if (is_last)
		return;
	free(f->error);
	f->error = xasprintf("The recording was too large for one profile. The last of its "
			     "profiles is %llu.",
			     (unsigned long long)f->id);
	f->id = 0;
}

/* Keeps the profile of the parts at hand, which `maker` made. */
static void keep_piece(struct session *s, struct payload *b, void (*maker)(struct session *s))
{
	bool is_last = !s->ends.nr;
	struct stored f;

	fill_facts(s, &f);
	if (!is_last || s->nr_pieces)
		narrow(s, &f, is_last);
	s->maker = maker;
	keep_profile(s->sv, &f, b, kept, s);
}

/* Leaves out a part that cannot be read, and merges the others. */
static void leave_out_part(struct session *s)
{
	s->nr_damaged++;
	s->cut_err = -EBADMSG;
	if (s->ends.nr) {
		merge_next(s);
		return;
	}
	keep_failed(s);
}

/* One part, as it came. */
static void keep_part(struct session *s)
{
	struct payload *b = NULL;
	auto_close int fd = store_open_part(s->sv->store, s->id, s->first);
	int err = fd < 0 ? fd : payload_of_file(fd, PART_MAX, &b);

	if (is_passing(s, err)) {
		try_again(s, err, keep_part, &s->nr_tries);
		return;
	}
	s->nr_tries = 0;
	if (err) {
		leave_out_part(s);
		return;
	}
	keep_piece(s, b, keep_part);
	payload_put(b);
}

static void merge_here(struct session *s);

/*
 * Takes the merged parts. If they are too large for one profile, take a worker too long, or a part
 * is damaged, tries again with half of the parts.
 */
static void merged(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;

	if (err == -ECANCELED) {
		s->is_over = true;
		return;
	}
	if (is_passing(s, err)) {
		try_again(s, err, merge_here, &s->nr_tries);
		return;
	}
	s->nr_tries = 0;
	if (!err) {
		keep_piece(s, result, merge_here);
	} else if (s->nr > 1) {
		vec_push(&s->ends, s->first + s->nr);
		vec_push(&s->ends, s->first + s->nr / 2);
		s->nr = 0;
		merge_next(s);
	} else if (err == -EBADMSG) {
		leave_out_part(s);
	} else {
		keep_part(s);
	}
}

static void merge_here(struct session *s)
{
	int err = convert(s, "sflm", s->first, s->nr, merged);

	if (err == -EBUSY)
		s->is_over = true; /* the daemon ends: the parts stay for the next start */
	else if (err)
		merged(s, err, NULL);
}

/* Merges the parts after those at hand, up to the next end. */
static void merge_next(struct session *s)
{
	s->first += s->nr;
	s->nr = s->ends.at[--s->ends.nr] - s->first;
	merge_here(s);
}

static void pulled(void *ctx, int err, struct payload *result)
{
	struct session *s = ctx;

	session_pulled(s, err, result);
	store_drop_parts(s->sv->store, s->id);
	s->is_over = true;
}

/* Ends a pull. A client that asked for a duration gets an error rather than a shorter profile. */
static void finish_pull(struct session *s)
{
	int err = s->cut_err;

	if (!err)
		err = s->nr_parts ? convert(s, s->pull_format, 0, s->nr_parts, pulled)
				  : s->err ?: -ENODATA;
	if (err)
		pulled(s, err, NULL);
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
		finish_pull(s);
	} else if (!s->nr_parts) {
		keep_failed(s);
	} else if (s->nr_parts == 1) {
		keep_part(s);
	} else {
		vec_push(&s->ends, s->nr_parts);
		merge_next(s);
	}
}
