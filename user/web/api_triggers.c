/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that fired, and alerts that fire one. Part of web/api.h. */
#include "base/time.h"
#include "web/alerts.h"
#include "web/api.h"
#include "web/service.h"

void api_triggers(struct request *q)
{
	reply_json(q, 200, triggered_json(q->service));
}

/* Alertmanager sends a notification again after an error of the server, not after one of its own.
 */
void api_alertmanager(struct request *q)
{
	struct service *sv = q->service;
	const char *wrong = alerts_check(q->json);
	json_t *reasons = json_array(), *alert;
	int fired = 0, ignored = 0;
	size_t i;

	if (*wrong) {
		json_decref(reasons);
		reply_error(q, ERROR_BAD_REQUEST, NULL, "%s", wrong);
		return;
	}
	json_array_foreach(json_object_get(q->json, "alerts"), i, alert)
	{
		struct control_fired f;
		const char *why = "A notification starts three recordings at most.";
		if (fired < ALERTS_RUN &&
		    alerts_take(&sv->alerts, q->json, alert, time_mono_ns(), &f, &why)) {
			triggered_take(sv, &f, "alert");
			fired++;
			continue;
		}
		ignored++;
		if (json_array_size(reasons) < ALERTS_RUN)
			json_array_append_new(reasons, json_string(why));
	}
	reply_json(
		q, 200,
		json_pack("{s:i,s:i,s:o}", "fired", fired, "ignored", ignored, "reasons", reasons));
}
