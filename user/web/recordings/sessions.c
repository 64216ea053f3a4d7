/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that run. */
#include "web/recordings/sessions.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "daemon/channel/channel.h"
#include "web/recordings/service.h"

/* deadline for the recorder's answer; a recorder that misses it is restarted */
#define ANSWER_NS   (30 * NS_PER_SEC)
#define ENDING_NS   (30 * NS_PER_SEC) /* from STOP to ENDED */
#define ORPHANS_MAX 256
#define RUNNING_KEY "running" /* the setting with the facts of recordings that run */

struct sessions {
	struct service *sv;
	VEC(struct session *) list;
	u32 last_number;
	bool is_changed; /* RUNNING_KEY is to be written */
};

struct sessions *sessions_new(struct service *sv)
{
	struct sessions *all = xcalloc(1, sizeof(*all));

	all->sv = sv;
	return all;
}

void sessions_free(struct sessions *all)
{
	if (!all)
		return;
	vec_each(s, &all->list)
		session_free(*s);
	vec_fini(&all->list);
	free(all);
}

void sessions_end_waits(struct sessions *all)
{
	for (size_t i = 0; i < all->list.nr; i++) {
		struct session *s = all->list.at[i];
		bool is_refused = s->answer;
		if (is_refused)
			session_answer(s, -EBUSY, "The daemon ends.");
		else if (*s->pull_format && !s->is_merging)
			session_pulled(s, -ECANCELED, NULL);
		if (session_is_dropped(s))
			store_drop_parts(all->sv->store, s->id);
	}
}

struct session *sessions_at(const struct sessions *all, size_t i)
{
	return i < all->list.nr ? all->list.at[i] : NULL;
}

struct session *sessions_find(const struct sessions *all, u64 id)
{
	for (size_t i = 0; i < all->list.nr; i++)
		if (all->list.at[i]->id == id)
			return all->list.at[i];
	return NULL;
}

static struct session *find_number(const struct sessions *all, u32 number)
{
	for (size_t i = 0; i < all->list.nr; i++)
		if (all->list.at[i]->start.id == number && !all->list.at[i]->is_ended)
			return all->list.at[i];
	return NULL;
}

static void write_running(struct sessions *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->list.nr; i++) {
		const struct session *s = all->list.at[i];
		json_array_append_new(
			list,
			json_pack("{s:I,s:s,s:s,s:i,s:s,s:i,s:I,s:b,s:b,s:i,s:s}", "id",
				  (json_int_t)s->id, "name", s->name, "events", s->start.events,
				  "target", (int)s->start.target, "text", s->start.target_text,
				  "hz", (int)s->start.rate_hz, "asked_ns",
				  (json_int_t)s->asked_wall_ns, "dropped",
				  (int)session_is_dropped(s), "ended", (int)s->is_ended, "cut_err",
				  (int)(s->cut_err ?: s->err), "why", s->why ?: ""));
	}
	auto_free char *text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	if (text)
		store_set_setting(all->sv->store, RUNNING_KEY, text);
	all->is_changed = false;
}

static size_t nr_running(const struct sessions *all)
{
	size_t nr = 0;

	for (size_t i = 0; i < all->list.nr; i++)
		nr += !all->list.at[i]->is_ended;
	return nr;
}

/* "cpu, checkout (pid 7)" for a JVM, whose service people know; else "cpu, command nginx". */
static char *name_of(const struct sessions *all, const struct control_start *start)
{
	auto_free char *target = session_target(start);

	if (start->target == CONTROL_TARGET_PID)
		vec_each(j, &all->sv->recorder.jvms)
			if (j->pid == atoi(start->target_text) && *j->service)
				return xasprintf("%s, %s (%s)", start->events, j->service, target);
	return xasprintf("%s, %s", start->events, target);
}

static struct session *new_session(struct sessions *all, const struct session_order *o)
{
	struct session *s = xcalloc(1, sizeof(*s));

	*s = (struct session){
		.sv = all->sv,
		.start = o->start,
		.name = *o->name ? xstrdup(o->name) : name_of(all, &o->start),
		.who = xstrdup(o->who),
		.asked_mono_ns = time_mono_ns(),
		.asked_wall_ns = time_wall_ns(),
		.answer = o->answer,
		.pulled = o->pulled,
		.ctx = o->ctx,
	};
	copy_text(s->pull_format, sizeof(s->pull_format), o->pull_format ?: "");
	return s;
}

int sessions_may_start(const struct sessions *all)
{
	const struct recorder_link *r = &all->sv->recorder;

	return !r->is_up ? -EPIPE : nr_running(all) >= r->caps.max_recordings ? -EBUSY : 0;
}

