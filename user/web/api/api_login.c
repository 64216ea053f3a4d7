/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in and out. Part of web/api/api.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/http/route.h"
#include "web/http/site.h"
#include "web/recordings/service.h"

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : isxdigit((u8)c) ? tolower(c) - 'a' + 10 : -1;
}

/* The value of a field of application/x-www-form-urlencoded; NULL if it is missing. */
static char *form_value(const char *form, const char *name)
{
	size_t len = strlen(name);
	struct str out = { 0 };

	while (form && (strncmp(form, name, len) || form[len] != '=')) {
		form = strchr(form, '&');
		form = form ? form + 1 : NULL;
	}
	for (const char *at = form ? form + len + 1 : ""; *at && *at != '&'; at++) {
		if (*at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
			str_add_char(&out, (char)(hex(at[1]) * 16 + hex(at[2])));
			at += 2;
		} else {
			str_add_char(&out, *at == '+' ? ' ' : *at);
		}
	}
	return str_take(&out);
}

/*
 * The address of a page of this server, as its own redirect to the login wrote it; otherwise "".
 * Its query becomes a part of a header.
 */
static const char *known_page(const struct request *q, const char *page)
{
	auto_free char *path = xstrndup(page, strcspn(page, "?"));
	struct request parts = { 0 };
	const struct route *r = route_find(q->routes, "GET", path, &parts);

	for (const char *c = page; *c; c++)
		if (*c <= ' ' || *c > '~')
			return "";
	return r && r->is_page && r->role != ROLE_NONE ? page : "";
}

/* Refuses a login. `why`: the sentence that the login page shows. */
static void refuse(struct request *q, const char *why, const char *page)
{
	struct service *sv = q->service;
	auto_str struct str again = { 0 };

	auth_note_failure(&sv->auth, q);
	str_addf(&again, "%s/login?wrong=%s%s", q->site->prefix, why, *page ? "&to=" : "");
	address_add(&again, page);
	reply_redirect(q, again.at, NULL);
}

static void enter(struct request *q, enum role role, const char *page)
{
	struct service *sv = q->service;
	auto_free char *home = xasprintf("%s/%s", q->site->prefix, page);
	auto_free char *cookie = auth_cookie(&sv->auth, role, time_wall_ns() / NS_PER_SEC);

	if (!cookie) {
		reply_error(q, ERROR_INTERNAL, NULL, "There is no randomness for a login.");
		return;
	}
	auth_note_login(&sv->auth, q, role);
	reply_redirect(q, home, cookie);
}

void api_login_page(struct request *q)
{
	if (request_query(q, "token"))
		reply_error(q, ERROR_BAD_REQUEST, "token",
			    "A token in an address stays in histories and logs. Log in without it, "
			    "or by the address that sysflame serve --link prints.");
	else
		reply_asset(q, "login.html");
}

void api_login(struct request *q)
{
	struct service *sv = q->service;
	auto_free char *token = form_value(q->body.at, "token");
	auto_free char *code = form_value(q->body.at, "code");
	auto_free char *to = form_value(q->body.at, "to");
	u64 now_s = time_wall_ns() / NS_PER_SEC;
	enum role role =
		*code ? auth_take_code(&sv->auth, code, now_s) : auth_token_role(&sv->auth, token);

	explicit_bzero(token, strlen(token));
	if (role == ROLE_NONE)
		refuse(q, *code ? "code" : "token", known_page(q, to));
	else
		enter(q, role, known_page(q, to));
}

void api_logout(struct request *q)
{
	auto_free char *login = xasprintf("%s/login", q->site->prefix);
	auto_free char *cookie = auth_cookie(&q->service->auth, ROLE_NONE, 0);

	auth_log_out(&q->service->auth, q);
	reply_redirect(q, login, cookie);
}
