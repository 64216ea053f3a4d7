/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: roles, logins, and refused requests. */
#include "test.h"

#include "web_world.h"

#include <sys/resource.h>

#include "base/file.h"
#include "web/http/auth.h"

static void nothing_is_shown_without_a_token(void **state)
{
	static const char *const paths[] = {
		"GET /api/v1/node",         "GET /api/v1/profiles",
		"GET /api/v1/stream",       "GET /metrics",
		"GET /api/v1/audit",        "GET /api/v1/slices",
		"POST /api/v1/sessions",    "POST /api/v1/profiles",
		"GET /debug/pprof/profile", "GET /api/v1/settings/defaults",
	};
	auto_answer struct answer a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(status_of(*state, paths[i], ""), 401);
		assert_int_equal(
			status_of(*state, paths[i],
				  "Authorization: Bearer wrong-token-wrong-token-wrong-to\r\n"),
			401);
	}
	ask(*state, "GET /", "", &a);
	assert_int_equal(a.status, 303);
	assert_non_null(strstr(a.head, "Location: /login"));
	assert_int_equal(status_of(*state, "GET /healthz", ""), 200);
}

static void a_viewer_looks_and_changes_nothing(void **state)
{
	assert_int_equal(status_of(*state, "GET /api/v1/node", LOOKER), 200);
	assert_int_equal(status_of(*state, "GET /api/v1/audit", LOOKER), 403);
	assert_int_equal(status_of(*state, "POST /api/v1/profiles/delete-all", LOOKER), 403);
	assert_int_equal(status_of(*state, "POST /api/v1/sessions", LOOKER), 403);
	assert_int_equal(status_of(*state, "GET /debug/pprof/profile?seconds=1", LOOKER), 403);
}

