/* SPDX-License-Identifier: Apache-2.0 */
/* The file of nodes of a fleet without NATS. Part of fleet/http/http_fleet.h. */
#include "fleet/http/http_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "fleet/wire/selector.h"

#define FILE_MAX  (256u << 10)
#define CA_MAX    (1u << 20)
#define TOKEN_MAX 256
#define URL_MAX   255

static void entry_wipe(struct http_entry *e)
{
	if (e->token)
		explicit_bzero(e->token, strlen(e->token));
	free(e->token);
	free(e->url);
	free(e->ca);
	free(e->socket);
	*e = (struct http_entry){ 0 };
}

void http_entries_wipe(struct http_entries *e)
{
	vec_each(one, &e->all)
		entry_wipe(one);
	vec_fini(&e->all);
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

/* "http://" or "https://", then a host and perhaps a port; no user, path or query. */
static int take_url(const char *text, struct http_entry *e, struct str *why)
{
	size_t scheme = !strncmp(text, "https://", 8) ? 8 : !strncmp(text, "http://", 7) ? 7 : 0;
	size_t len = strlen(text);

	while (len > scheme && text[len - 1] == '/')
		len--;
	if (!scheme || len == scheme || len > URL_MAX || !is_printable(text) ||
	    strcspn(text + scheme, "@/?#\\\"") < len - scheme) {
		str_add(why, "expected http://HOST:PORT or https://HOST:PORT, without a user, "
			     "path or query");
		return -EINVAL;
	}
	e->url = xstrndup(text, len);
	return 0;
}

static int take_token(const char *path, struct http_entry *e, struct str *why)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[TOKEN_MAX + 1] = "";
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;
		str_addf(why, "%s: %s", path, strerror(-err));
		return err;
	}
	if (!S_ISREG(st.st_mode) || st.st_mode & 077) {
		str_addf(why, "%s: a token must be a file that only its owner may read", path);
		return -EPERM;
	}
	ssize_t nr = read(fd, text, TOKEN_MAX);
	text[nr > 0 ? nr : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	bool is_token = *text && is_printable(text);
	if (is_token)
		e->token = xstrdup(text);
	else
		str_addf(why, "%s: holds no token", path);
	explicit_bzero(text, sizeof(text));
	return is_token ? 0 : -EINVAL;
}

static int take_ca(const char *path, struct http_entry *e, struct str *why)
{
	size_t len;
	int err = file_read(path, CA_MAX, &e->ca, &len);

	if (err)
		str_addf(why, "%s: %s", path, strerror(-err));
	return err;
}

static int take_name(const char *name, struct http_entry *e, struct str *why)
{
	if (!node_name_is_valid(name)) {
		str_add(why, "node=: letters, digits, - and _, at most 63 of them");
		return -EINVAL;
	}
	copy_text(e->name, sizeof(e->name), name);
	return 0;
}

static int take_pair(const char *pair, struct http_entry *e, struct str *why)
{
	if (!strncmp(pair, "node=", 5))
		return take_name(pair + 5, e, why);
	if (!strncmp(pair, "ca=", 3))
		return e->ca ? -EINVAL : take_ca(pair + 3, e, why);
	int err = labels_add(e->labels, sizeof(e->labels), pair);
	if (err)
		str_addf(why, "%s: %s", pair,
			 err == -E2BIG    ? "these are too many labels"
			 : err == -EEXIST ? "this label is there twice"
					  : "is no label KEY=VALUE");
	return err;
}

/* "https://a.example:4318" is a-example, and with `has_port` a-example-4318. */
static void name_by_host(struct http_entry *e, bool has_port)
{
	const char *host = strstr(e->url, "://") + 3, *colon = strrchr(host, ':');
	size_t len =
		colon && !strchr(colon, ']') && !has_port ? (size_t)(colon - host) : strlen(host);

	snprintf(e->name, sizeof(e->name), "%.*s", (int)len, host);
	for (char *c = e->name; *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *c))
			*c = '-';
}

static bool is_taken(const struct http_entries *all, const char *name)
{
	vec_each(e, &all->all)
		if (!strcmp(e->name, name))
			return true;
	return false;
}

static int choose_name(const struct http_entries *all, struct http_entry *e, struct str *why)
{
	if (!*e->name) {
		name_by_host(e, false);
		if (is_taken(all, e->name))
			name_by_host(e, true);
	}
	if (!is_taken(all, e->name))
		return 0;
	str_addf(why, "there is another node %s; node=NAME names it", e->name);
	return -EEXIST;
}

static int take_line(char *line, struct http_entries *all, struct str *why)
{
	struct http_entry e = { 0 };
	char *rest = NULL, *url = strtok_r(line, " \t\r", &rest);
	char *token = url && *url != '#' ? strtok_r(NULL, " \t\r", &rest) : NULL, *pair;

	if (!url || *url == '#')
		return 0;
	if (!token) {
		str_add(why, "expected a URL and the file of a token");
		return -EINVAL;
	}
	if (all->all.nr >= HTTP_NODES_MAX) {
		str_addf(why, "there are more than %d nodes: that takes NATS", HTTP_NODES_MAX);
		return -E2BIG;
	}
	int err = take_url(url, &e, why) ?: take_token(token, &e, why);
	while (!err && (pair = strtok_r(NULL, " \t\r", &rest)) && *pair != '#')
		err = take_pair(pair, &e, why);
	err = err ?: choose_name(all, &e, why);
	if (err)
		entry_wipe(&e);
	else
		vec_push(&all->all, e);
	return err;
}

int http_file_read(const char *path, struct http_entries *out, struct str *why)
{
	auto_free char *text = NULL;
	struct http_entries all = { 0 };
	size_t len;
	int err = file_read(path, FILE_MAX, &text, &len);

	if (err) {
		str_add(why, strerror(-err));
		return err;
	}
	char *rest = text, *line;
	for (u32 nr = 1; !err && (line = strsep(&rest, "\n")); nr++) {
		auto_str struct str fault = { 0 };
		err = take_line(line, &all, &fault);
		if (err)
			str_addf(why, "line %u: %s", nr, fault.at ?: "is malformed");
	}
	if (!err && !all.all.nr) {
		str_add(why, "it names no node");
		err = -EINVAL;
	}
	if (err)
		http_entries_wipe(&all);
	else
		*out = all;
	return err;
}
