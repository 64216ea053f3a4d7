/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a node and its answers. Part of fleet/http_node.h. */
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "fleet/http_node.h"

#define SAID_BYTES 160

void http_fetch(struct http_node *n, const struct fetch_request *r, fetched_fn done, void *ctx)
{
	static const struct fetched too_long = { .why = "the request is too long", .bytes = "" };
	struct fetch_request own = *r;

	own.node = n->index;
	if (fetcher_add(n->fetcher, &own, done, ctx))
		done(ctx, &too_long);
}

void http_say(struct http_node *n, const char *subject, const void *bytes, size_t len)
{
	vec_push(&n->letters->all,
		 (struct http_letter){ xstrdup(subject), xmemdup(bytes, len), len });
}

json_t *http_json(const struct fetched *r)
{
	json_t *j = json_loadb(r->bytes, r->len, JSON_REJECT_DUPLICATES, NULL);

	if (j && !json_is_object(j)) {
		json_decref(j);
		return NULL;
	}
	return j;
}

void http_add_fault(struct str *out, const struct fetched *r)
{
	json_t *j = r->status ? http_json(r) : NULL;
	const char *said =
		json_string_value(json_object_get(json_object_get(j, "error"), "message"));

	if (!r->status) {
		str_addf(out, "It cannot be asked: %s.", r->why);
	} else {
		str_addf(out, "It answers %u", r->status);
		if (r->status / 100 == 2)
			str_add(out, ", and not as a daemon does");
		if (r->status / 100 == 3)
			str_add(out, ": redirects are not followed");
		if (said) {
			str_add(out, ": ");
			utf8_clean(out, said, SAID_BYTES);
		}
		if (out->at[out->len - 1] != '.')
			str_add(out, ".");
	}
	json_decref(j);
}
