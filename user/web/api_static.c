/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the user interface. Part of web/api.h. */
#include <stdio.h>
#include <string.h>

#include "ui.h"
#include "web/api.h"
#include "web/route.h"
#include "web/service.h"

static void reply_file(struct request *q, const char *path)
{
	static const u8 key[SIPHASH_KEY_LEN] = "user interface";

	for (const struct ui_file *f = ui_files; f->path; f++) {
		if (strcmp(f->path, path))
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
	reply_error(q, ERROR_INTERNAL, NULL, "This program was built without \"%s\".", path);
}

void api_static(struct request *q)
{
	const char *pattern = q->route->pattern;

	reply_file(q, !*pattern                   ? "index.html"
		      : !strcmp(pattern, "login") ? "login.html"
						  : pattern);
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
	reply_file(q, "shell.html");
}

void api_range_shell(struct request *q)
{
	if (q->from_ms >= q->to_ms)
		reply_error(q, ERROR_OUT_OF_RANGE, NULL, "The range must begin before it ends.");
	else
		reply_file(q, "shell.html");
}
