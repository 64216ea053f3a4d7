/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: uploads, recordings and stored profiles. */
#include "web_recordings.h"

static void an_upload_is_kept_listed_rendered_and_deleted(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	json_int_t id = upload(w, COLLAPSED);

	ask(w, "GET /api/v1/profiles?q=seventeen", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 1);
	assert_non_null(strstr(a.body, "\"total\":23"));
	assert_non_null(strstr(a.body, "\"source\":\"upload\""));

	auto_free char *page = xasprintf("GET /p/%lld/page", (long long)id);
	ask(w, page, BEARER, &a);
	assert_int_equal(a.status, 200);
	assert_non_null(
		strstr(a.head, "Content-Security-Policy: sandbox allow-scripts allow-downloads;"));
	assert_non_null(strstr(a.head, "worker-src blob:;"));
	assert_non_null(strstr(a.head, "no-cache"));
	auto_free char *etag = xasprintf(BEARER "If-None-Match: %.*s\r\n",
					 (int)strcspn(strstr(a.head, "ETag: ") + 6, "\r"),
					 strstr(a.head, "ETag: ") + 6);
	assert_int_equal(status_of(w, page, etag), 304);

	auto_free char *collapsed =
		xasprintf("GET /p/%lld/download?format=collapsed", (long long)id);
	ask(w, collapsed, BEARER, &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.body, "main;work 17"));
	assert_non_null(strstr(a.head, "filename=\"seventeen-"));

	auto_free char *path = xasprintf("/api/v1/profiles/%lld", (long long)id);
	auto_free char *type = post(w, path, "{\"name\":\"renamed\",\"pinned\":true}", &a);
	assert_string_equal(type, "");
	assert_non_null(strstr(a.body, "\"name\":\"renamed\""));
	assert_non_null(strstr(a.body, "\"pinned\":true"));
	auto_free char *none = post(w, path, "{}", &a);
	assert_string_equal(none, "");

	auto_free char *gone = xasprintf("POST %s/delete", path),
		       *back = xasprintf("POST %s/restore", path);
	assert_int_equal(status_of(w, gone, BEARER), 200);
	ask(w, "GET /api/v1/profiles", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 0);
	assert_int_equal(status_of(w, back, BEARER), 200);
	ask(w, "GET /api/v1/profiles", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 1);
	ask(w, "GET /api/v1/audit", BEARER, &a);
	assert_non_null(strstr(a.body, "\"delete profile"));
	assert_non_null(strstr(a.body, "\"rename profile"));
	assert_non_null(strstr(a.body, "\"pin profile"));
	assert_null(strstr(a.body, "\"unpin profile"));
}

static void an_upload_that_is_no_profile_is_refused(void **state)
{
	auto_answer struct answer a = { 0 };

	ask_with(*state, "POST /api/v1/profiles", BEARER, "\x01\x02 nonsense", 11, &a);
	assert_int_equal(a.status, 400);
	ask_with(*state, "POST /api/v1/profiles", BEARER, "", 0, &a);
	assert_int_equal(a.status, 400);
}

static void two_profiles_are_compared(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	json_int_t before = upload(w, COLLAPSED), after = upload(w, "main;work 19\n");
	auto_free char *json =
		xasprintf("{\"before\":%lld,\"after\":%lld}", (long long)before, (long long)after);
	auto_free char *type = post(w, "/api/v1/diffs", json, &a);

	assert_string_equal(type, "");
	assert_int_equal(a.status, 201);
	ask(w, "GET /api/v1/profiles", BEARER, &a);
	assert_non_null(strstr(a.body, "\"source\":\"diff\""));
}

static void a_recording_is_previewed_stopped_and_kept(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	u32 number;
	json_int_t id = start(w, &number);
	auto_free char *preview = xasprintf("GET /api/v1/sessions/%lld/preview", (long long)id);
	auto_free char *stop = xasprintf("POST /api/v1/sessions/%lld/stop", (long long)id);

	assert_int_equal(status_of(w, preview, BEARER), 404);
	send_part(w, number, &part);
	send_part(w, number, &part);
	await_text(w, "GET /api/v1/sessions", "\"parts\":2", &a);
	assert_non_null(strstr(a.body, "\"kept\":true"));
	ask(w, preview, BEARER, &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, "text/html"));
	assert_int_equal(status_of(w, stop, BEARER), 200);
	free(await(w, CONTROL_STOP));
	send_part(w, number, &part);
	send_ended(w, number, 0, "");
	await_text(w, "GET /api/v1/profiles?q=java", "\"state\":\"complete\"", &a);
	assert_non_null(strstr(a.body, "\"samples\":69"));
	assert_non_null(strstr(a.body, "\"total\":69"));
	assert_non_null(strstr(a.body, "\"target\":\"command java\""));
	await_text(w, "GET /api/v1/sessions", "[]", &a);
}

