/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "web/recordings/alerts.h"

/* As Alertmanager's documentation has it, with one alert that fires. */
static const char *const notification =
	"{\"version\":\"4\",\"groupKey\":\"{}:{alertname=\\\"Slow\\\"}\",\"truncatedAlerts\":0,"
	"\"status\":\"firing\",\"receiver\":\"sysflame\",\"groupLabels\":{\"alertname\":\"Slow\"},"
	"\"commonLabels\":{\"alertname\":\"Slow\"},"
	"\"commonAnnotations\":{\"summary\":\"p99 over 1 s\",\"sysflame_duration\":\"7\"},"
	"\"externalURL\":\"http://alertmanager.example\",\"alerts\":[{\"status\":\"firing\","
	"\"labels\":{\"alertname\":\"Slow\",\"pod\":\"shop-1\"},\"annotations\":{},"
	"\"startsAt\":\"2026-01-02T03:04:05Z\",\"endsAt\":\"0001-01-01T00:00:00Z\","
	"\"generatorURL\":\"\",\"fingerprint\":\"a1b2\"}]}";

static json_t *parse(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	assert_non_null(o);
	return o;
}

static bool take_first(struct alerts *a, const json_t *o, u64 now_ns, struct control_fired *out)
{
	const json_t *alert = json_array_get(json_object_get(o, "alerts"), 0);
	const char *why = NULL;
	bool fires = alerts_fires(a, o, alert, now_ns, out, &why);

	if (fires)
		alerts_mark(a, alert, out, now_ns);
	return fires;
}

static void an_alert_that_fires_is_recorded_by_its_labels_and_annotations(void **state)
{
	struct alerts a = { 0 };
	struct control_fired f;
	json_t *o = parse(notification);

	assert_string_equal(alerts_check(o), "");
	assert_true(take_first(&a, o, 1, &f));
	assert_string_equal(f.name, "Slow");
	assert_string_equal(f.why, "p99 over 1 s");
	assert_string_equal(f.events, "cpu");
	assert_string_equal(f.target_text, "shop-1");
	assert_int_equal(f.target, CONTROL_TARGET_POD);
	assert_int_equal(f.duration_s, 7);
	assert_int_equal(f.before_s, 300);
	json_decref(o);
	alerts_fini(&a);
}

static void a_repeated_notification_records_once(void **state)
{
	struct alerts a = { 0 };
	struct control_fired f;
	json_t *o = parse(notification);
	json_t *alert = json_array_get(json_object_get(o, "alerts"), 0);
	u64 hour = 3600 * NS_PER_SEC;

	assert_true(take_first(&a, o, hour, &f));
	assert_false(take_first(&a, o, 3 * hour, &f));
	json_object_set_new(alert, "startsAt", json_string("2026-01-02T05:04:05Z"));
	assert_true(take_first(&a, o, 5 * hour, &f));
	json_object_set_new(alert, "fingerprint", json_string("c3"));
	assert_false(take_first(&a, o, 5 * hour + NS_PER_SEC, &f));
	json_object_set_new(alert, "fingerprint", json_string("d4"));
	json_object_set_new(alert, "status", json_string("resolved"));
	assert_false(take_first(&a, o, 9 * hour, &f));
	json_decref(o);
	alerts_fini(&a);
}

static void an_alert_that_was_not_recorded_fires_later(void **state)
{
	struct alerts a = { 0 };
	struct control_fired f;
	json_t *o = parse(notification);
	json_t *alert = json_array_get(json_object_get(o, "alerts"), 0);
	const char *why = NULL;

	for (int i = 0; i < ALERTS_QUOTA + 1; i++)
		assert_true(alerts_fires(&a, o, alert, NS_PER_SEC, &f, &why));
	assert_true(take_first(&a, o, NS_PER_SEC, &f));
	json_object_set_new(alert, "startsAt", json_string("2026-01-02T03:09:05Z"));
	assert_false(take_first(&a, o, (ALERTS_REST_S - 7) * NS_PER_SEC, &f));
	assert_true(take_first(&a, o, (ALERTS_REST_S + 7) * NS_PER_SEC, &f));
	json_decref(o);
	alerts_fini(&a);
}

static void a_day_has_twenty_recordings_of_alerts(void **state)
{
	struct alerts a = { 0 };
	struct control_fired f;
	json_t *o = parse(notification);
	json_t *alert = json_array_get(json_object_get(o, "alerts"), 0);
	u32 nr = 0;

	for (int i = 0; i < 1000; i++) {
		char text[16];
		snprintf(text, sizeof(text), "%d", i);
		json_object_set_new(alert, "fingerprint", json_string(text));
		json_object_set_new(json_object_get(alert, "labels"), "alertname",
				    json_string(text));
		nr += take_first(&a, o, 1, &f);
	}
	assert_int_equal(nr, ALERTS_QUOTA);
	assert_true(a.seen.nr <= ALERTS_SEEN);
	json_object_set_new(alert, "fingerprint", json_string("tomorrow"));
	assert_true(take_first(&a, o, 25 * 3600 * NS_PER_SEC, &f));
	json_decref(o);
	alerts_fini(&a);
}

static void hostile_notifications_are_refused_or_bounded(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"version\":4,\"status\":\"firing\",\"alerts\":[]}",
		"{\"version\":\"4\",\"status\":\"maybe\",\"alerts\":[]}",
		"{\"version\":\"4\",\"status\":\"firing\",\"alerts\":{}}",
		"{\"version\":\"4\",\"status\":\"firing\",\"alerts\":[7]}",
		"{\"version\":\"4\",\"status\":\"firing\",\"alerts\":[{\"labels\":[],"
		"\"fingerprint\":\"a\",\"startsAt\":\"\"}]}",
	};
	struct alerts a = { 0 };
	struct control_fired f;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *o = parse(bad[i]);
		assert_string_not_equal(alerts_check(o), "");
		json_decref(o);
	}
	json_t *o = parse(notification);
	json_t *alert = json_array_get(json_object_get(o, "alerts"), 0);
	json_t *labels = json_object_get(alert, "labels"),
	       *more = json_object_get(o, "commonAnnotations");
	char *lengthy = calloc(1, 5001);
	memset(lengthy, 'x', 5000);
	json_object_set_new(labels, "alertname", json_string("a\x01\nb"));
	json_object_set_new(labels, "pod", json_string(lengthy));
	json_object_set_new(more, "summary", json_string(lengthy));
	json_object_set_new(more, "sysflame_events", json_integer(7));
	json_object_set_new(more, "sysflame_duration", json_string("99999999999999999999"));
	json_object_set_new(more, "sysflame_before", json_string("-5"));
	assert_string_equal(alerts_check(o), "");
	assert_true(take_first(&a, o, 1, &f));
	assert_null(strpbrk(f.name, "\x01\n"));
	assert_true(strlen(f.target_text) < sizeof(f.target_text));
	assert_true(strlen(f.why) < sizeof(f.why));
	assert_string_equal(f.events, "cpu");
	assert_int_equal(f.duration_s, 300);
	assert_int_equal(f.before_s, 0);
	free(lengthy);
	json_decref(o);
	alerts_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_alert_that_fires_is_recorded_by_its_labels_and_annotations),
		cmocka_unit_test(a_repeated_notification_records_once),
		cmocka_unit_test(an_alert_that_was_not_recorded_fires_later),
		cmocka_unit_test(a_day_has_twenty_recordings_of_alerts),
		cmocka_unit_test(hostile_notifications_are_refused_or_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
