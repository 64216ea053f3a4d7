/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and the audit list. Part of web/api.h. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "web/api.h"
#include "web/route.h"
#include "web/service.h"

#define AUDIT_MAX 500

static bool key_is_known(struct request *q)
{
	if (!strcmp(q->word, "defaults") || !strcmp(q->word, "transforms"))
		return true;
	reply_error(q, ERROR_UNKNOWN_ID, NULL, "There is no setting \"%s\".", q->word);
	return false;
}

void api_setting(struct request *q)
{
	if (!key_is_known(q))
		return;
	auto_free char *text = store_setting(q->service->store, q->word);
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;
	reply_json(q, 200, value ?: json_object());
}

void api_set_setting(struct request *q)
{
	if (!key_is_known(q))
		return;
	auto_free char *text = json_dumps(q->json, JSON_COMPACT);
	int err = strlen(text) > BODY_JSON_MAX
			  ? -EFBIG
			  : store_set_setting(q->service->store, q->word, text);
	if (err) {
		reply_errno(q, err, "keep the setting");
		return;
	}
	auto_free char *what = xasprintf("change the setting %s", q->word);
	store_audit(q->service->store, request_who(q), what);
	reply_json(q, 200, json_object());
}

void api_audit(struct request *q)
{
	struct store_audit_list l = { 0 };
	json_t *list = json_array();
	int err = store_audit_read(q->service->store, AUDIT_MAX, &l);

	if (err) {
		json_decref(list);
		reply_errno(q, err, "read the audit list");
		return;
	}
	vec_each(e, &l.list)
		json_array_append_new(list, json_pack("{s:I,s:s,s:s}", "at_ms",
						      (json_int_t)(e->at_ns / NS_PER_MS), "who",
						      e->who, "what", e->what));
	store_audit_list_fini(&l);
	reply_json(q, 200, list);
}