static void many_parts_are_joined_while_it_runs(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	u32 number;

	start(w, &number);
	for (int i = 0; i < 41; i++)
		send_part(w, number, &part);
	await_text(w, "GET /api/v1/sessions", "\"parts\":41", &a);
	ask(w, "GET /api/v1/audit", BEARER, &a);
	assert_non_null(strstr(a.body, "\"start recording"));
	send_ended(w, number, 0, "");
	await_text(w, "GET /api/v1/profiles?q=java", "\"total\":943", &a);
	await_text(w, "GET /api/v1/sessions", "[]", &a);
}

/* Names that do not get shorter by compression: 16 bytes a sample. */
static struct answer large_part(struct world *w, u32 seed)
{
	auto_str struct str s = { 0 };

	for (u32 i = 0; i < 101; i++) {
		seed = seed * 1103515245 + 12345;
		u64 a = seed * 0x9e3779b97f4a7c15ull, b = a * a + i;
		str_addf(&s, "main;%016llx%016llx 1\n", (unsigned long long)a,
			 (unsigned long long)b);
	}
	return part_with(w, s.at);
}

static void a_recording_that_is_too_large_becomes_several_profiles(void **state)
{
	enum {
		PARTS = 5
	};
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	u64 total = 0;
	u32 number;

	assert_int_equal(stop_web(w), 0);
	world_max_profile_bytes = 6000; /* a part has some 2.5 KB */
	start_web(w, "");
	world_max_profile_bytes = 0;
	send_recorder(w);
	await_text(w, "GET /api/v1/events", "CPU time", &a);
	json_int_t id = start(w, &number);
	for (u32 i = 0; i < PARTS; i++) {
		auto_answer struct answer part = large_part(w, i + 7);
		send_part(w, number, &part);
	}
	send_ended(w, number, 0, "A warning.");
	await_text(w, "GET /api/v1/profiles?q=java", "Its beginning is in profiles", &a);
	assert_non_null(strstr(a.body, "A warning. The recording was too large for one profile."));
	json_t *o = json_of(&a), *p;
	size_t i;
	json_array_foreach(json_object_get(o, "profiles"), i, p)
	{
		bool is_last = json_integer_value(json_object_get(p, "id")) == id;
		const char *error = json_string_value(json_object_get(p, "error"));
		total += (u64)json_integer_value(json_object_get(p, "total"));
		assert_string_equal(json_string_value(json_object_get(p, "state")), "complete");
		assert_non_null(strstr(json_string_value(json_object_get(p, "name")), ", part "));
		assert_non_null(strstr(error, is_last ? "Its beginning" : "The last of its"));
	}
	assert_true(i > 1);
	json_decref(o);
	assert_int_equal(total, PARTS * 101);
	await_text(w, "GET /api/v1/sessions", "[]", &a);
}

static void a_part_that_is_damaged_is_left_out(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), bad = part_of(w), a = { 0 };
	u32 number;

	memset(bad.body + bad.len / 2, 0, bad.len / 4);
	start(w, &number);
	send_part(w, number, &part);
	send_part(w, number, &bad);
	send_part(w, number, &part);
	send_ended(w, number, 0, "");
	await_text(w, "GET /api/v1/profiles?q=java", "1 of its parts could not be read", &a);
	assert_non_null(strstr(a.body, "\"state\":\"partial\""));
	await_text(w, "GET /api/v1/sessions", "[]", &a);
}

static void a_recording_that_the_recorder_refuses_says_why(void **state)
{
	static const char json[] = "{\"events\":\"nonsense\"}";
	struct world *w = *state;
	auto_close int fd = connect_to(w);
	auto_answer struct answer a = { 0 };

	send_request(fd, w, "POST /api/v1/sessions", BEARER, json, strlen(json));
	struct control_message *m = await(w, CONTROL_START);
	send_ended(w, m->start.id, -EINVAL, "There is no event \"nonsense\".");
	free(m);
	read_answer(fd, &a);
	assert_int_equal(a.status, 400);
	assert_non_null(strstr(a.body, "There is no event"));
	ask(w, "GET /api/v1/sessions", BEARER, &a);
	assert_string_equal(a.body, "[]");
	ask(w, "GET /api/v1/audit", BEARER, &a);
	assert_non_null(strstr(a.body, "\"may not start recording"));
	assert_null(strstr(a.body, "\"start recording"));
}