static void a_host_that_is_not_ours_is_refused(void **state)
{
	static const struct {
		const char *header;
		int status;
	} cases[] = {
		{ "Host: evil.example\r\n" BEARER, 403 },
		{ "Host: localhost.evil.example\r\n" BEARER, 403 },
		{ "Host: 127.0.0.1.evil.example\r\n" BEARER, 403 },
		{ "Host: other.example\r\n" BEARER, 403 },
		{ "Host: other.example:7070\r\n" BEARER, 200 },
		{ "Host: profiles.example:1\r\n" BEARER, 200 },
		{ "Host: localhost:80\r\n" BEARER, 200 },
		{ "Host: [::1]:7\r\n" BEARER, 200 },
		{ "Host: [::1\r\n" BEARER, 403 },
		{ "Host: localhost:7x\r\n" BEARER, 403 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(status_of(*state, "GET /api/v1/node", cases[i].header),
				 cases[i].status);
}

static void an_origin_that_is_not_ours_changes_nothing(void **state)
{
	struct world *w = *state;
	const char *what = "POST /api/v1/profiles/delete-all";
	auto_free char *own = xasprintf(BEARER "Origin: http://%s\r\n", w->host);

	assert_int_equal(status_of(w, what, own), 200);
	assert_int_equal(status_of(w, what, BEARER "Origin: https://profiles.example\r\n"), 200);
	assert_int_equal(status_of(w, what, BEARER "Origin: http://evil.example\r\n"), 403);
	assert_int_equal(status_of(w, what, BEARER "Origin: http://localhost:3000\r\n"), 403);
	assert_int_equal(status_of(w, what, BEARER "Origin: null\r\n"), 403);
}

/* The value of Set-Cookie up to its attributes, as a header; for the caller to free. */
static char *cookie_of(const struct answer *a)
{
	const char *at = strstr(a->head, "Set-Cookie: ");

	assert_non_null(at);
	at += strlen("Set-Cookie: ");
	return xasprintf("Cookie: %.*s\r\n", (int)strcspn(at, ";"), at);
}

static void a_cookie_logs_in_and_changes_need_a_header(void **state)
{
	static const char form[] = "x=1&token=" OPERATOR;
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	ask_with(w, "POST /login", "Origin: null\r\n", form, strlen(form), &a);
	assert_int_equal(a.status, 303);
	assert_non_null(strstr(a.head, "HttpOnly; SameSite=Strict; Path=/"));
	assert_null(strstr(a.head, OPERATOR));
	auto_free char *cookie = cookie_of(&a);
	auto_free char *changing = xasprintf("%sX-Sysflame: 1\r\n", cookie);

	assert_int_equal(status_of(w, "GET /", cookie), 200);
	assert_int_equal(status_of(w, "GET /api/v1/audit", cookie), 200);
	assert_int_equal(status_of(w, "POST /api/v1/profiles/delete-all", cookie), 403);
	assert_int_equal(status_of(w, "POST /api/v1/profiles/delete-all", changing), 200);
	assert_int_equal(status_of(w, "GET /debug/pprof/allocs?seconds=1", cookie), 403);

	assert_int_equal(status_of(w, "POST /logout", changing), 303);
	assert_int_equal(status_of(w, "GET /api/v1/audit", cookie), 401);
}

/* Logs in with a form. */
static void log_in(struct world *w, const char *form, struct answer *a)
{
	ask_with(w, "POST /login", "Origin: null\r\n", form, strlen(form), a);
}

/* Where an answer leads; for the caller to free. */
static char *location_of(const struct answer *a)
{
	const char *at = strstr(a->head, "Location: ");

	assert_non_null(at);
	at += strlen("Location: ");
	return xstrndup(at, strcspn(at, "\r"));
}

static void a_login_opens_the_page_with_its_query(void **state)
{
	static const char *const others[] = { "s%2F1-2%3Fa%0d%0aSet-Cookie:b", "//evil.example/",
					      "s/1-2/x%3Fa=b", "s%2F1-2%3Fa%20b" };
	const char *page = "/s/1-2?service=a%20b%26c&event=alloc";
	auto_answer struct answer a = { 0 };
	auto_free char *what = xasprintf("GET %s", page);

	ask(*state, what, "", &a);
	assert_int_equal(a.status, 303);
	auto_free char *login = location_of(&a);
	const char *to = strchr(login, '?') + 1;
	auto_free char *wrong = xasprintf("token=wrong&%s", to),
		       *right = xasprintf("token=" VIEWER "&%s", to);
	log_in(*state, right, &a);
	auto_free char *opened = location_of(&a);
	assert_string_equal(opened, page);
	log_in(*state, wrong, &a);
	auto_free char *again = location_of(&a);
	assert_non_null(strstr(again, "wrong=token&to="));
	auto_free char *second = xasprintf("token=" VIEWER "&%s", strstr(again, "to="));
	log_in(*state, second, &a);
	auto_free char *opened_second = location_of(&a);
	assert_string_equal(opened_second, page);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		auto_free char *with = xasprintf("token=" VIEWER "&to=%s", others[i]);
		log_in(*state, with, &a);
		auto_free char *home = location_of(&a);
		assert_string_equal(home, "/");
	}
}

static void a_code_logs_in_once_also_after_a_restart(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };
	u64 now_s = time_wall_ns() / NS_PER_SEC;
	auto_free char *code = auth_code(OPERATOR, now_s);
	auto_free char *old = auth_code(OPERATOR, now_s - AUTH_CODE_S);
	auto_free char *foreign = auth_code(VIEWER, now_s);
	auto_free char *form = xasprintf("code=%s", code), *late = xasprintf("code=%s", old),
		       *wrong = xasprintf("code=%s", foreign);

	log_in(w, late, &a);
	assert_null(strstr(a.head, "Set-Cookie"));
	log_in(w, wrong, &a);
	assert_null(strstr(a.head, "Set-Cookie"));
	log_in(w, form, &a);
	auto_free char *cookie = cookie_of(&a);
	assert_int_equal(status_of(w, "GET /api/v1/audit", cookie), 200);
	/* It is no cookie. */
	auto_free char *name = xstrndup(cookie, strcspn(cookie, "="));
	auto_free char *as_cookie = xasprintf("%s=%s\r\n", name, code);
	assert_int_equal(status_of(w, "GET /api/v1/audit", as_cookie), 401);
	log_in(w, form, &a);
	assert_non_null(strstr(a.head, "wrong=code"));
	assert_int_equal(stop_web(w), 0);
	start_web(w, "");
	send_recorder(w);
	log_in(w, form, &a);
	assert_non_null(strstr(a.head, "wrong=code"));
	ask(w, "GET /api/v1/audit", BEARER, &a);
	assert_non_null(strstr(a.body, "log in from 127.0.0.1"));
	assert_non_null(strstr(a.body, "failed login from 127.0.0.1"));
}

