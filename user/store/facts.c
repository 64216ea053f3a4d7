/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a profile in a file of lines: KEY LENGTH, then so many bytes. Part of
 * store/store_state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store_state.h"

#define EXTENSION ".facts"
#define BYTES_MAX (64u << 10)
#define TEXT_MAX  8192

static void name_of(const char *file, char name[FILE_NAME_BYTES + sizeof(EXTENSION)])
{
	snprintf(name, FILE_NAME_BYTES + sizeof(EXTENSION), "%s" EXTENSION, file);
}

bool facts_file_parse(const char *name, char file[])
{
	size_t len = strlen(name), end = sizeof(EXTENSION) - 1;

	if (len <= end || len - end >= FILE_NAME_BYTES || strcmp(name + len - end, EXTENSION))
		return false;
	memcpy(file, name, len - end);
	file[len - end] = '\0';
	return true;
}

static void add(struct str *out, const char *key, const char *text)
{
	str_addf(out, "%s %zu\n%s\n", key, strlen(text), text);
}

static void add_number(struct str *out, const char *key, u64 value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	add(out, key, text);
}

/* Lists the fields of a file, texts and numbers, with their keys. */
static void list_fields(struct stored *s, const char *const texts[], char **text_at[],
			const char *const numbers[], u64 *number_at[])
{
	char **own_texts[] = { &s->name, &s->events, &s->target, &s->unit, &s->error, &s->source };
	u64 *own_numbers[] = { &s->start_ns, &s->duration_ns, &s->samples,
			       &s->lost,     &s->total,       &s->rate_hz };

	for (size_t i = 0; texts[i]; i++)
		text_at[i] = own_texts[i];
	for (size_t i = 0; numbers[i]; i++)
		number_at[i] = own_numbers[i];
}

static const char *const text_keys[] = {
	"name", "events", "target", "unit", "error", "source", NULL
};
static const char *const number_keys[] = { "start_ns", "duration_ns", "samples", "lost",
					   "total",    "rate_hz",     NULL };
#define NR_TEXTS   (ARRAY_SIZE(text_keys) - 1)
#define NR_NUMBERS (ARRAY_SIZE(number_keys) - 1)

int facts_write(struct store *s, const struct stored *facts, const char *file)
{
	struct stored own = *facts;
	char **texts[NR_TEXTS];
	u64 *numbers[NR_NUMBERS];
	auto_str struct str out = { 0 };
	char name[FILE_NAME_BYTES + sizeof(EXTENSION)];

	list_fields(&own, text_keys, texts, number_keys, numbers);
	for (size_t i = 0; i < NR_TEXTS; i++)
		add(&out, text_keys[i], *texts[i] ?: "");
	for (size_t i = 0; i < NR_NUMBERS; i++)
		add_number(&out, number_keys[i], *numbers[i]);
	add_number(&out, "state", facts->state);
	add_number(&out, "pinned", facts->pinned);
	name_of(file, name);
	auto_close int fd = openat(s->profiles, name,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ssize_t done = write(fd, out.at, out.len);
	return done == (ssize_t)out.len ? 0 : done < 0 ? -errno : -ENOSPC;
}

static u64 number(const char *text)
{
	u64 value = strtoull(text, NULL, 10);

	return value > INT64_MAX ? 0 : value;
}

static void take_field(struct stored *out, const char *key, char *text)
{
	char **texts[NR_TEXTS];
	u64 *numbers[NR_NUMBERS];

	list_fields(out, text_keys, texts, number_keys, numbers);
	for (size_t i = 0; i < NR_TEXTS; i++)
		if (!strcmp(key, text_keys[i])) {
			auto_str struct str clean = { 0 };
			utf8_clean(&clean, text, TEXT_MAX);
			free(*texts[i]);
			*texts[i] = str_take(&clean);
		}
	for (size_t i = 0; i < NR_NUMBERS; i++)
		if (!strcmp(key, number_keys[i]))
			*numbers[i] = number(text);
	if (!strcmp(key, "pinned"))
		out->pinned = number(text) == 1;
	if (!strcmp(key, "state") && number(text) <= STORED_FAILED)
		out->state = (enum stored_state)number(text);
}

void facts_read(struct store *s, const char *file, struct stored *out)
{
	char name[FILE_NAME_BYTES + sizeof(EXTENSION)], key[16];
	auto_free char *bytes = NULL;
	size_t len, value_len;
	int head;

	name_of(file, name);
	auto_close int fd = file_get(s->profiles, name);
	if (fd < 0 || file_load(fd, BYTES_MAX, &bytes, &len))
		return;
	bytes[len] = '\0';
	for (char *at = bytes; sscanf(at, "%15[a-z_] %zu%n", key, &value_len, &head) == 2;) {
		char *value = at + head;
		size_t left = (size_t)(bytes + len - value);
		if (*value != '\n' || left < 2 || value_len > left - 2)
			return;
		value[1 + value_len] = '\0';
		take_field(out, key, value + 1);
		at = value + value_len + 2;
	}
}

void facts_remove(struct store *s, const char *file)
{
	char name[FILE_NAME_BYTES + sizeof(EXTENSION)];

	name_of(file, name);
	unlinkat(s->profiles, name, 0);
}
