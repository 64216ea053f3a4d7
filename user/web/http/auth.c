/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends a request, and whether they may. */
#include "web/http/auth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "store/store.h"
#include "web/http/route.h"
#include "web/http/site.h"

#define REVOKED_MAX  1024
#define REVOKED_KEY  "revoked" /* the setting with the tickets that logged out */
#define TICKET_MAX   128
#define FIRST_TICKET 0 /* number that no ticket has: the keys made from a token use it */
#define FIRST_CODE   4
#define MINUTE_NS    (60 * NS_PER_SEC)
/* failed logins listed a minute: more would push other entries out of the audit list */
#define FAILURES_MAX 10

/* Two independent keyed hashes of a token, each a key in turn: nobody guesses 128 bits. */
static void make_keys(u8 keys[2][SIPHASH_KEY_LEN], const char *token, u8 first)
{
	for (u8 i = 0; i < 4; i++) {
		const u8 label[SIPHASH_KEY_LEN] = { 's', 'y', 's',
						    'f', 'l', 'a',
						    'm', 'e', (u8)(first + i) };
		u64 part = siphash(label, token, strlen(token));
		memcpy(keys[i / 2] + (size_t)(i % 2) * sizeof(part), &part, sizeof(part));
	}
}

/*
 * The cookie keeps its name after a restart. The 32 bits of a hash in it reveal nothing of the
 * token.
 */
static void name_cookie(struct auth *a)
{
	static const u8 label[SIPHASH_KEY_LEN] = "sysflame cookie";
	const char *token = a->site->operator_token;

	snprintf(a->cookie, sizeof(a->cookie), AUTH_COOKIE "%08x",
		 (u32)siphash(label, token, strlen(token)));
}

int auth_init(struct auth *a, const struct site *site)
{
	*a = (struct auth){ .site = site };
	if (strlen(site->operator_token) < AUTH_TOKEN_MIN ||
	    strlen(site->viewer_token) < AUTH_TOKEN_MIN)
		return -EINVAL;
	make_keys(a->keys[ROLE_OPERATOR], site->operator_token, FIRST_TICKET);
	make_keys(a->keys[ROLE_VIEWER], site->viewer_token, FIRST_TICKET);
	make_keys(a->code_keys, site->operator_token, FIRST_CODE);
	name_cookie(a);
	return 0;
}

void auth_fini(struct auth *a)
{
	explicit_bzero(a->keys, sizeof(a->keys));
	explicit_bzero(a->code_keys, sizeof(a->code_keys));
	vec_fini(&a->revoked);
}