static void failed_logins_do_not_fill_the_audit_list(void **state)
{
	auto_answer struct answer a = { 0 };
	size_t nr = 0;

	for (int i = 0; i < 100; i++)
		log_in(*state, "token=wrong", &a);
	ask(*state, "GET /api/v1/audit", BEARER, &a);
	for (const char *at = a.body; (at = strstr(at, "failed login")); at++)
		nr++;
	assert_in_range(nr, 1, 20); /* ten a minute, and this may take more than one */
}

static void ambiguous_requests_are_refused(void **state)
{
	struct world *w = *state;
	const char *const paths[] = { "GET /api/v1/profiles/1%00x", "GET /api/v1/node?a=%00",
				      "GET /api/v1/node?%00" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(status_of(w, paths[i], BEARER), 400);
	assert_int_equal(
		status_of(w, "GET /api/v1/node", "Host: localhost\r\nHost: localhost\r\n" BEARER),
		400);
	assert_int_equal(status_of(w, "POST /api/v1/profiles/delete-all",
				   "Content-Length: 0\r\nContent-Length: 0\r\n" BEARER),
			 400);
	assert_int_equal(status_of(w, "GET /api/v1/node", BEARER), 200);
}

static void a_logout_survives_a_restart(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	log_in(w, "token=" VIEWER, &a);
	auto_free char *ended = cookie_of(&a);
	log_in(w, "token=" VIEWER, &a);
	auto_free char *other = cookie_of(&a);
	auto_free char *changing = xasprintf("%sX-Sysflame: 1\r\n", ended);
	assert_int_equal(status_of(w, "POST /logout", changing), 303);

	assert_int_equal(stop_web(w), 0);
	start_web(w, "");
	send_recorder(w);
	assert_int_equal(status_of(w, "GET /api/v1/node", ended), 401);
	assert_int_equal(status_of(w, "GET /api/v1/node", other), 200);
}

static void a_changed_cookie_is_worth_nothing(void **state)
{
	auto_answer struct answer a = { 0 };

	log_in(*state, "token=" VIEWER, &a);
	assert_int_equal(a.status, 303);
	auto_free char *cookie = cookie_of(&a);
	assert_int_equal(status_of(*state, "GET /api/v1/node", cookie), 200);
	char *role = strchr(cookie, '=') + 1;
	assert_int_equal(*role, '1');
	*role = '2';
	assert_int_equal(status_of(*state, "GET /api/v1/audit", cookie), 401);

	log_in(*state, "token=wrong", &a);
	assert_int_equal(a.status, 303);
	assert_null(strstr(a.head, "Set-Cookie"));
}

static void every_answer_has_the_security_headers(void **state)
{
	static const char *const paths[] = { "GET /login", "GET /api/v1/node", "GET /nothing",
					     "GET /healthz", "GET /api/v1/profiles/7" };
	auto_answer struct answer a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		ask(*state, paths[i], BEARER, &a);
		assert_non_null(strstr(a.head, "X-Content-Type-Options: nosniff"));
		assert_non_null(strstr(a.head, "Referrer-Policy: no-referrer"));
		assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'"));
		assert_non_null(strstr(a.head, "frame-ancestors 'none'"));
	}
	ask(*state, "GET /api/v1/node", BEARER, &a);
	assert_non_null(strstr(a.head, "Cache-Control: no-store"));
}

