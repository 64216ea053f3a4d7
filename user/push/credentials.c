/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials for receivers. */
#include "push/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"

#define FILE_MAX (64u << 10)
#define CA_MAX   (1u << 20)

struct parse {
	const struct receiver *receivers;
	u32 nr;
	struct credentials *out;
	bool is_for[RECEIVERS_MAX]; /* the section that is read */
	bool has_section;
	struct str *why;
};

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void credentials_wipe(struct credentials *c)
{
	wipe(c->bearer);
	wipe(c->basic);
	for (u32 i = 0; i < c->nr_headers; i++)
		wipe(c->headers[i]);
	free(c->ca);
	*c = (struct credentials){ 0 };
}

/* The origin must be the same: "https://host" is not the begin of "https://host.evil". */
static bool is_section_of(const char *address, const struct receiver *r)
{
	size_t len = strlen(address);

	while (len && address[len - 1] == '/')
		len--;
	return len >= r->origin_len && !strncmp(address, r->url, len) &&
	       (!r->url[len] || r->url[len] == '/');
}

static int begin_section(struct parse *p, char *line)
{
	size_t len = strlen(line);

	if (line[len - 1] != ']') {
		str_add(p->why, "a section is [ADDRESS]");
		return -EINVAL;
	}
	line[len - 1] = '\0';
	p->has_section = true;
	for (u32 i = 0; i < p->nr; i++)
		p->is_for[i] = is_section_of(line + 1, &p->receivers[i]);
	return 0;
}

static int set_once(struct parse *p, char **field, const char *key, const char *value)
{
	if (*field) {
		str_addf(p->why, "%s: there are two for one receiver", key);
		return -EINVAL;
	}
	*field = xstrdup(value);
	return 0;
}

static int add_header(struct parse *p, struct credentials *c, const char *value)
{
	const char *colon = strchr(value, ':');

	if (!colon || colon == value || strcspn(value, " \t") < (size_t)(colon - value)) {
		str_add(p->why, "header: takes `NAME: VALUE`");
		return -EINVAL;
	}
	if (c->nr_headers == CREDENTIAL_HEADERS) {
		str_add(p->why, "there are more than 8 headers for one receiver");
		return -EINVAL;
	}
	c->headers[c->nr_headers++] = xstrdup(value);
	return 0;
}

static int set_ca(struct parse *p, struct credentials *c, const char *path)
{
	auto_free char *pem = NULL;
	size_t len;
	int err = file_read(path, CA_MAX, &pem, &len);

	if (err) {
		str_addf(p->why, "ca: %.200s: %s", path, strerror(-err));
		return err;
	}
	if (!strstr(pem, "-----BEGIN CERTIFICATE-----")) {
		str_addf(p->why, "ca: %.200s has no certificate in PEM", path);
		return -EINVAL;
	}
	return set_once(p, &c->ca, "ca", pem);
}

static int set(struct parse *p, struct credentials *c, const char *key, const char *value)
{
	if (!strcmp(key, "bearer") || !strcmp(key, "basic")) {
		if (c->bearer || c->basic) {
			str_add(p->why, "there are two of bearer and basic for one receiver");
			return -EINVAL;
		}
		return set_once(p, !strcmp(key, "basic") ? &c->basic : &c->bearer, key, value);
	}
	if (!strcmp(key, "header"))
		return add_header(p, c, value);
	if (!strcmp(key, "ca"))
		return set_ca(p, c, value);
	str_add(p->why, "there are bearer, basic, header and ca");
	return -EINVAL;
}

/* Never shows a part of the line in an error: it may be a secret. */
static int parse_line(void *ctx, char *line, struct str *why)
{
	struct parse *p = ctx;

	p->why = why;
	line = settings_trim(line);
	if (!*line || *line == '#')
		return 0;
	if (!utf8_is_clean(line, FILE_MAX)) {
		str_add(p->why, "it has a control character");
		return -EINVAL;
	}
	if (*line == '[')
		return begin_section(p, line);
	char *equals = strchr(line, '=');
	if (!p->has_section || !equals) {
		str_add(p->why, p->has_section ? "a line is `key = value`"
					       : "a section [ADDRESS] must come first");
		return -EINVAL;
	}
	*equals = '\0';
	const char *key = settings_trim(line), *value = settings_trim(equals + 1);
	if (!*value) {
		str_add(p->why, "the value is missing");
		return -EINVAL;
	}
	for (u32 i = 0; i < p->nr; i++) {
		int err = p->is_for[i] ? set(p, &p->out[i], key, value) : 0;
		if (err)
			return err;
	}
	return 0;
}

int credentials_read(const char *path, const struct receiver *receivers, u32 nr,
		     struct credentials *out, struct str *why)
{
	struct parse p = { .receivers = receivers, .nr = nr, .out = out };
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	ssize_t got = -1;

	if (fd < 0) {
		str_add(why, strerror(errno));
		return -errno;
	}
	int err = settings_check_owner(fd, 037, "others than root and its group may read it", why);
	if (err)
		return err;
	if (!fstat(fd, &st) && st.st_size <= (off_t)FILE_MAX) {
		text = xcalloc(1, FILE_MAX + 1);
		got = read(fd, text, FILE_MAX);
	}
	if (got < 0) {
		str_add(why, "it cannot be read, or has more than 64 KB");
		err = -EIO;
	}
	err = err ?: settings_each_line(text, parse_line, &p, why);
	if (text)
		explicit_bzero(text, FILE_MAX);
	free(text);
	for (u32 i = 0; err && i < nr; i++)
		credentials_wipe(&out[i]);
	return err;
}
