/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the recorder's configuration. */
#include "daemon/recorder/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "daemon/recorder/redaction.h"

#define CONF_BYTES_MAX 65536
#define BLANKS         " \t\r"

struct conf conf_default(void)
{
	return (struct conf){ .max_hz = 999, .max_duration_s = 3600, .max_recordings = 4 };
}

struct dear_event {
	const char *name;   /* in `allow` */
	const char *prefix; /* of the event in -e */
	const char *why_not;
};

static const struct dear_event dear[NR_CONF_EVENTS] = {
	[CONF_UPROBE] = { "uprobe", "uprobe:", "recorder.conf lacks `allow = uprobe`" },
	[CONF_USDT] = { "usdt", "usdt:", "recorder.conf lacks `allow = usdt`" },
	[CONF_JAVA] = { "java", "java:", "recorder.conf lacks `allow = java`" },
	[CONF_TRACEPOINT] = { "tracepoint", NULL, "recorder.conf lacks `allow = tracepoint`" },
	[CONF_NATIVEMEM] = { "nativemem", "nativemem", "recorder.conf lacks `allow = nativemem`" },
};

struct number_key {
	const char *key;
	size_t offset;
	u32 least, most;
};

static const struct number_key numbers[] = {
	{ "max_hz", offsetof(struct conf, max_hz), 1, 10000 },
	{ "max_duration", offsetof(struct conf, max_duration_s), 1, 7 * 24 * 3600 },
	{ "max_recordings", offsetof(struct conf, max_recordings), 1, 16 },
};

static int parse_allowed(char *names, struct conf *c, struct str *why)
{
	char *rest = NULL;

	for (char *name = strtok_r(names, "," BLANKS, &rest); name;
	     name = strtok_r(NULL, "," BLANKS, &rest)) {
		int i = 0;
		while (i < NR_CONF_EVENTS && strcmp(dear[i].name, name))
			i++;
		if (i == NR_CONF_EVENTS) {
			str_addf(why,
				 "allow: there is no '%.32s'; it takes uprobe, usdt, java, "
				 "tracepoint and nativemem",
				 name);
			return -EINVAL;
		}
		c->allows[i] = true;
	}
	return 0;
}

static int add_redact(const char *pattern, struct conf *c, struct str *why)
{
	auto_str struct str fault = { 0 };
	size_t len = strlen(c->redact);

	if (redaction_check(pattern, &fault)) {
		str_addf(why, "redact: %s", fault.at);
		return -EINVAL;
	}
	if (len + strlen(pattern) + 2 > sizeof(c->redact)) {
		str_add(why, "redact: all patterns have 4095 bytes at most");
		return -EINVAL;
	}
	snprintf(c->redact + len, sizeof(c->redact) - len, "%s\n", pattern);
	return 0;
}

static int parse_number(const char *key, const char *value, struct conf *c, struct str *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *end;
		if (strcmp(numbers[i].key, key))
			continue;
		unsigned long number = strtoul(value, &end, 10);
		if (*value < '0' || *value > '9' || *end || number < numbers[i].least ||
		    number > numbers[i].most) {
			str_addf(why, "%s: '%.32s' is no number from %u to %u", key, value,
				 numbers[i].least, numbers[i].most);
			return -EINVAL;
		}
		*(u32 *)((char *)c + numbers[i].offset) = (u32)number;
		return 0;
	}
	str_addf(why,
		 "'%.32s' is unknown; there are max_hz, max_duration, max_recordings, allow and "
		 "redact",
		 key);
	return -EINVAL;
}

static int parse_trigger(const char *value, struct conf *c, struct str *why)
{
	auto_str struct str fault = { 0 };
	struct trigger_rule r;

	if (c->nr_triggers == TRIGGERS_MAX) {
		str_addf(why, "there are more than %d triggers", TRIGGERS_MAX);
		return -EINVAL;
	}
	int err = trigger_rule_parse(value, &r, &fault) ?: conf_check_events(c, r.events, &fault);
	if (err) {
		str_addf(why, "trigger: %s", fault.at);
		return -EINVAL;
	}
	for (u32 i = 0; i < c->nr_triggers; i++)
		if (!strcmp(c->triggers[i].name, r.name)) {
			str_addf(why, "trigger: there are two of the name %s", r.name);
			return -EINVAL;
		}
	c->triggers[c->nr_triggers++] = r;
	return 0;
}

static int parse_line(void *ctx, char *line, struct str *why)
{
	struct conf *c = ctx;

	line[strcspn(line, "#")] = '\0';
	line = settings_trim(line);
	if (!*line)
		return 0;
	char *equals = strchr(line, '=');
	if (!equals) {
		str_addf(why, "'%.32s': a line is `key = value`", line);
		return -EINVAL;
	}
	*equals = '\0';
	char *key = settings_trim(line), *value = settings_trim(equals + 1);
	if (!strcmp(key, "redact"))
		return add_redact(value, c, why);
	if (!strcmp(key, "trigger"))
		return parse_trigger(value, c, why);
	return strcmp(key, "allow") ? parse_number(key, value, c, why)
				    : parse_allowed(value, c, why);
}

int conf_parse(const char *text, struct conf *out, struct str *why)
{
	auto_free char *own = xstrdup(text);
	struct conf c = conf_default();
	int err = settings_each_line(own, parse_line, &c, why);

	if (err)
		return err;
	*out = c;
	return 0;
}

int conf_read(const char *path, struct conf *out, struct str *why)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[CONF_BYTES_MAX];
	size_t len = 0;

	if (fd < 0) {
		str_add(why, strerror(errno));
		return -errno;
	}
	int err = settings_check_owner(fd, S_IWGRP | S_IWOTH, "others than root may write it", why);
	if (err)
		return err;
	for (ssize_t n = 1; n > 0 && len<sizeof(text) - 1; len += n> 0 ? (size_t)n : 0)
		n = read(fd, text + len, sizeof(text) - 1 - len);
	text[len] = '\0';
	return conf_parse(text, out, why);
}

/* Tracepoints are the names with a colon that no other kind takes. */
static enum conf_event kind_of(const char *event, size_t len)
{
	for (int i = 0; i < NR_CONF_EVENTS; i++)
		if (dear[i].prefix && len >= strlen(dear[i].prefix) &&
		    !strncmp(event, dear[i].prefix, strlen(dear[i].prefix)))
			return (enum conf_event)i;
	return memchr(event, ':', len) ? CONF_TRACEPOINT : NR_CONF_EVENTS;
}

static const char *why_not(const struct conf *c, const char *event, size_t len)
{
	enum conf_event kind = kind_of(event, len);

	return kind == NR_CONF_EVENTS || c->allows[kind] ? NULL : dear[kind].why_not;
}

const char *conf_why_not(const struct conf *c, const char *event)
{
	return why_not(c, event, strlen(event));
}

int conf_check_events(const struct conf *c, const char *events, struct str *why)
{
	for (const char *at = events;; at++) {
		size_t len = strcspn(at, ",");
		const char *fault = why_not(c, at, len);
		if (fault) {
			str_addf(why, "the event %.*s is not allowed: %s", (int)len, at, fault);
			return -EPERM;
		}
		at += len;
		if (!*at)
			return 0;
	}
}