static void a_path_that_does_not_exist_is_an_error(void **state)
{
	static const char *const paths[] = { "GET /api/v1/nothing",
					     "GET /api/v1/profiles/x",
					     "GET /api/v1/profiles/99999999999999999999999",
					     "GET /api/v1/profiles/-1",
					     "GET /api/v1/profiles/7",
					     "GET /p/7",
					     "GET /p/7/page",
					     "GET /s/7",
					     "GET /api/v1/settings/other",
					     "GET /api/v1/sessions/7/preview",
					     "POST /api/v1/sessions/7/stop",
					     "POST /api/v1/profiles/7/delete",
					     "POST /api/v1/profiles/7/restore" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(status_of(*state, paths[i], BEARER), 404);
}

static void a_wrong_method_is_answered_with_the_right_ones(void **state)
{
	auto_answer struct answer a = { 0 };

	assert_int_equal(status_of(*state, "DELETE /api/v1/profiles/7", BEARER), 405);
	ask(*state, "POST /api/v1/node", BEARER, &a);
	assert_int_equal(a.status, 405);
	assert_non_null(strstr(a.head, "Allow: GET, HEAD\r\n"));
	ask(*state, "POST /p/7", BEARER "Accept: text/html\r\n", &a);
	assert_int_equal(a.status, 405);
	assert_non_null(strstr(a.head, "Allow: GET, HEAD\r\n"));
}

static void who_has_no_token_is_asked_for_one(void **state)
{
	static const char *const paths[] = { "GET /api/v1/node", "GET /metrics",
					     "GET /debug/pprof/profile" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		auto_answer struct answer a = { 0 };
		ask(*state, paths[i], "", &a);
		assert_int_equal(a.status, 401);
		assert_non_null(strstr(a.head, "WWW-Authenticate: Bearer\r\n"));
	}
}

static void a_browser_gets_errors_as_a_page(void **state)
{
	static const char *const paths[] = { "GET /p/7", "GET /s/9-7", "GET /nothing/<b>" };
	auto_answer struct answer a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		ask(*state, paths[i], BEARER "Accept: text/html,*/*;q=0.8\r\n", &a);
		assert_true(a.status == 404 || a.status == 400);
		assert_non_null(strstr(a.head, "Content-Type: text/html"));
		assert_non_null(strstr(a.head, "script-src 'self'"));
		assert_non_null(strstr(a.body, "role=\"alert\">"));
		assert_null(strstr(a.body, "<b>"));
	}
	ask(*state, "GET /api/v1/profiles/7", BEARER "Accept: text/html\r\n", &a);
	assert_non_null(strstr(a.head, "application/json"));
}

static void a_parameter_out_of_range_is_a_typed_error(void **state)
{
	static const struct {
		const char *path, *json, *type;
	} cases[] = {
		{ "/api/v1/sessions", "{", "bad_request" },
		{ "/api/v1/sessions", "[]", "bad_request" },
		{ "/api/v1/sessions", "{\"rate_hz\":0}", "out_of_range" },
		{ "/api/v1/sessions", "{\"rate_hz\":1000}", "out_of_range" },
		{ "/api/v1/sessions", "{\"rate_hz\":-1}", "out_of_range" },
		{ "/api/v1/sessions", "{\"rate_hz\":\"99\"}", "bad_request" },
		{ "/api/v1/sessions", "{\"rate_hz\":1e3}", "bad_request" },
		{ "/api/v1/sessions", "{\"duration_s\":3601}", "out_of_range" },
		{ "/api/v1/sessions", "{\"events\":\"\"}", "bad_request" },
		{ "/api/v1/sessions", "{\"events\":\"a\\u0000b\"}", "bad_request" },
		{ "/api/v1/sessions", "{\"events\":\"a\\nb\"}", "out_of_range" },
		{ "/api/v1/sessions", "{\"rate\":99}", "bad_request" },
		{ "/api/v1/sessions", "{\"target\":7}", "bad_request" },
		{ "/api/v1/sessions", "{\"target\":{\"kind\":\"all\"}}", "bad_request" },
		{ "/api/v1/sessions", "{\"target\":{\"kind\":\"pid\"}}", "out_of_range" },
		{ "/api/v1/sessions", "{\"target\":{\"kind\":\"pid\",\"text\":\"0\"}}",
		  "out_of_range" },
		{ "/api/v1/sessions", "{\"target\":{\"kind\":\"comm\"}}", "bad_request" },
		{ "/api/v1/sessions", "{\"target\":{\"kind\":\"node\",\"text\":\"x\"}}",
		  "bad_request" },
		{ "/api/v1/profiles/7", "{\"name\":7}", "bad_request" },
		{ "/api/v1/profiles/7", "{\"pinned\":1}", "bad_request" },
		{ "/api/v1/profiles/7", "{\"pinned\":true}", "unknown_id" },
		{ "/api/v1/diffs", "{\"before\":1}", "unknown_id" },
		{ "/api/v1/diffs", "{\"before\":{\"from_ms\":2,\"to_ms\":1}}", "out_of_range" },
		{ "/api/v1/ranges", "{\"from_ms\":1}", "out_of_range" },
		{ "/api/v1/ranges", "{\"from_ms\":1,\"to_ms\":9223372036854775807}",
		  "out_of_range" },
		{ "/api/v1/settings/defaults", "7", "bad_request" },
	};
	static const char *const queries[] = {
		"GET /api/v1/profiles?limit=0",   "GET /api/v1/profiles?limit=1001",
		"GET /api/v1/profiles?offset=-1", "GET /api/v1/slices?steps=0",
		"GET /api/v1/slices?steps=99999", "GET /api/v1/slices?from_ms=7&to_ms=7",
		"GET /api/v1/profiles?q=%01",     "GET /debug/pprof/profile?hz=1000&seconds=1",
		"GET /debug/pprof/allocs",        "GET /debug/pprof/profile?pid=x",
	};
	auto_answer struct answer a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *type = post(*state, cases[i].path, cases[i].json, &a);
		if (strcmp(type, cases[i].type))
			fail_msg("%s %s: %s", cases[i].path, cases[i].json, a.body);
	}
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		if (status_of(*state, queries[i], BEARER) != 400)
			fail_msg("%s is not refused", queries[i]);
}

