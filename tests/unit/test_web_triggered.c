/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: triggers and alerts. */
#include "test.h"

#include "web_slices.h"

#define HOOK "/api/v1/triggers/alertmanager"

/* A notification of alerts that fire, of these names; for the caller to free. */
static char *alerts(const char *const *names, size_t nr)
{
	struct str s = { 0 };

	str_add(&s, "{\"version\":\"4\",\"status\":\"firing\",\"alerts\":[");
	for (size_t i = 0; i < nr; i++)
		str_addf(&s,
			 "%s{\"status\":\"firing\",\"labels\":{\"alertname\":\"%s\"},"
			 "\"annotations\":{\"sysflame_before\":\"0\"},\"fingerprint\":\"%s\","
			 "\"startsAt\":\"2026-01-02T03:04:05Z\"}",
			 i ? "," : "", names[i], names[i]);
	str_add(&s, "]}");
	return str_take(&s);
}

static void an_alert_that_finds_no_recorder_is_sent_again(void **state)
{
	static const char *const names[] = { "Slow" };
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	auto_free char *json = alerts(names, 1);

	close(w->recorder);
	await_text(w, "GET /healthz", "There is no recorder.", &a);
	for (int i = 0; i < 2; i++) {
		auto_free char *type = post(w, HOOK, json, &a);
		assert_int_equal(a.status, 503);
		assert_string_equal(type, "recorder_down");
	}
	send_recorder(w);
	await_text(w, "GET /healthz", "ok", &a);
	free(post(w, HOOK, json, &a));
	assert_int_equal(number_in(&a, "fired"), 1);
	free(await(w, CONTROL_START));
	free(post(w, HOOK, json, &a));
	assert_int_equal(number_in(&a, "fired"), 0);
}

static void an_alert_beyond_the_recordings_that_may_run_is_sent_again(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	auto_free char *json = alerts(names, ARRAY_SIZE(names)), *type = post(w, HOOK, json, &a);

	assert_int_equal(a.status, 503);
	assert_string_equal(type, "busy");
	struct control_message *m = await(w, CONTROL_START);
	u32 first = m->start.id;
	*m = (struct control_message){ .kind = CONTROL_ENDED };
	m->ended.id = first;
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
	await_text(w, "GET /api/v1/profiles", "trigger a: it fires", &a);
	free(post(w, HOOK, json, &a));
	assert_int_equal(a.status, 200);
	assert_int_equal(number_in(&a, "fired"), 1);
	assert_int_equal(number_in(&a, "ignored"), 2);
	free(await(w, CONTROL_START));
	free(await(w, CONTROL_START));
	ask(w, "GET /api/v1/triggers", BEARER, &a);
	assert_null(strstr(a.body, "As many recordings run as may."));
}

static void send_fired(struct world *w)
{
	struct control_message *m = xcalloc(1, sizeof(*m));

	m->kind = CONTROL_FIRED;
	m->fired = (struct control_fired){ .target = CONTROL_TARGET_NODE,
					   .duration_s = 7,
					   .before_s = 60,
					   .name = "hot",
					   .why = "a test",
					   .events = "cpu" };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
}

static void the_time_before_a_trigger_ends_with_the_slice_that_ran(void **state)
{
	struct world *w = *state;
	struct slice_writer *writer = slice_writer_new();
	u64 begin = time_wall_ns() - 7 * NS_PER_SEC;
	auto_answer struct answer a = { 0 };

	send_slice(w, writer, begin - 10 * NS_PER_SEC, begin, 17);
	send_fired(w);
	free(await(w, CONTROL_START));
	sleep(2); /* a profile without the second slice would be made meanwhile */
	send_slice(w, writer, begin, time_wall_ns(), 23);
	await_text(w, "GET /api/v1/profiles?q=before", "\"pinned\":true", &a);
	assert_non_null(strstr(a.body, "trigger hot, 60 s before"));
	assert_non_null(strstr(a.body, "\"total\":40"));
	slice_writer_free(writer);
}

static void the_time_before_an_alert_of_a_pod_is_the_pods(void **state)
{
	static const char alert[] =
		"{\"version\":\"4\",\"status\":\"firing\",\"alerts\":[{\"status\":\"firing\","
		"\"labels\":{\"alertname\":\"slow\",\"pod\":\"web-0\"},\"fingerprint\":\"a\","
		"\"annotations\":{\"sysflame_before\":\"60\"},"
		"\"startsAt\":\"2026-01-02T03:04:05Z\"}]}";
	struct world *w = *state;
	struct slice_writer *writer = slice_writer_new();
	u64 begin = time_wall_ns() - 7 * NS_PER_SEC;
	auto_answer struct answer a = { 0 };

	send_slice_of(w, writer, "web-0", begin - 10 * NS_PER_SEC, begin, 17);
	free(post(w, HOOK, alert, &a));
	assert_int_equal(number_in(&a, "fired"), 1);
	free(await(w, CONTROL_START));
	send_slice_of(w, writer, "web-1", begin, time_wall_ns(), 23);
	await_text(w, "GET /api/v1/profiles?q=before", "\"pinned\":true", &a);
	assert_non_null(strstr(a.body, "\"total\":17"));
	assert_non_null(strstr(a.body, "\"target\":\"pod web-0\""));
	slice_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(an_alert_that_finds_no_recorder_is_sent_again),
		IN_A_WORLD(an_alert_beyond_the_recordings_that_may_run_is_sent_again),
		IN_A_WORLD(the_time_before_a_trigger_ends_with_the_slice_that_ran),
		IN_A_WORLD(the_time_before_an_alert_of_a_pod_is_the_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