int sessions_start(struct sessions *all, const struct session_order *o)
{
	struct control_message *m = all->sv->recorder.message;
	u32 rate_hz = o->start.rate_hz ?: control_usual_hz(all->sv->recorder.caps.max_hz);
	int err = sessions_may_start(all);

	if (err)
		return err;
	*m = (struct control_message){ .kind = CONTROL_START };
	m->start = o->start;
	m->start.id = ++all->last_number;
	m->start.rate_hz = rate_hz;
	err = recorder_link_send(&all->sv->recorder, m);
	if (err)
		return err;
	struct session *s = new_session(all, o);
	s->start.id = all->last_number;
	s->start.rate_hz = rate_hz;
	s->id = store_new_id(all->sv->store);
	vec_push(&all->list, s);
	write_running(all);
	all->sv->changed |= CHANGED_SESSIONS;
	return 0;
}

static int send_end(struct session *s, enum control_kind kind)
{
	struct control_message *m = s->sv->recorder.message;

	*m = (struct control_message){ .kind = kind };
	m->id.id = s->start.id;
	return recorder_link_send(&s->sv->recorder, m);
}

int sessions_stop(struct session *s)
{
	if (s->is_ended || s->stopped_mono_ns)
		return 0;
	int err = send_end(s, CONTROL_STOP);
	if (!err)
		s->stopped_mono_ns = time_mono_ns();
	return err;
}

int sessions_discard(struct session *s)
{
	if (s->is_merging && !s->again)
		return -EBUSY;
	s->is_merging = false;
	s->again = NULL;
	int err = s->is_ended ? 0 : send_end(s, CONTROL_DISCARD);
	if (err)
		return err;
	s->is_discarded = true;
	s->sv->sessions->is_changed = true;
	s->is_ended = true;
	session_answer(s, 0, "");
	session_pulled(s, -ECANCELED, NULL);
	session_finish(s);
	s->sv->changed |= CHANGED_SESSIONS;
	return 0;
}

/* The recording is over: nothing more of it arrives. */
static void end(struct session *s, s32 err, const char *why, s32 cut_err)
{
	s->is_ended = true;
	s->err = err;
	s->cut_err = s->cut_err ?: cut_err;
	session_explain(s, why);
	s->sv->sessions->is_changed = true;
	s->sv->changed |= CHANGED_SESSIONS;
	if (err && !s->is_known && !s->nr_parts) {
		session_answer(s, err, *why ? why : "The recorder refused the recording.");
		s->is_over = true;
		return;
	}
	session_answer(s, 0, "");
	session_finish(s);
}