static void a_body_that_is_too_long_is_refused(void **state)
{
	size_t len = (64 << 10) + 1;
	auto_free char *long_text = xmalloc(len + 1);
	auto_answer struct answer a = { 0 };

	memset(long_text, ' ', len);
	ask_with(*state, "POST /api/v1/sessions", BEARER, long_text, len, &a);
	assert_int_equal(a.status, 413);
	ask_with(*state, "POST /api/v1/settings/defaults", BEARER "Content-Length: 99999999999\r\n",
		 NULL, 0, &a);
	assert_int_equal(a.status, 413);
}

static void settings_are_kept(void **state)
{
	auto_answer struct answer a = { 0 };
	auto_free char *type =
		post(*state, "/api/v1/settings/transforms", "{\"lines\":[\"remove x\"]}", &a);

	assert_string_equal(type, "");
	ask(*state, "GET /api/v1/settings/transforms", LOOKER, &a);
	assert_string_equal(a.body, "{\"lines\":[\"remove x\"]}");
	ask(*state, "GET /api/v1/settings/defaults", LOOKER, &a);
	assert_string_equal(a.body, "{}");
}

static void settings_have_a_schema_and_errors_name_the_field(void **state)
{
	static const struct {
		const char *path, *json, *says;
	} wrong[] = {
		{ "defaults", "{\"rate\":99}",
		  "The setting \\\"defaults\\\" has no field \\\"rate\\\"." },
		{ "defaults", "{\"lines\":[]}", "has no field \\\"lines\\\"" },
		{ "defaults", "{\"rate_hz\":0}",
		  "\\\"rate_hz\\\" must be a whole number between 1 and 10000." },
		{ "defaults", "{\"rate_hz\":\"99\"}", "\"field\":\"rate_hz\"" },
		{ "defaults", "{\"duration_s\":-1}", "\"field\":\"duration_s\"" },
		{ "defaults", "{\"events\":7}", "\"field\":\"events\"" },
		{ "defaults", "{\"target\":[]}", "\\\"target\\\" must be an object." },
		{ "defaults", "{\"target\":{\"kind\":\"nod\"}}",
		  "\\\"kind\\\" must be one of: node pid comm" },
		{ "defaults", "{\"target\":{\"kind\":\"node pid\"}}", "\"field\":\"kind\"" },
		{ "defaults", "{\"target\":{\"text\":\"a\\u0001b\"}}", "\"field\":\"text\"" },
		{ "transforms", "{\"lines\":\"remove x\"}", "\"field\":\"lines\"" },
		{ "transforms", "{\"lines\":[7]}", "\"field\":\"lines\"" },
		{ "transforms", "{\"lines\":[\"a\\u0001\"]}", "\"field\":\"lines\"" },
	};
	auto_answer struct answer a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		auto_free char *path = xasprintf("/api/v1/settings/%s", wrong[i].path);
		auto_free char *type = post(*state, path, wrong[i].json, &a);
		if (a.status != 400 || !strstr(a.body, wrong[i].says))
			fail_msg("%s: %d %s", wrong[i].json, a.status, a.body);
	}
	static const char right[] =
		"{\"events\":\"cpu\",\"target\":{\"kind\":\"pid\",\"text\":\"7\"},\"kind\":"
		"\"jvm\",\"rate_hz\":99,\"duration_s\":0}";
	auto_free char *type = post(*state, "/api/v1/settings/defaults", right, &a);
	assert_string_equal(type, "");
	ask(*state, "GET /api/v1/settings/defaults", LOOKER, &a);
	assert_string_equal(a.body, right);
	assert_int_equal(status_of(*state, "GET /api/v1/settings/target", BEARER), 404);
}

