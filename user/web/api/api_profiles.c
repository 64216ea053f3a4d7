/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in the store. Part of web/api/api.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/http/request.h"
#include "web/recordings/keeping.h"
#include "web/recordings/service.h"

#define NAME_MAX_BYTES 200
#define LIMIT_DEFAULT  100
#define LIMIT_MAX      1000

static json_t *profile_json(const struct stored *s)
{
	static const char *const states[] = {
		[STORED_COMPLETE] = "complete",
		[STORED_PARTIAL] = "partial",
		[STORED_FAILED] = "failed",
	};

	json_t *o = json_pack("{s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I}", "id", (json_int_t)s->id,
			      "name", s->name, "events", s->events, "target", s->target, "source",
			      s->source, "state", states[s->state], "error", s->error, "start_ms",
			      (json_int_t)(s->start_ns / NS_PER_MS), "duration_ms",
			      (json_int_t)(s->duration_ns / NS_PER_MS));
	json_t *more = json_pack("{s:I,s:I,s:I,s:I,s:s,s:I,s:b}", "rate_hz", (json_int_t)s->rate_hz,
				 "samples", (json_int_t)s->samples, "lost", (json_int_t)s->lost,
				 "total", (json_int_t)s->total, "unit", s->unit, "size_bytes",
				 (json_int_t)s->size_bytes, "pinned", s->pinned);
	json_object_update(o, more);
	json_decref(more);
	json_t *summary = *s->summary ? json_loads(s->summary, 0, NULL) : NULL;
	json_object_set_new(o, "summary", summary ?: json_null());
	return o;
}

json_t *profiles_json(struct service *sv, const char *words, u64 offset, u64 limit)
{
	struct stored_list l = { 0 };
	json_t *list = json_array();

	if (store_list(sv->store, words, offset, limit, &l)) {
		json_decref(list);
		return NULL;
	}
	vec_each(s, &l.list)
		json_array_append_new(list, profile_json(s));
	json_t *o = json_pack("{s:I,s:o}", "nr", (json_int_t)l.nr_all, "profiles", list);
	stored_list_fini(&l);
	return o;
}

void api_profiles(struct request *q)
{
	const char *words = "";
	u64 offset = 0, limit = LIMIT_DEFAULT;

	if (request_query_text(q, "q", NAME_MAX_BYTES, &words) &&
	    request_query_u64(q, "offset", 0, INT32_MAX, &offset) &&
	    request_query_u64(q, "limit", 1, LIMIT_MAX, &limit))
		reply_json(q, 200, profiles_json(q->service, words, offset, limit));
}

static void reply_profile(struct request *q)
{
	struct stored s;
	int err = store_get(q->service->store, q->id, &s);

	if (err) {
		reply_errno(q, err, "find the profile");
		return;
	}
	reply_json(q, 200, profile_json(&s));
	stored_fini(&s);
}

void api_profile(struct request *q)
{
	reply_profile(q);
}

/* The name of the request's profile; "" if it is gone. The caller frees it. */
static char *name_of(const struct request *q)
{
	struct stored s;

	if (store_get(q->service->store, q->id, &s))
		return xstrdup("");
	char *name = take(s.name);
	stored_fini(&s);
	return name;
}

/* `name`: that before the change. */
static void note(struct request *q, const char *doing, const char *name)
{
	auto_free char *what = xasprintf("%s profile %llu%s%s", doing, (unsigned long long)q->id,
					 *name ? ", " : "", name);

	store_audit(q->service->store, request_who(q), what);
	q->service->changed |= CHANGED_PROFILES;
}

void api_profile_change(struct request *q)
{
	static const char *const known[] = { "name", "pinned", NULL };
	struct store *store = q->service->store;
	const char *name = NULL;
	bool pinned = false;
	int err = 0;

	if (!fields_are_known(q, q->json, known) ||
	    !field_text(q, q->json, "name", NAME_MAX_BYTES, &name) ||
	    !field_bool(q, q->json, "pinned", &pinned))
		return;
	if (name) {
		auto_free char *old = name_of(q);
		err = store_rename(store, q->id, name);
		auto_free char *both = xasprintf("%s, to %s", old, name);
		if (!err)
			note(q, "rename", both);
	}
	if (!err && json_object_get(q->json, "pinned")) {
		auto_free char *own = name_of(q);
		err = store_pin(store, q->id, pinned);
		if (!err)
			note(q, pinned ? "pin" : "unpin", own);
	}
	if (err == -EDQUOT)
		reply_error(q, ERROR_DISK_FULL, "pinned",
			    "Pinned profiles would take more than a quarter of --max-disk. Unpin "
			    "or delete others.");
	else if (err)
		reply_errno(q, err, "change the profile");
	else
		reply_profile(q);
}