/* Starts a recording, whose first part arrives. */
static json_int_t start_with_part(struct world *w, u32 *number)
{
	auto_answer struct answer part = part_of(w), a = { 0 };
	json_int_t id = start(w, number);

	send_part(w, *number, &part);
	await_text(w, "GET /api/v1/sessions", "\"parts\":1", &a);
	return id;
}

static void a_recording_whose_recorder_ends_is_kept_in_part(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	u32 number;

	start_with_part(w, &number);
	close(w->recorder);
	await_text(w, "GET /api/v1/profiles?q=java", "\"state\":\"partial\"", &a);
	assert_non_null(strstr(a.body, "The recorder ended before the recording did."));
	assert_int_equal(status_of(w, "GET /healthz", ""), 503);
	auto_free char *type = post(w, "/api/v1/sessions", "{}", &a);
	assert_string_equal(type, "recorder_down");

	send_recorder(w);
	await_text(w, "GET /healthz", "ok", &a);
}

static void kill_and_restart(struct world *w)
{
	int status;

	kill(w->pid, SIGKILL);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	close(w->supervisor);
	close(w->recorder);

	start_web(w, "");
	send_recorder(w);
}

static void a_recording_that_the_daemon_left_is_kept_at_its_next_start(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	u32 number;

	start_with_part(w, &number);
	kill_and_restart(w);
	await_text(w, "GET /api/v1/profiles?q=java", "\"state\":\"partial\"", &a);
	assert_non_null(strstr(a.body, "The daemon ended before all of the recording was stored."));
}

/* A recording of which one part is stored, and no more fits. The result cannot be stored either. */
static json_int_t fill_disk_while_recording(struct world *w)
{
	auto_answer struct answer part = part_of(w), a = { 0 };
	u32 number;
	json_int_t id = start_with_part(w, &number);

	fill_disk(w);
	send_part(w, number, &part);
	free(await(w, CONTROL_STOP));
	send_ended(w, number, 0, "");
	/* Its worker comes after that of the recording. */
	ask_with(w, "POST /api/v1/profiles", BEARER, COLLAPSED, strlen(COLLAPSED), &a);
	assert_int_equal(a.status, 507);
	return id;
}

static void a_recording_that_met_a_full_disk_is_stored_when_there_is_room(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	if (!use_small_disk(w))
		skip_because("mounting a small file system takes root");
	fill_disk_while_recording(w);
	ask(w, "GET /api/v1/sessions", BEARER, &a);
	assert_non_null(strstr(a.body, "\"state\":\"ends\""));
	unlinkat(w->dir, "filler", 0);
	await_text(w, "GET /api/v1/profiles?q=java", "\"state\":\"partial\"", &a);
	assert_non_null(strstr(a.body, "\"error\":\"It was stopped, because a part could not be "
				       "written: the disk is full or read-only.\""));
	await_text(w, "GET /api/v1/sessions", "[]", &a);
	leave_small_disk(w);
}

static void a_recording_that_waits_for_room_can_be_discarded(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	if (!use_small_disk(w))
		skip_because("mounting a small file system takes root");
	auto_free char *discard = xasprintf("POST /api/v1/sessions/%lld/discard",
					    (long long)fill_disk_while_recording(w));
	while (status_of(w, discard, BEARER) == 503) /* it is just being tried again */
		usleep(10000);
	await_text(w, "GET /api/v1/sessions", "[]", &a);
	unlinkat(w->dir, "filler", 0);
	kill_and_restart(w);
	await_text(w, "GET /api/v1/events", "CPU time", &a);
	ask(w, "GET /api/v1/profiles?q=java", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 0);
	leave_small_disk(w);
}

