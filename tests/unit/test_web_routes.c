/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "web/api/api.h"
#include "web/http/auth.h"
#include "web/http/route.h"
#include "web/http/site.h"

/* The path of a route as docs/api.yaml writes it. */
static char *documented(const char *pattern)
{
	static const char *const parts[][2] = {
		{ "ID", "{id}" },
		{ "KEY", "{key}" },
		{ "FILE", "{file}" },
		{ "FROM-TO", "{from}-{to}" },
	};
	struct str out = { 0 };

	str_add(&out, "/");
	while (*pattern) {
		size_t len = strcspn(pattern, "/"), i = 0;
		while (i < ARRAY_SIZE(parts) &&
		       (strlen(parts[i][0]) != len || strncmp(parts[i][0], pattern, len)))
			i++;
		if (i < ARRAY_SIZE(parts))
			str_add(&out, parts[i][1]);
		else
			str_add_bytes(&out, pattern, len);
		pattern += len;
		if (*pattern)
			str_add_char(&out, *pattern++);
	}
	return str_take(&out);
}

static bool is_served(const char *method, const char *path)
{
	for (const struct route *r = routes; r->method; r++) {
		auto_free char *own = documented(r->pattern);
		if (!strcasecmp(r->method, method) && !strcmp(own, path))
			return true;
	}
	return false;
}

static size_t nr_routes(void)
{
	size_t nr = 0;

	while (routes[nr].method)
		nr++;
	return nr;
}

static void the_api_file_has_the_routes_of_the_server(void **state)
{
	auto_fclose FILE *f = fopen("docs/api.yaml", "re");
	char line[512], path[256] = "", method[8];
	size_t nr = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && strcmp(line, "components:\n")) {
		if (sscanf(line, "  /%250[^:]:", path + 1) == 1 && line[2] == '/')
			path[0] = '/';
		else if (!strcmp(line, "  /:\n"))
			strcpy(path, "/");
		else if (!strcmp(line, "    get:\n") || !strcmp(line, "    post:\n")) {
			assert_int_equal(sscanf(line, " %7[a-z]:", method), 1);
			if (!is_served(method, path))
				fail_msg("nobody serves %s %s", method, path);
			nr++;
		}
	}
	assert_int_equal(nr, nr_routes());
}