static bool is_same(const char *secret, const char *given)
{
	size_t len = strlen(secret);
	u8 differs = 0;

	if (strlen(given) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (u8)(secret[i] ^ given[i]);
	return !*(volatile u8 *)&differs;
}

enum role auth_token_role(const struct auth *a, const char *token)
{
	if (is_same(a->site->operator_token, token))
		return ROLE_OPERATOR;
	return is_same(a->site->viewer_token, token) ? ROLE_VIEWER : ROLE_NONE;
}

/* "ROLE.NUMBER.END.HASH" */
static void write_ticket(const u8 keys[2][SIPHASH_KEY_LEN], enum role role, u64 number, u64 end_s,
			 char out[TICKET_MAX])
{
	int len = snprintf(out, TICKET_MAX, "%d.%016llx.%llu", (int)role,
			   (unsigned long long)number, (unsigned long long)end_s);
	u64 first = siphash(keys[0], out, (size_t)len);
	u64 second = siphash(keys[1], out, (size_t)len);

	snprintf(out + len, TICKET_MAX - (size_t)len, ".%016llx%016llx", (unsigned long long)first,
		 (unsigned long long)second);
}

char *auth_cookie(const struct auth *a, enum role role, u64 now_s)
{
	const char *path = *a->site->prefix ? a->site->prefix : "/";
	const char *secure = a->site->tls_key || a->site->is_behind_tls ? " Secure;" : "";
	char ticket[TICKET_MAX] = "";
	u64 number;

	if (role == ROLE_NONE)
		return xasprintf("%s=; HttpOnly;%s SameSite=Strict; Path=%s; Max-Age=0", a->cookie,
				 secure, path);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return NULL;
	write_ticket(a->keys[role], role, number, now_s + AUTH_TICKET_S, ticket);
	return xasprintf("%s=%s; HttpOnly;%s SameSite=Strict; Path=%s; Max-Age=%llu", a->cookie,
			 ticket, secure, path, AUTH_TICKET_S);
}

static bool is_revoked(const struct auth *a, const struct ticket *t)
{
	for (size_t i = 0; i < a->revoked.nr; i++)
		if (a->revoked.at[i].number == t->number)
			return true;
	return t->end_s <= a->revoked_until_s;
}

/* `code_keys` NULL: a ticket. */
static enum role role_of(const struct auth *a, const u8 code_keys[2][SIPHASH_KEY_LEN],
			 const char *text, u64 now_s, struct ticket *out)
{
	unsigned long long nr, end_s;
	char right[TICKET_MAX];
	int role, len = 0;

	if (strlen(text) >= TICKET_MAX ||
	    sscanf(text, "%1d.%16llx.%20llu.%n", &role, &nr, &end_s, &len) != 3 || !len)
		return ROLE_NONE;
	if (role != ROLE_VIEWER && role != ROLE_OPERATOR)
		return ROLE_NONE;
	write_ticket(code_keys ?: a->keys[role], (enum role)role, nr, end_s, right);
	if (!is_same(right, text) || now_s >= end_s)
		return ROLE_NONE;
	const struct ticket t = { nr, end_s };
	if (is_revoked(a, &t))
		return ROLE_NONE;
	*out = t;
	return (enum role)role;
}

enum role auth_ticket_role(const struct auth *a, const char *text, u64 now_s, struct ticket *out)
{
	return role_of(a, NULL, text, now_s, out);
}

char *auth_code(const char *operator_token, u64 now_s)
{
	u8 keys[2][SIPHASH_KEY_LEN];
	char code[TICKET_MAX];
	u64 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return NULL;
	make_keys(keys, operator_token, FIRST_CODE);
	write_ticket(keys, ROLE_OPERATOR, number, now_s + AUTH_CODE_S, code);
	explicit_bzero(keys, sizeof(keys));
	return xstrdup(code);
}

static const char *cookie_of(const struct auth *a, const struct request *q)
{
	return MHD_lookup_connection_value(q->connection, MHD_COOKIE_KIND, a->cookie);
}

/* Forgets tickets that have ended, and the one that ends first while there are too many. */
static void forget_revoked(struct auth *a, u64 now_s)
{
	struct ticket *first;
	size_t nr = 0;

	vec_each(t, &a->revoked)
		if (t->end_s > now_s)
			a->revoked.at[nr++] = *t;
	a->revoked.nr = nr;
	while (a->revoked.nr > REVOKED_MAX) {
		first = a->revoked.at;
		vec_each(t, &a->revoked)
			if (t->end_s < first->end_s)
				first = t;
		if (first->end_s > a->revoked_until_s)
			a->revoked_until_s = first->end_s;
		*first = a->revoked.at[--a->revoked.nr];
	}
}

void auth_revoke(struct auth *a, const struct ticket *t, u64 now_s)
{
	vec_push(&a->revoked, *t);
	forget_revoked(a, now_s);
}

/* For the store: {"until_s": .., "tickets": ["NUMBER.END", ..]}; the caller frees it. */
static char *revoked_json(const struct auth *a)
{
	struct str s = { 0 };

	str_addf(&s, "{\"until_s\":%llu,\"tickets\":[", (unsigned long long)a->revoked_until_s);
	for (size_t i = 0; i < a->revoked.nr; i++)
		str_addf(&s, "%s\"%016llx.%llu\"", i ? "," : "",
			 (unsigned long long)a->revoked.at[i].number,
			 (unsigned long long)a->revoked.at[i].end_s);
	str_add(&s, "]}");
	return str_take(&s);
}

static void revoke_for_good(struct auth *a, const struct ticket *t, u64 now_s)
{
	auth_revoke(a, t, now_s);
	auto_free char *json = revoked_json(a);
	int err = store_set_setting(a->store, REVOKED_KEY, json);
	if (err)
		log_warn("a logout is not kept, and ends with a restart: %s", strerror(-err));
}

enum role auth_take_code(struct auth *a, const char *code, u64 now_s)
{
	struct ticket t;
	enum role role = role_of(a, a->code_keys, code, now_s, &t);

	if (role != ROLE_NONE)
		revoke_for_good(a, &t, now_s);
	return role;
}

void auth_log_out(struct auth *a, const struct request *q)
{
	const char *text = cookie_of(a, q);
	u64 now_s = time_wall_ns() / NS_PER_SEC;
	struct ticket t;

	if (!text || !auth_ticket_role(a, text, now_s, &t))
		return;
	revoke_for_good(a, &t, now_s);
}

void auth_recall(struct auth *a, struct store *store)
{
	a->store = store;
	auto_free char *text = store_setting(store, REVOKED_KEY);
	json_t *o = text ? json_loads(text, 0, NULL) : NULL, *t;
	json_int_t until = json_integer_value(json_object_get(o, "until_s"));
	unsigned long long number, end_s;
	size_t i;

	if (until > 0)
		a->revoked_until_s = (u64)until;
	json_array_foreach(json_object_get(o, "tickets"), i, t)
	{
		const char *one = json_string_value(t) ?: "";
		if (sscanf(one, "%16llx.%20llu", &number, &end_s) == 2)
			vec_push(&a->revoked, (struct ticket){ number, end_s });
	}
	json_decref(o);
	forget_revoked(a, time_wall_ns() / NS_PER_SEC);
}

/* Whether a list "a.example:7070,b" has the host; an entry without a port stands for any port. */
static bool is_listed(const char *list, const char *host, size_t name_len)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		bool has_port = memchr(list, ':', len) && list[len - 1] != ']';
		size_t compared = has_port ? strlen(host) : name_len;
		if (len && len == compared && !strncasecmp(list, host, len))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* The length of a host name without its port; 0 if the text is no host. */
static size_t host_name_len(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":");

	if (!end)
		return 0;
	end += *end == ']';
	bool is_whole = !*end || (*end == ':' && end[1] && !end[1 + strspn(end + 1, "0123456789")]);
	return is_whole ? (size_t)(end - host) : 0;
}

