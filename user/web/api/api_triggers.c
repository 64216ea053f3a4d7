/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that fired, and alerts that fire one. Part of web/api/api.h. */
#include <errno.h>

#include "base/time.h"
#include "web/api/api.h"
#include "web/recordings/alerts.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"

void api_triggers(struct request *q)
{
	reply_json(q, 200, triggered_json(q->service));
}

/*
 * Replies with a 5xx error, after which Alertmanager sends the notification again (not after a 4xx
 * error). Alerts in it that have already started a recording do not start another one.
 */
static void reply_retry(struct request *q, int err)
{
	if (err == -EBUSY)
		reply_error(q, ERROR_BUSY, NULL, "As many recordings run as may.");
	else
		reply_error(q, ERROR_RECORDER_DOWN, NULL, "There is no recorder at the moment.");
}

void api_alertmanager(struct request *q)
{
	struct service *sv = q->service;
	const char *wrong = alerts_check(q->json);
	json_t *reasons = json_array(), *alert;
	int fired = 0, ignored = 0;
	u64 now_ns = time_mono_ns();
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
		    alerts_fires(&sv->alerts, q->json, alert, now_ns, &f, &why)) {
			int err = sessions_may_start(sv->sessions);
			if (err) {
				json_decref(reasons);
				reply_retry(q, err);
				return;
			}
			alerts_mark(&sv->alerts, alert, &f, now_ns);
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