static void parts_of_a_path_are_numbers_words_and_ranges(void **state)
{
	static const struct {
		const char *method, *path, *pattern;
	} cases[] = {
		{ "GET", "", "" },
		{ "HEAD", "p/7", "p/ID" },
		{ "GET", "p/7/page", "p/ID/page" },
		{ "GET", "s/17-23/page", "s/FROM-TO/page" },
		{ "GET", "api/v1/settings/defaults", "api/v1/settings/KEY" },
		{ "POST", "api/v1/profiles/delete-all", "api/v1/profiles/delete-all" },
		{ "GET", "app.css", "FILE" },
		{ "GET", "../x.css", NULL },
		{ "GET", "a%b.css", NULL },
		{ "GET", "p/", NULL },
		{ "GET", "p/07", NULL },
		{ "GET", "p/+7", NULL },
		{ "GET", "p/7/", NULL },
		{ "GET", "p/7/page/x", NULL },
		{ "GET", "p/18446744073709551616", NULL },
		{ "GET", "s/17", NULL },
		{ "GET", "s/17-", NULL },
		{ "GET", "s/17-23-29", NULL },
		{ "GET", "api/v1/settings/Defaults", NULL },
		{ "GET", "api/v1/settings/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request q = { 0 };
		const struct route *r = route_find(routes, cases[i].method, cases[i].path, &q);
		if (!cases[i].pattern) {
			if (r)
				fail_msg("%s has a route", cases[i].path);
			continue;
		}
		assert_non_null(r);
		assert_string_equal(r->pattern, cases[i].pattern);
	}
	struct request q = { 0 };
	assert_non_null(route_find(routes, "GET", "s/17-23", &q));
	assert_int_equal(q.from_ms, 17);
	assert_int_equal(q.to_ms, 23);
	assert_null(route_find(routes, "GET", "api/v1/diffs", &q));
	assert_string_equal(q.allowed, "POST");
}

static void a_path_names_its_methods(void **state)
{
	struct request q = { 0 };

	assert_null(route_find(routes, "GET", "nothing", &q));
	assert_string_equal(q.allowed, "");
	assert_null(route_find(routes, "PUT", "api/v1/profiles/7", &q));
	assert_string_equal(q.allowed, "GET, HEAD, POST");
	assert_non_null(route_find(routes, "HEAD", "metrics", &q));
	/* It would start a recording. */
	assert_null(route_find(routes, "HEAD", "debug/pprof/profile", &q));
	assert_string_equal(q.allowed, "GET");
}

static const struct site site = {
	.prefix = "/profiles",
	.operator_token = "operator-token-of-at-least-32-bytes",
	.viewer_token = "viewer-token-of-at-least-32-bytes-7",
};

/* "NAME=TICKET; .." -> TICKET. */
static char *ticket_of(const char *cookie)
{
	const char *at = strchr(cookie, '=') + 1;

	return xstrndup(at, strcspn(at, ";"));
}

static void a_ticket_ends_with_its_time_and_its_token(void **state)
{
	struct site changed = site;
	struct auth a, other;
	struct ticket t;

	changed.operator_token = "another-operator-token-of-32-bytes-7";
	assert_int_equal(auth_init(&a, &site), 0);
	assert_int_equal(auth_init(&other, &changed), 0);
	auto_free char *cookie = auth_cookie(&a, ROLE_OPERATOR, 1000);
	assert_non_null(strstr(cookie, "Path=/profiles;"));
	auto_free char *ticket = ticket_of(cookie);

	assert_int_equal(auth_ticket_role(&a, ticket, 1000, &t), ROLE_OPERATOR);
	assert_int_equal(auth_ticket_role(&a, ticket, 999 + AUTH_TICKET_S, &t), ROLE_OPERATOR);
	assert_int_equal(auth_ticket_role(&a, ticket, 1000 + AUTH_TICKET_S, &t), ROLE_NONE);
	assert_int_equal(auth_ticket_role(&other, ticket, 1000, &t), ROLE_NONE);
	for (size_t i = 0; i < strlen(ticket); i++) {
		auto_free char *forged = xstrdup(ticket);
		forged[i] = forged[i] == '7' ? '8' : '7';
		assert_int_equal(auth_ticket_role(&a, forged, 1000, &t), ROLE_NONE);
	}
	assert_int_equal(auth_ticket_role(&a, "", 1000, &t), ROLE_NONE);
	auth_fini(&a);
	auth_fini(&other);
}

/* The oldest logouts make room: every login from before them ends, too. */
/* Of the cookie of a server; the caller frees it. */
static char *cookie_name(const struct site *of, enum role role)
{
	struct auth a;

	assert_int_equal(auth_init(&a, of), 0);
	auto_free char *cookie = auth_cookie(&a, role, 1000);
	auth_fini(&a);
	return xstrndup(cookie, strcspn(cookie, "="));
}

/* Browsers send the cookies of all servers on a host to each of them. */
static void servers_on_one_host_have_cookies_of_their_own(void **state)
{
	struct site changed = site;

	changed.operator_token = "another-operator-token-of-32-bytes-7";
	auto_free char *name = cookie_name(&site, ROLE_OPERATOR);
	auto_free char *same = cookie_name(&site, ROLE_VIEWER);
	auto_free char *out = cookie_name(&site, ROLE_NONE);
	auto_free char *other = cookie_name(&changed, ROLE_OPERATOR);
	assert_string_equal(name, same);
	assert_string_equal(name, out);
	assert_string_not_equal(name, other);
}

static void many_logouts_end_no_later_login(void **state)
{
	enum {
		MANY = 1031
	};
	struct auth a;
	struct ticket t;

	assert_int_equal(auth_init(&a, &site), 0);
	auto_free char *early = auth_cookie(&a, ROLE_VIEWER, 1000);
	auto_free char *early_ticket = ticket_of(early);
	for (u64 i = 0; i < MANY; i++) {
		auto_free char *cookie = auth_cookie(&a, ROLE_VIEWER, 1000 + i);
		auto_free char *ticket = ticket_of(cookie);
		assert_int_equal(auth_ticket_role(&a, ticket, 1000 + i, &t), ROLE_VIEWER);
		auth_revoke(&a, &t, 1000 + i);
		assert_int_equal(auth_ticket_role(&a, ticket, 1000 + i, &t), ROLE_NONE);
	}
	auto_free char *late = auth_cookie(&a, ROLE_VIEWER, 1000 + MANY);
	auto_free char *late_ticket = ticket_of(late);
	assert_int_equal(auth_ticket_role(&a, late_ticket, 1000 + MANY, &t), ROLE_VIEWER);
	assert_int_equal(auth_ticket_role(&a, early_ticket, 1000 + MANY, &t), ROLE_NONE);
	assert_true(a.revoked.nr <= 1024);
	auth_fini(&a);
}

static void a_short_token_is_refused(void **state)
{
	struct site without = site;
	struct auth a;

	without.viewer_token = "";
	assert_true(auth_init(&a, &without) < 0);
	assert_int_equal(auth_init(&a, &site), 0);
	assert_int_equal(auth_token_role(&a, ""), ROLE_NONE);
	assert_int_equal(auth_token_role(&a, site.viewer_token), ROLE_VIEWER);
	assert_int_equal(auth_token_role(&a, site.operator_token), ROLE_OPERATOR);
	auth_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_api_file_has_the_routes_of_the_server),
		cmocka_unit_test(parts_of_a_path_are_numbers_words_and_ranges),
		cmocka_unit_test(a_path_names_its_methods),
		cmocka_unit_test(a_ticket_ends_with_its_time_and_its_token),
		cmocka_unit_test(servers_on_one_host_have_cookies_of_their_own),
		cmocka_unit_test(many_logouts_end_no_later_login),
		cmocka_unit_test(a_short_token_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