/* The disk may have been too full for a note of why it ended. */
static void a_restart_does_not_invent_the_end_of_a_recording(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	if (!use_small_disk(w))
		skip_because("mounting a small file system takes root");
	fill_disk_while_recording(w);
	kill_and_restart(w);
	await_text(w, "GET /api/v1/events", "CPU time", &a);
	unlinkat(w->dir, "filler", 0);
	await_text(w, "GET /api/v1/profiles?q=java", "\"state\":\"partial\"", &a);
	assert_true(strstr(a.body, "before all of the recording was stored") ||
		    strstr(a.body, "a part could not be written"));
	leave_small_disk(w);
}

static void a_trigger_s_recording_is_pinned_after_a_restart(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	struct control_message *m = xcalloc(1, sizeof(*m));

	m->kind = CONTROL_FIRED;
	m->fired = (struct control_fired){ .target = CONTROL_TARGET_NODE,
					   .duration_s = 600,
					   .name = "hot",
					   .why = "cpu 90 %",
					   .events = "cpu" };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
	m = await(w, CONTROL_START);
	send_state(w, m->start.id, CONTROL_RUNS, 0);
	send_part(w, m->start.id, &part);
	free(m);
	await_text(w, "GET /api/v1/sessions", "\"parts\":1", &a);
	kill_and_restart(w);
	await_text(w, "GET /api/v1/profiles?q=trigger", "\"pinned\":true", &a);
}

static void a_discarded_recording_leaves_nothing(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	u32 number;
	auto_free char *discard =
		xasprintf("POST /api/v1/sessions/%lld/discard", (long long)start(w, &number));

	send_part(w, number, &part);
	assert_int_equal(status_of(w, discard, BEARER), 200);
	free(await(w, CONTROL_DISCARD));
	send_part(w, number, &part);
	send_ended(w, number, 0, "");
	await_text(w, "GET /api/v1/sessions", "[]", &a);
	ask(w, "GET /api/v1/profiles?q=java", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 0);
}

/* Reads a stream until it has a text. */
/* Reads on into `s` until it contains the text. */
static void read_until(int fd, struct str *s, const char *text)
{
	char chunk[16384];

	str_add_bytes(s, "", 0);
	while (!strstr(s->at, text)) {
		ssize_t nr = recv(fd, chunk, sizeof(chunk), 0);
		assert_true(nr > 0);
		str_add_bytes(s, chunk, (size_t)nr);
	}
}

static void a_stream_sends_what_changes(void **state)
{
	struct world *w = *state;
	auto_close int fd = connect_to(w);
	auto_str struct str s = { 0 };
	struct control_message *m = xcalloc(1, sizeof(*m));

	send_request(fd, w, "GET /api/v1/stream", LOOKER, NULL, 0);
	read_until(fd, &s, "event: jvms\ndata: []\n\n");
	assert_non_null(strstr(s.at, "\r\nX-Accel-Buffering: no\r\n")); /* for nginx */
	m->kind = CONTROL_JVMS;
	m->jvms.first = m->jvms.last = m->jvms.nr = 1;
	m->jvms.at[0] = (struct control_jvm){ .pid = 4711, .main = "com.example.Main" };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	read_until(fd, &s, "\"main\":\"com.example.Main\"");
	free(m);
	upload(w, COLLAPSED);
	read_until(fd, &s, "event: profiles\ndata: {\"nr\":1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(an_upload_is_kept_listed_rendered_and_deleted),
		IN_A_WORLD(an_upload_that_is_no_profile_is_refused),
		IN_A_WORLD(two_profiles_are_compared),
		IN_A_WORLD(a_recording_is_previewed_stopped_and_kept),
		IN_A_WORLD(many_parts_are_joined_while_it_runs),
		IN_A_WORLD(a_recording_that_is_too_large_becomes_several_profiles),
		IN_A_WORLD(a_part_that_is_damaged_is_left_out),
		IN_A_WORLD(a_recording_that_the_recorder_refuses_says_why),
		IN_A_WORLD(a_recording_whose_recorder_ends_is_kept_in_part),
		IN_A_WORLD(a_recording_that_the_daemon_left_is_kept_at_its_next_start),
		IN_A_WORLD(a_recording_that_met_a_full_disk_is_stored_when_there_is_room),
		IN_A_WORLD(a_recording_that_waits_for_room_can_be_discarded),
		IN_A_WORLD(a_restart_does_not_invent_the_end_of_a_recording),
		IN_A_WORLD(a_trigger_s_recording_is_pinned_after_a_restart),
		IN_A_WORLD(a_discarded_recording_leaves_nothing),
		IN_A_WORLD(a_stream_sends_what_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
