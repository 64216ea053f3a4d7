/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: recordings for scrapers, which are not stored. */
#include "web_recordings.h"

static void a_scraper_gets_gzip_and_nothing_is_stored(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	auto_close int fd = connect_to(w);

	send_request(fd, w, "GET /debug/pprof/profile?seconds=1&comm=java", BEARER, NULL, 0);
	struct control_message *m = await(w, CONTROL_START);
	assert_int_equal(m->start.duration_s, 1);
	assert_string_equal(m->start.target_text, "java");
	send_part(w, m->start.id, &part);
	send_ended(w, m->start.id, 0, "");
	free(m);
	read_answer(fd, &a);
	assert_int_equal(a.status, 200);
	assert_memory_equal(a.body, "\x1f\x8b", 2);
	assert_non_null(strstr(a.head, "application/octet-stream"));
	assert_null(strstr(a.head, "Content-Encoding"));
	ask(w, "GET /api/v1/profiles?q=java", BEARER, &a);
	assert_int_equal(number_in(&a, "nr"), 0);
	ask(w, "GET /debug/pprof/allocs", BEARER, &a);
	assert_non_null(strstr(a.head, "X-Go-Pprof: 1"));
	assert_non_null(strstr(a.head, "text/plain"));
}

static void a_scraper_gets_no_profile_of_less_time_than_it_asked_for(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w);

	for (int i = 0; i < 2; i++) {
		auto_answer struct answer a = { 0 };
		auto_close int fd = connect_to(w);
		send_request(fd, w, "GET /debug/pprof/profile?seconds=600", BEARER, NULL, 0);
		struct control_message *m = await(w, CONTROL_START);
		send_state(w, m->start.id, CONTROL_RUNS, 0);
		if (i)
			send_part(w, m->start.id, &part);
		free(m);
		await_text(w, "GET /api/v1/sessions", i ? "\"parts\":1" : "\"state\":\"runs\"", &a);
		close(w->recorder);
		answer_fini(&a);
		read_answer(fd, &a);
		assert_int_equal(a.status, 503);
		assert_string_equal(a.body, "The recorder ended before the recording did.\n");
		send_recorder(w);
		await_text(w, "GET /healthz", "ok", &a);
	}
}

static void a_scraper_gets_no_profile_that_the_disk_could_not_hold(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };

	if (!use_small_disk(w))
		skip_because("mounting a small file system takes root");
	fill_disk(w);
	auto_close int fd = connect_to(w);
	send_request(fd, w, "GET /debug/pprof/profile?seconds=600", BEARER, NULL, 0);
	struct control_message *m = await(w, CONTROL_START);
	send_part(w, m->start.id, &part);
	free(await(w, CONTROL_STOP));
	send_ended(w, m->start.id, 0, "");
	free(m);
	read_answer(fd, &a);
	assert_int_equal(a.status, 507);
	leave_small_disk(w);
}

static void a_scraper_that_hangs_up_ends_its_recording(void **state)
{
	struct world *w = *state;
	auto_answer struct answer part = part_of(w), a = { 0 };
	int fd = connect_to(w);

	send_request(fd, w, "GET /debug/pprof/profile?seconds=600", BEARER, NULL, 0);
	struct control_message *m = await(w, CONTROL_START);
	send_state(w, m->start.id, CONTROL_RUNS, 0);
	send_part(w, m->start.id, &part);
	await_text(w, "GET /api/v1/sessions", "\"parts\":1", &a);
	assert_non_null(strstr(a.body, "\"kept\":false"));
	close(fd);
	struct control_message *discard = await(w, CONTROL_DISCARD);
	assert_int_equal(discard->id.id, m->start.id);
	await_text(w, "GET /api/v1/sessions", "[]", &a);
	assert_int_equal(status_of(w, "GET /healthz", ""), 200);
	free(discard);
	free(m);
}

static void a_pull_that_the_daemon_left_is_not_stored(void **state)
{
	static const int signals[] = { SIGTERM, SIGKILL };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		auto_answer struct answer part = part_of(w), a = { 0 };
		auto_close int fd = connect_to(w);
		int status;

		send_request(fd, w, "GET /debug/pprof/profile?seconds=600&comm=java", BEARER, NULL,
			     0);
		struct control_message *m = await(w, CONTROL_START);
		send_part(w, m->start.id, &part);
		free(m);
		await_text(w, "GET /api/v1/sessions", "\"parts\":1", &a);
		kill(w->pid, signals[i]);
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		close(w->supervisor);
		close(w->recorder);

		start_web(w, "");
		send_recorder(w);
		await_text(w, "GET /api/v1/events", "CPU time", &a);
		await_text(w, "GET /api/v1/sessions", "[]", &a);
		ask(w, "GET /api/v1/profiles?q=java", BEARER, &a);
		assert_int_equal(number_in(&a, "nr"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(a_scraper_gets_gzip_and_nothing_is_stored),
		IN_A_WORLD(a_scraper_gets_no_profile_of_less_time_than_it_asked_for),
		IN_A_WORLD(a_scraper_gets_no_profile_that_the_disk_could_not_hold),
		IN_A_WORLD(a_scraper_that_hangs_up_ends_its_recording),
		IN_A_WORLD(a_pull_that_the_daemon_left_is_not_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