static void metrics_show_the_recorder(void **state)
{
	auto_answer struct answer a = { 0 };

	ask(*state, "GET /metrics", LOOKER, &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.body, "\nsysflame_recorder_up 1\n"));
	assert_non_null(strstr(a.body, "# TYPE sysflame_recorder_cpu_seconds_total counter\n"));
	assert_non_null(
		strstr(a.body, "\nsysflame_recorder_helper_losses_total{helper=\"zygote\"} 0\n"));
	assert_non_null(strstr(a.body, "\nsysflame_store_errors_total 0\n"));
	assert_non_null(strstr(a.body, "\nsysflame_continuous_covered_seconds_total 0\n"));
}

static void a_recorder_that_sends_nonsense_is_given_up(void **state)
{
	struct world *w = *state;
	auto_answer struct answer a = { 0 };

	assert_int_equal(send(w->recorder, "nonsense", 8, 0), 8);
	await_text(w, "GET /healthz", "There is no recorder.", &a);
}

static void a_slice_without_memory_asks_for_a_book(void **state)
{
	enum {
		BYTES = 64 << 20
	};
	struct world *w = *state;
	auto_free char *zeros = xcalloc(1, BYTES), *pages = NULL;
	auto_free char *path = xasprintf("/proc/%d/statm", (int)w->pid);
	auto_close int fd = channel_file(zeros, BYTES);
	auto_free struct control_message *m = xcalloc(1, sizeof(*m));
	u64 now = time_wall_ns();
	struct rlimit was, less;
	size_t len;

	assert_int_equal(file_read(path, 256, &pages, &len), 0);
	assert_int_equal(prlimit(w->pid, RLIMIT_AS, NULL, &was), 0);
	less = was;
	less.rlim_cur = strtoull(pages, NULL, 10) * (u64)sysconf(_SC_PAGESIZE) + BYTES / 2;
	assert_int_equal(prlimit(w->pid, RLIMIT_AS, &less, NULL), 0);
	m->kind = CONTROL_SLICE;
	m->slice = (struct control_slice){ .begin_wall_ns = now - 10 * NS_PER_SEC,
					   .end_wall_ns = now,
					   .bytes = BYTES };
	assert_int_equal(channel_send(w->recorder, m, fd), 0);
	free(await(w, CONTROL_BOOK));
	assert_int_equal(prlimit(w->pid, RLIMIT_AS, &was, NULL), 0);
}

static void slow_and_silent_clients_do_not_hold_up_others(void **state)
{
	struct world *w = *state;
	int fds[701]; /* more than the server takes */

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to(w);
		write_all(fds[i], "GET /api/v1/node HT", 19);
		if (i % 50 == 0)
			assert_int_equal(status_of(w, "GET /api/v1/node", BEARER), 200);
	}
	assert_int_equal(status_of(w, "GET /api/v1/node", BEARER), 200);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(nothing_is_shown_without_a_token),
		IN_A_WORLD(a_viewer_looks_and_changes_nothing),
		IN_A_WORLD(a_host_that_is_not_ours_is_refused),
		IN_A_WORLD(an_origin_that_is_not_ours_changes_nothing),
		IN_A_WORLD(a_cookie_logs_in_and_changes_need_a_header),
		IN_A_WORLD(a_login_opens_the_page_with_its_query),
		IN_A_WORLD(ambiguous_requests_are_refused),
		IN_A_WORLD(a_code_logs_in_once_also_after_a_restart),
		IN_A_WORLD(failed_logins_do_not_fill_the_audit_list),
		IN_A_WORLD(a_logout_survives_a_restart),
		IN_A_WORLD(a_changed_cookie_is_worth_nothing),
		IN_A_WORLD(every_answer_has_the_security_headers),
		IN_A_WORLD(a_path_that_does_not_exist_is_an_error),
		IN_A_WORLD(a_wrong_method_is_answered_with_the_right_ones),
		IN_A_WORLD(who_has_no_token_is_asked_for_one),
		IN_A_WORLD(a_browser_gets_errors_as_a_page),
		IN_A_WORLD(a_parameter_out_of_range_is_a_typed_error),
		IN_A_WORLD(a_body_that_is_too_long_is_refused),
		IN_A_WORLD(settings_are_kept),
		IN_A_WORLD(settings_have_a_schema_and_errors_name_the_field),
		IN_A_WORLD(metrics_show_the_recorder),
		IN_A_WORLD(a_recorder_that_sends_nonsense_is_given_up),
		IN_A_WORLD(a_slice_without_memory_asks_for_a_book),
		IN_A_WORLD(slow_and_silent_clients_do_not_hold_up_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
