/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a tracepoint's record, by its file `format` in tracefs. */
#include "capture/events/filter_fields.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/near.h"

/* The kernel writes the address of the registers over the first fields before BPF programs run. */
#define OVERWRITTEN 8

/* A system call's record has its number and six arguments for BPF programs, and no more. */
#define SYSCALL_BYTES 64

/* Whether the type has an array of characters, or a pointer to them (kernel/trace/trace_events.c).
 */
static enum filter_source source_of(const char *type, const char *array)
{
	bool is_char = strstr(type, "char");

	if (!is_char)
		return FILTER_NUMBER;
	if (!strncmp(type, "__data_loc", strlen("__data_loc")))
		return FILTER_LOC;
	if (!strncmp(type, "__rel_loc", strlen("__rel_loc")))
		return FILTER_REL_LOC;
	if (array)
		return FILTER_ARRAY;
	return !strcmp(type, "char *") || !strcmp(type, "const char *") ? FILTER_POINTER
									: FILTER_NUMBER;
}

/*
 * Splits a declaration such as "const char * name" or "char comm[16]". `type` keeps the type.
 * Returns the name, or NULL if the declaration has no name.
 */
static char *split_name(char *type, char **array)
{
	char *end = type + strlen(type), *name;

	*array = strchr(type, '[');
	if (*array && (*array)[1] == ']') /* "__data_loc char[] name" */
		*array = NULL;
	else if (*array)
		end = *array;
	for (name = end; name > type && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
		name--;
	if (name == end || name == type)
		return NULL;
	*end = '\0';
	for (char *c = name; c > type && c[-1] == ' ';)
		*--c = '\0';
	return name;
}

/* Whether BPF programs can read the field. */
static bool is_readable(const struct filter_field *f, bool is_syscall)
{
	if (f->offset < OVERWRITTEN)
		return f->source == FILTER_TID;
	return !is_syscall || (f->source != FILTER_LOC && f->source != FILTER_REL_LOC &&
			       f->offset + f->size <= SYSCALL_BYTES);
}

static bool has_number_size(u16 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void add_line(char *line, bool is_syscall, struct filter_fields *out)
{
	unsigned offset, size, is_signed;
	char *type = strstr(line, "field:"), *array, *name;
	char *end = type ? strchr(type, ';') : NULL;

	if (!end ||
	    sscanf(end, "; offset:%u; size:%u; signed:%u;", &offset, &size, &is_signed) != 3 ||
	    offset > UINT16_MAX || size > UINT16_MAX)
		return;
	*end = '\0';
	type += strlen("field:");
	name = split_name(type, &array);
	if (!name)
		return;
	struct filter_field f = {
		.offset = (u16)offset,
		.size = (u16)size,
		.is_signed = is_signed,
		.source = source_of(type, array),
	};
	if (!strcmp(name, "common_pid"))
		f.source = FILTER_TID;
	f.is_text = f.source != FILTER_NUMBER && f.source != FILTER_TID;
	f.is_array = !f.is_text && !has_number_size(f.size);
	if (!is_readable(&f, is_syscall))
		return;
	f.name = xstrdup(name);
	vec_push(&out->list, f);
}

static void add_own(struct filter_fields *out, const char *name, enum filter_source source)
{
	vec_push(&out->list, (struct filter_field){ .name = xstrdup(name),
						    .source = source,
						    .is_text = source == FILTER_COMM,
						    .is_signed = source == FILTER_CPU,
						    .size = 4 });
}

void filter_fields_parse(const char *format, bool is_syscall, struct filter_fields *out)
{
	auto_free char *copy = xstrdup(format);

	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));)
		add_line(line, is_syscall, out);
	add_own(out, "CPU", FILTER_CPU);
	add_own(out, "cpu", FILTER_CPU);
	add_own(out, "COMM", FILTER_COMM);
	add_own(out, "comm", FILTER_COMM);
}

void filter_fields_fini(struct filter_fields *all)
{
	vec_each(f, &all->list)
		free(f->name);
	vec_fini(&all->list);
}

const struct filter_field *filter_fields_find(const struct filter_fields *all, const char *name,
					      size_t len)
{
	vec_each(f, &all->list)
		if (strlen(f->name) == len && !strncmp(f->name, name, len))
			return f;
	return NULL;
}

void filter_fields_suggest(const struct filter_fields *all, const char *name, struct str *why)
{
	struct near near = { .wanted = name, .max = 3 };

	vec_each(f, &all->list)
		near_consider(&near, f->name);
	for (size_t i = 0; i < near.max && near.names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near.names[i]);
	near_fini(&near);
}