static void change(struct request *q, int err, const char *doing, const char *name)
{
	if (err) {
		auto_free char *what = xasprintf("%s the profile", doing);
		reply_errno(q, err, what);
		return;
	}
	note(q, doing, name);
	reply_json(q, 200, json_object());
}

void api_delete(struct request *q)
{
	auto_free char *name = name_of(q);

	change(q, store_delete(q->service->store, q->id), "delete", name);
}

void api_restore(struct request *q)
{
	int err = store_restore(q->service->store, q->id);
	auto_free char *name = name_of(q);

	change(q, err, "restore", name);
}

void api_delete_all(struct request *q)
{
	u64 nr = 0, undo;
	int err = store_delete_all(q->service->store, &nr, &undo);

	if (err) {
		reply_errno(q, err, "delete the profiles");
		return;
	}
	auto_free char *what =
		xasprintf("delete all %llu profiles that are not pinned", (unsigned long long)nr);
	store_audit(q->service->store, request_who(q), what);
	q->service->changed |= CHANGED_PROFILES;
	/* A text, because JavaScript would round the number. */
	auto_free char *token = undo ? xasprintf("%llu", (unsigned long long)undo) : xstrdup("");
	reply_json(q, 200, json_pack("{s:I,s:s}", "nr", (json_int_t)nr, "undo", token));
}

void api_restore_all(struct request *q)
{
	static const char *const known[] = { "undo", NULL };
	const char *undo = "";
	u64 nr = 0;

	if (!fields_are_known(q, q->json, known) || !field_text(q, q->json, "undo", 20, &undo))
		return;
	bool is_number = *undo && strspn(undo, "0123456789") == strlen(undo);
	int err =
		store_restore_all(q->service->store, is_number ? strtoull(undo, NULL, 10) : 0, &nr);
	if (err == -ENOENT) {
		reply_error(q, ERROR_UNKNOWN_ID, "undo",
			    "These profiles cannot be restored any more.");
		return;
	}
	if (err) {
		reply_errno(q, err, "restore the profiles");
		return;
	}
	auto_free char *what = xasprintf("restore %llu profiles", (unsigned long long)nr);
	store_audit(q->service->store, request_who(q), what);
	q->service->changed |= CHANGED_PROFILES;
	reply_json(q, 200, json_pack("{s:I}", "nr", (json_int_t)nr));
}

static void upload_kept(void *ctx, int err, u64 id)
{
	struct request *q = ctx;

	if (err) {
		reply_errno(q, err, "keep the profile");
		return;
	}
	q->id = id;
	auto_free char *name = name_of(q);
	note(q, "upload", name);
	reply_id(q, id);
}

static void imported(void *ctx, int err, struct payload *result)
{
	struct request *q = ctx;
	const char *name = request_query(q, "name");
	struct stored facts = { 0 };

	if (err) {
		reply_job_error(q, err, result, "read the file");
		return;
	}
	facts.name = xstrdup(name && *name ? name : "upload");
	facts.source = xstrdup("upload");
	facts.target = xstrdup("upload");
	keep_profile(q->service, &facts, result, upload_kept, q);
}

void api_upload(struct request *q)
{
	const char *name = "";

	if (!request_query_text(q, "name", NAME_MAX_BYTES, &name))
		return;
	if (!q->body_bytes) {
		reply_error(q, ERROR_BAD_REQUEST, NULL, "The body must be a profile.");
		return;
	}
	struct job_order order = {
		.task = WEB_IMPORT,
		.params = { .nr_inputs = 1, .format = "sflm" },
		.fds = { take_fd(q->upload_fd), -1 },
		.done = imported,
		.ctx = q,
	};
	copy_text(order.params.title, sizeof(order.params.title), name);
	int err = queue_add(q->service->queue, &order);
	if (err)
		reply_errno(q, err, "read the file");
	else
		request_await(q);
}
