/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the user interface. Part of web/api/api.h. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "ui.h"
#include "web/api/api.h"
#include "web/http/route.h"
#include "web/http/site.h"
#include "web/recordings/range.h"
#include "web/recordings/service.h"

void reply_asset(struct request *q, const char *name)
{
	static const u8 key[SIPHASH_KEY_LEN] = "user interface";

	for (const struct ui_file *f = ui_files; f->path; f++) {
		if (strcmp(f->path, name))
			continue;
		char etag[32];
		snprintf(etag, sizeof(etag), "\"%016llx\"",
			 (unsigned long long)siphash(key, f->bytes, f->len));
		const struct reply_form form = {
			.type = f->type,
			.policy = POLICY_UI,
			.cache = "no-cache",
			.etag = etag,
		};
		if (!reply_unchanged(q, &form))
			reply_static(q, f->bytes, f->len, &form);
		return;
	}
	reply_error(q, ERROR_UNKNOWN_ID, NULL, "This program has no file \"%s\".", name);
}

void api_home(struct request *q)
{
	reply_asset(q, q->service->requests ? "fleet.html" : "index.html");
}

/* Styles, scripts and pictures; pages have addresses of their own. */
void api_asset(struct request *q)
{
	const char *extension = strrchr(q->word, '.');

	if (!strcmp(extension, ".html"))
		reply_error(q, ERROR_UNKNOWN_ID, NULL, "There is nothing at this path.");
	else
		reply_asset(q, q->word);
}

void api_shell(struct request *q)
{
	struct stored facts;
	int err = store_get(q->service->store, q->id, &facts);

	if (err) {
		reply_errno(q, err, "show the profile");
		return;
	}
	stored_fini(&facts);
	reply_asset(q, "shell.html");
}

/*
 * Redirects to the page of the range widened to whole slices, so that its address and title are
 * correct.
 */
static void go_to_whole_slices(struct request *q, const struct range *r)
{
	auto_str struct str to = { 0 };

	str_addf(&to, "%s/s/%llu-%llu", q->site->prefix, (unsigned long long)r->from_ms,
		 (unsigned long long)r->to_ms);
	request_add_query(q, &to);
	str_addf(&to, "%casked=%llu-%llu", strchr(to.at, '?') ? '&' : '?',
		 (unsigned long long)q->from_ms, (unsigned long long)q->to_ms);
	reply_redirect(q, to.at, NULL);
}

void api_range_shell(struct request *q)
{
	struct range r = RANGE_ALL(q->from_ms, q->to_ms);

	if (q->from_ms >= q->to_ms) {
		reply_error(q, ERROR_OUT_OF_RANGE, NULL, "The range must begin before it ends.");
		return;
	}
	if (range_is_valid(&r))
		range_widen(q->service, &r);
	if (r.from_ms != q->from_ms || r.to_ms != q->to_ms)
		go_to_whole_slices(q, &r);
	else
		reply_asset(q, "shell.html");
}
