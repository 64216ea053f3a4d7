/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a summary that lists show. */
#include "web/shown_summary.h"

#include "base/utf8.h"
#include "web/summarize.h"

static bool is_share(const json_t *v)
{
	return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 1;
}

static bool is_clean(const json_t *v, size_t max)
{
	return json_is_string(v) && utf8_is_clean(json_string_value(v), max);
}

static json_t *shown_kinds(json_t *kinds)
{
	json_t *out = json_object();

	for (u32 i = 0; i < SUMMARY_KINDS; i++) {
		json_t *share = json_object_get(kinds, summary_kind(i));
		if (is_share(share))
			json_object_set(out, summary_kind(i), share);
	}
	return out;
}

static json_t *shown_top(const json_t *top)
{
	json_t *out = json_array(), *o;
	size_t i;

	json_array_foreach(top, i, o)
	{
		json_t *name = json_object_get(o, "name"), *share = json_object_get(o, "share");
		if (json_array_size(out) < SUMMARY_TOP && is_clean(name, SUMMARY_NAME_MAX) &&
		    is_share(share))
			json_array_append_new(out,
					      json_pack("{s:O,s:O}", "name", name, "share", share));
	}
	return out;
}

static json_t *shown_alerts(const json_t *alerts)
{
	json_t *out = json_array(), *text;
	size_t i;

	json_array_foreach(alerts, i, text) if (json_array_size(out) < SUMMARY_ALERTS &&
						is_clean(text, SUMMARY_ALERT_MAX))
		json_array_append(out, text);
	return out;
}

json_t *shown_summary(const json_t *summary)
{
	return json_pack("{s:o,s:o,s:o}", "kinds", shown_kinds(json_object_get(summary, "kinds")),
			 "top", shown_top(json_object_get(summary, "top")), "alerts",
			 shown_alerts(json_object_get(summary, "alerts")));
}
