/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that get changes as server-sent events. Part of web/api/api.h. */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/fleet/fleet_requests.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

#define STREAMS_MAX 64
#define UNSENT_MAX  (1u << 20) /* bytes; a client that is so far behind is sent away */
/* after so long without an event, a comment tests whether the client is still there */
#define SILENCE_NS   (15 * NS_PER_SEC)
#define CHUNK        (16u << 10)
#define PROFILES_MAX 100

struct stream {
	struct MHD_Connection *connection;
	enum role role;
	struct str unsent;
	size_t sent;
	u64 written_ns;
	bool is_suspended, is_ended;
	struct streams *all;
};

struct streams {
	VEC(struct stream *) list;
};

struct streams *streams_new(void)
{
	return xcalloc(1, sizeof(struct streams));
}

static void wake(struct stream *s)
{
	if (!s->is_suspended)
		return;
	s->is_suspended = false;
	MHD_resume_connection(s->connection);
}

void streams_end(struct streams *all)
{
	vec_each(p, &all->list) {
		(*p)->is_ended = true;
		wake(*p);
	}
}

void streams_free(struct streams *all)
{
	if (!all)
		return;
	vec_fini(&all->list);
	free(all);
}

/* MHD asks for bytes; without any, the connection rests until there are some. */
static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = cls;
	size_t left = s->unsent.len - s->sent, nr = left < max ? left : max;

	if (s->is_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!nr) {
		s->is_suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	memcpy(buf, s->unsent.at + s->sent, nr);
	s->sent += nr;
	if (s->sent == s->unsent.len) {
		str_clear(&s->unsent);
		s->sent = 0;
	}
	return (ssize_t)nr;
}

static void close_stream(void *cls)
{
	struct stream *s = cls;
	size_t kept = 0;

	vec_each(other, &s->all->list)
		if (*other != s)
			s->all->list.at[kept++] = *other;
	s->all->list.nr = kept;
	str_fini(&s->unsent);
	free(s);
}

static void add_text(struct stream *s, const char *text)
{
	str_add(&s->unsent, text);
	s->written_ns = time_mono_ns();
	if (s->unsent.len > UNSENT_MAX)
		s->is_ended = true;
	wake(s);
}

/* Takes `json` over; the text of an event has no line end. */
static void add_event(struct stream *s, const char *name, json_t *json)
{
	auto_free char *data =
		json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;

	json_decref(json);
	if (!data)
		return;
	auto_free char *text = xasprintf("event: %s\ndata: %s\n\n", name, data);
	add_text(s, text);
}

static void send_changes(struct service *sv, struct stream *s, u32 changed)
{
	if (changed & CHANGED_NODE)
		add_event(s, "node", node_json(sv, s->role));
	if (changed & CHANGED_SESSIONS)
		add_event(s, "sessions", sessions_json(sv));
	if (changed & CHANGED_PROFILES)
		add_event(s, "profiles", profiles_json(sv, "", 0, PROFILES_MAX));
	if (changed & CHANGED_TRIGGERS)
		add_event(s, "triggers", triggered_json(sv));
	if (changed & CHANGED_FLEET)
		add_event(s, "fleet", fleet_json(sv));
	if (changed & CHANGED_JVMS)
		add_event(s, "jvms", jvms_json(sv));
	if (!changed && time_mono_ns() - s->written_ns > SILENCE_NS)
		add_text(s, ":\n\n");
}

void streams_tick(struct service *sv)
{
	struct streams *all = sv->streams;
	u32 changed = sv->changed;

	sv->changed = 0;
	if (sessions_at(sv->sessions, 0))
		changed |= CHANGED_SESSIONS;
	if (all->list.nr)
		fleet_requests_watched(sv->requests);
	if (fleet_requests_run(sv->requests))
		changed |= CHANGED_FLEET;
	vec_each(s, &all->list)
		send_changes(sv, *s, changed);
}

void api_stream(struct request *q)
{
	static const struct reply_form form = { .type = "text/event-stream" };
	struct streams *all = q->service->streams;

	if (all->list.nr >= STREAMS_MAX) {
		reply_error(q, ERROR_BUSY, NULL, "Too many clients wait for changes.");
		return;
	}
	struct stream *s = xcalloc(1, sizeof(*s));
	*s = (struct stream){ .connection = q->connection, .role = q->role, .all = all };
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK,
								   read_stream, s, close_stream);
	if (!r) {
		free(s);
		return;
	}
	/* nginx would collect the events until they fill its buffer of some KB. */
	MHD_add_response_header(r, "X-Accel-Buffering", "no");
	vec_push(&all->list, s);
	send_changes(q->service, s,
		     CHANGED_NODE | CHANGED_SESSIONS | CHANGED_PROFILES | CHANGED_JVMS |
			     CHANGED_FLEET | CHANGED_TRIGGERS);
	reply_response(q, r, &form);
}