bool auth_host_allowed(const struct site *site, const char *host, const char *local)
{
	size_t len = host_name_len(host);
	char name[256];
	struct in_addr v4;

	if (!len || len >= sizeof(name))
		return false;
	if (is_listed(site->allowed_hosts, host, len))
		return true;
	bool is_v6 = *host == '[';
	memcpy(name, host + is_v6, len - 2 * is_v6);
	name[len - 2 * is_v6] = '\0';
	if (is_v6 ? !strcmp(name, "::1") : !strcasecmp(name, "localhost"))
		return true;
	if (!is_v6 && inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127)
		return true;
	return *local && !strcasecmp(name, local);
}

/* An end of the connection: the machine's (getsockname) or the client's; "" if it has no address.
 */
static void end_address(const struct request *q, int (*end)(int, struct sockaddr *, socklen_t *),
			char out[INET6_ADDRSTRLEN])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);
	const void *bytes = NULL;

	*out = '\0';
	if (!info || end(info->connect_fd, (struct sockaddr *)&at, &len))
		return;
	if (at.ss_family == AF_INET)
		bytes = &((struct sockaddr_in *)&at)->sin_addr;
	else if (at.ss_family == AF_INET6)
		bytes = &((struct sockaddr_in6 *)&at)->sin6_addr;
	if (!bytes)
		return;
	inet_ntop(at.ss_family, bytes, out, INET6_ADDRSTRLEN);
	if (!strncmp(out, "::ffff:", 7) && strchr(out, '.'))
		memmove(out, out + 7, strlen(out + 7) + 1);
}

/* "log in from 10.1.2.3" */
static void note_from(const struct auth *a, const struct request *q, const char *who,
		      const char *doing)
{
	char from[INET6_ADDRSTRLEN];

	end_address(q, getpeername, from);
	auto_free char *what = xasprintf("%s from %s", doing, *from ? from : "the unix socket");
	store_audit(a->store, who, what);
}

void auth_note_login(const struct auth *a, const struct request *q, enum role role)
{
	note_from(a, q, role == ROLE_OPERATOR ? "operator" : "viewer", "log in");
}

void auth_note_failure(struct auth *a, const struct request *q)
{
	u64 now = time_mono_ns();

	if (!a->failures_ns || now - a->failures_ns > MINUTE_NS) {
		a->failures_ns = now;
		a->nr_failures = 0;
	}
	if (++a->nr_failures < FAILURES_MAX)
		note_from(a, q, "nobody", "failed login");
	else if (a->nr_failures == FAILURES_MAX)
		note_from(a, q, "nobody", "failed logins, of which a minute lists no more,");
}