static void take_part(struct session *s, const struct control_part *part, int fd)
{
	struct store *store = s->sv->store;
	void *bytes = MAP_FAILED;

	if (channel_file_is(fd, part->bytes) && part->bytes)
		bytes = mmap(NULL, part->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return;
	int err = store_add_part(store, s->id, bytes, part->bytes);
	munmap(bytes, part->bytes);
	store_health_note(&s->sv->store_health, err);
	s->nr_received++;
	if (err) {
		if (!s->cut_err)
			session_explain(s, "It was stopped, because a part could not be written: "
					   "the disk is full or read-only.");
		s->cut_err = s->cut_err ?: err;
		sessions_stop(s);
		return;
	}
	if (!s->nr_parts++)
		s->begin_wall_ns = part->begin_wall_ns;
	s->end_wall_ns = part->end_wall_ns;
	s->samples += part->samples;
	s->lost += part->lost;
	s->sv->nr_samples += part->samples;
	s->sv->nr_lost += part->lost;
	s->sv->nr_missed += part->missed;
	session_join(s);
}

void sessions_message(struct sessions *all, const struct control_message *m, int fd)
{
	u32 number = m->kind == CONTROL_PART    ? m->part.id
		     : m->kind == CONTROL_STATE ? m->state.id
						: m->ended.id;
	struct session *s = find_number(all, number);

	if (!s) /* it was discarded */
		return;
	if (m->kind == CONTROL_STATE) {
		s->state = m->state;
		session_answer(s, 0, "");
	} else if (m->kind == CONTROL_PART) {
		session_answer(s, 0, "");
		take_part(s, &m->part, fd);
	} else {
		end(s, m->ended.err, m->ended.why, m->ended.is_cut ? -ECONNRESET : 0);
	}
	all->sv->changed |= CHANGED_SESSIONS;
}

void sessions_lost_recorder(struct sessions *all, const char *why)
{
	for (size_t i = 0; i < all->list.nr; i++) {
		struct session *s = all->list.at[i];
		if (!s->is_ended)
			end(s, s->is_known ? 0 : -EPIPE, why, -ECONNRESET);
	}
}

static void enforce_deadlines(struct session *s, u64 now)
{
	u64 seconds = s->start.duration_s ?: s->sv->recorder.caps.max_duration_s;

	if (s->is_ended)
		return;
	if (!s->is_known && now - s->asked_mono_ns > ANSWER_NS)
		session_answer(s, 0, "");
	if (!s->stopped_mono_ns && now - s->asked_mono_ns > seconds * NS_PER_SEC + ENDING_NS)
		sessions_stop(s);
	if (s->stopped_mono_ns && now - s->stopped_mono_ns > ENDING_NS) {
		end(s, 0, "The recorder did not end the recording when it was stopped.",
		    -ECONNRESET);
		send_end(s, CONTROL_DISCARD);
	}
}

void sessions_tick(struct sessions *all)
{
	u64 now = time_mono_ns();
	size_t nr_left = 0;

	for (size_t i = 0; i < all->list.nr; i++) {
		enforce_deadlines(all->list.at[i], now);
		session_tick(all->list.at[i]);
	}
	for (size_t i = 0; i < all->list.nr; i++) {
		struct session *s = all->list.at[i];
		if (!s->is_over) {
			all->list.at[nr_left++] = s;
			continue;
		}
		session_free(s);
		all->is_changed = true;
	}
	if (nr_left != all->list.nr)
		all->sv->changed |= CHANGED_SESSIONS;
	all->list.nr = nr_left;
	if (all->is_changed)
		write_running(all);
}

/* Finds name and options of a recording that was not stored when the daemon ended. */
static void recall(struct session *s, const json_t *running)
{
	const char *name = "", *events = "", *text = "", *why;
	int target = 0, hz = 0, is_dropped, is_ended, cut_err;
	json_int_t id, asked_ns = 0;
	json_t *o;
	size_t i;

	json_array_foreach(running, i, o)
	{
		is_dropped = is_ended = cut_err = 0;
		why = "";
		if (json_unpack(o, "{s:I,s:s,s:s,s:i,s:s,s:i,s:I,s?b,s?b,s?i,s?s}", "id", &id,
				"name", &name, "events", &events, "target", &target, "text", &text,
				"hz", &hz, "asked_ns", &asked_ns, "dropped", &is_dropped, "ended",
				&is_ended, "cut_err", &cut_err, "why", &why) ||
		    (u64)id != s->id || target < 0 || target >= NR_CONTROL_TARGETS)
			continue;
		s->name = xstrdup(name);
		s->start.target = (u32)target;
		s->start.rate_hz = hz > 0 ? (u32)hz : 0;
		s->asked_wall_ns = (u64)asked_ns;
		s->is_discarded = is_dropped;
		s->is_ended = is_ended;
		s->cut_err = cut_err;
		session_explain(s, why);
		copy_text(s->start.events, sizeof(s->start.events), events);
		copy_text(s->start.target_text, sizeof(s->start.target_text), text);
		return;
	}
	s->name = xasprintf("recording %llu", (unsigned long long)s->id);
	s->asked_wall_ns = time_wall_ns();
}

void sessions_adopt_orphans(struct sessions *all)
{
	u64 ids[ORPHANS_MAX];
	size_t nr = store_orphans(all->sv->store, ids, ORPHANS_MAX);
	auto_free char *text = store_setting(all->sv->store, RUNNING_KEY);
	json_t *running = text ? json_loads(text, 0, NULL) : NULL;

	for (size_t i = 0; i < nr; i++) {
		struct session *s = xcalloc(1, sizeof(*s));
		*s = (struct session){ .sv = all->sv, .id = ids[i], .is_known = true };
		recall(s, running);
		if (s->is_discarded) { /* a pull, which stores nothing */
			store_drop_parts(all->sv->store, s->id);
			session_free(s);
			continue;
		}
		for (int fd; (fd = store_open_part(all->sv->store, s->id, s->nr_parts)) >= 0;) {
			close(fd);
			s->nr_parts++;
		}
		vec_push(&all->list, s);
		log_info("keeping recording %llu, which was not stored", (unsigned long long)s->id);
		if (s->is_ended)
			session_finish(s);
		else /* or the store could not note anything about the recording */
			end(s, 0, "The daemon ended before all of the recording was stored.",
			    -ECONNRESET);
	}
	json_decref(running);
}
