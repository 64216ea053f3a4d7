/* SPDX-License-Identifier: Apache-2.0 */
/* Alertmanager's notifications. */
#include "web/recordings/alerts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/time.h"

#define DAY_NS       (24 * 3600 * NS_PER_SEC)
#define DURATION_S   30
#define BEFORE_S     300
#define DURATION_MAX 300
#define BEFORE_MAX   3600

void alerts_fini(struct alerts *a)
{
	vec_fini(&a->seen);
	vec_fini(&a->recent);
}

static bool is_alert(const json_t *o)
{
	return json_is_object(json_object_get(o, "labels")) &&
	       json_is_string(json_object_get(o, "fingerprint")) &&
	       json_is_string(json_object_get(o, "startsAt"));
}

static bool is_text(const json_t *o, const char *name, const char *value)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text && !strcmp(text, value);
}

const char *alerts_check(const json_t *o)
{
	const json_t *alerts = json_object_get(o, "alerts");

	if (!is_text(o, "version", "4"))
		return "\"version\" must be \"4\": the format of Alertmanager's webhook.";
	if (!is_text(o, "status", "firing") && !is_text(o, "status", "resolved"))
		return "\"status\" must be firing or resolved.";
	if (!json_is_array(alerts))
		return "\"alerts\" must be a list.";
	for (size_t i = 0; i < json_array_size(alerts); i++)
		if (!is_alert(json_array_get(alerts, i)))
			return "Each alert must have \"labels\", \"fingerprint\" and "
			       "\"startsAt\".";
	return "";
}

/* The alert's own annotation, or else the one common to all alerts. "" if it has neither. */
static const char *annotation(const json_t *o, const json_t *alert, const char *name)
{
	const json_t *own = json_object_get(alert, "annotations");
	const char *text = json_string_value(json_object_get(own, name));

	return text ?: json_string_value(
			       json_object_get(json_object_get(o, "commonAnnotations"), name))
		       ?: "";
}

static const char *label(const json_t *alert, const char *name)
{
	return json_string_value(json_object_get(json_object_get(alert, "labels"), name)) ?: "";
}

static void put_clean(char *field, size_t size, const char *text)
{
	auto_str struct str clean = { 0 };

	str_add(&clean, "");
	utf8_clean(&clean, text, size - 1);
	copy_text(field, size, clean.at);
}

static u32 number(const char *text, u32 value, u32 min, u32 max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end)
		return value;
	return n < (long)min ? min : n > (long)max ? max : (u32)n;
}

static u64 key_of(const char *a, const char *b)
{
	static const u8 key[SIPHASH_KEY_LEN] = "alerts";
	auto_free char *text = xasprintf("%s\n%s", a, b);

	return siphash(key, text, strlen(text));
}

static u64 key_of_alert(const json_t *alert)
{
	return key_of(json_string_value(json_object_get(alert, "fingerprint")),
		      json_string_value(json_object_get(alert, "startsAt")));
}

static u64 key_of_fired(const struct control_fired *f)
{
	return key_of(f->name, f->target_text);
}

static bool was_recorded(const struct alerts *a, u64 key)
{
	for (size_t i = 0; i < a->seen.nr; i++)
		if (a->seen.at[i].key == key)
			return true;
	return false;
}

static const char *limit(struct alerts *a, u64 key, u64 now_ns)
{
	size_t left = 0;
	bool rests = false;

	vec_each(r, &a->recent) {
		if (now_ns - r->at_ns > DAY_NS)
			continue;
		rests |= r->key == key && now_ns - r->at_ns < ALERTS_REST_S * NS_PER_SEC;
		a->recent.at[left++] = *r;
	}
	a->recent.nr = left;
	return rests                  ? "An alert of that name was recorded within 10 min."
	       : left >= ALERTS_QUOTA ? "Alerts had 20 recordings within 24 h."
				      : NULL;
}

static void choose_target(const json_t *alert, struct control_fired *out)
{
	const char *container = label(alert, "container"), *pod = label(alert, "pod");

	out->target = *pod         ? CONTROL_TARGET_POD
		      : *container ? CONTROL_TARGET_CONTAINER
				   : CONTROL_TARGET_NODE;
	put_clean(out->target_text, sizeof(out->target_text), *pod ? pod : container);
	if (out->target == CONTROL_TARGET_CONTAINER)
		put_clean(out->container, sizeof(out->container), container);
}

bool alerts_fires(struct alerts *a, const json_t *o, const json_t *alert, u64 now_ns,
		  struct control_fired *out, const char **why)
{
	const char *events = annotation(o, alert, "sysflame_events");

	*out = (struct control_fired){ 0 };
	if (!is_text(alert, "status", "firing")) {
		*why = "The alert does not fire.";
		return false;
	}
	choose_target(alert, out);
	put_clean(out->name, sizeof(out->name), label(alert, "alertname"));
	if (!*out->name)
		copy_text(out->name, sizeof(out->name), "alert");
	*why = was_recorded(a, key_of_alert(alert)) ? "The alert was recorded before."
						    : limit(a, key_of_fired(out), now_ns);
	if (*why)
		return false;
	put_clean(out->why, sizeof(out->why),
		  *annotation(o, alert, "summary") ? annotation(o, alert, "summary") : "it fires");
	put_clean(out->events, sizeof(out->events), *events ? events : "cpu");
	out->duration_s =
		number(annotation(o, alert, "sysflame_duration"), DURATION_S, 1, DURATION_MAX);
	out->before_s = number(annotation(o, alert, "sysflame_before"), BEFORE_S, 0, BEFORE_MAX);
	return true;
}

void alerts_mark(struct alerts *a, const json_t *alert, const struct control_fired *f, u64 now_ns)
{
	if (a->seen.nr >= ALERTS_SEEN) {
		memmove(a->seen.at, a->seen.at + 1, (a->seen.nr - 1) * sizeof(a->seen.at[0]));
		a->seen.nr--;
	}
	vec_push(&a->seen, ((struct alert_seen){ key_of_alert(alert), now_ns }));
	vec_push(&a->recent, ((struct alert_seen){ key_of_fired(f), now_ns }));
}