static bool is_host_allowed(const struct auth *a, const struct request *q)
{
	const char *host = request_header(q, "Host");
	char local[INET6_ADDRSTRLEN];

	end_address(q, getsockname, local);
	return q->route->is_any_host || (host && auth_host_allowed(a->site, host, local));
}

/* A page of another site may not send changes, with whatever the browser adds to them. */
static bool is_origin_allowed(const struct auth *a, const struct request *q)
{
	const char *origin = request_header(q, "Origin"), *host = request_header(q, "Host");

	if (!origin)
		return true;
	/*
	 * "null" comes from our own login form, because of its `no-referrer`. The form sends a
	 * token and relies on no cookie.
	 */
	if (!strcmp(origin, "null"))
		return q->route->body == BODY_FORM;
	const char *authority = strstr(origin, "://");
	if (!authority || (strncmp(origin, "http://", 7) && strncmp(origin, "https://", 8)))
		return false;
	authority += 3;
	size_t len = host_name_len(authority);
	return len && ((host && !strcasecmp(authority, host)) ||
		       is_listed(a->site->allowed_hosts, authority, len));
}

static enum role basic_role(const struct auth *a, const struct request *q)
{
	char *password = NULL;
	char *name = MHD_basic_auth_get_username_password(q->connection, &password);
	enum role role = password ? auth_token_role(a, password) : ROLE_NONE;

	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(password);
	MHD_free(name);
	return role;
}

/* *by_cookie: the browser adds the login by itself, so a page of another site might use it. */
static enum role find_role(const struct auth *a, const struct request *q, bool *by_cookie)
{
	const char *header = request_header(q, "Authorization"), *text = cookie_of(a, q);
	struct ticket t;

	*by_cookie = false;
	if (header && !strncasecmp(header, "Bearer ", 7))
		return auth_token_role(a, header + 7 + strspn(header + 7, " "));
	if (header && q->route->has_basic && !strncasecmp(header, "Basic ", 6))
		return basic_role(a, q);
	*by_cookie = true;
	return text ? auth_ticket_role(a, text, time_wall_ns() / NS_PER_SEC, &t) : ROLE_NONE;
}

/* A profile or a range is opened after the login; other pages begin at the home page. */
static char *login_path(const struct auth *a, const struct request *q)
{
	auto_str struct str query = { 0 };
	struct str login = { 0 };

	str_addf(&login, "%s/login", a->site->prefix);
	if (!strcmp(q->route->pattern, "p/ID"))
		str_addf(&login, "?to=p/%llu", (unsigned long long)q->id);
	else if (!strcmp(q->route->pattern, "s/FROM-TO"))
		str_addf(&login, "?to=s/%llu-%llu", (unsigned long long)q->from_ms,
			 (unsigned long long)q->to_ms);
	else
		return str_take(&login);
	request_add_query(q, &query);
	address_add(&login, query.at ?: "");
	return str_take(&login);
}

static void refuse_login(struct auth *a, struct request *q)
{
	auto_free char *login = login_path(a, q);

	if (request_header(q, "Authorization"))
		auth_note_failure(a, q);
	if (q->route->is_page)
		reply_redirect(q, login, NULL);
	else
		reply_error(q, ERROR_LOGIN_REQUIRED, NULL,
			    "A token is needed: log in, or send the header \"Authorization: Bearer "
			    "TOKEN\".");
}

bool auth_check(struct auth *a, struct request *q)
{
	bool is_post = !strcmp(q->route->method, "POST");
	bool is_change = is_post || q->route->is_change, by_cookie;

	q->role = find_role(a, q, &by_cookie);
	if (!is_host_allowed(a, q))
		reply_error(q, ERROR_FORBIDDEN, NULL,
			    "This server does not answer to the name in the Host header.");
	else if (is_change && !is_origin_allowed(a, q))
		reply_error(q, ERROR_FORBIDDEN, NULL,
			    "A page of another site may not change anything here.");
	else if (q->route->role == ROLE_NONE)
		return true;
	else if (q->role == ROLE_NONE)
		refuse_login(a, q);
	else if (q->role < q->route->role)
		reply_error(q, ERROR_FORBIDDEN, NULL, "This needs the token of the operator.");
	else if (is_change && by_cookie && !request_header(q, "X-Sysflame"))
		reply_error(q, ERROR_FORBIDDEN, NULL,
			    "A change needs the header \"X-Sysflame: 1\".");
	else
		return true;
	return false;
}
