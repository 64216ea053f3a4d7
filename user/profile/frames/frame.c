/* SPDX-License-Identifier: Apache-2.0 */
/* Interned frames. */
#include "profile/frames/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"

#define TEXTS_HEAP_BYTES 48 /* three texts: their ends, and what malloc adds */

struct frames {
	VEC(struct frame) all; /* by id; name NULL: free */
	VEC(frame_id) free_ids;
	size_t text_bytes;
	struct dict by_hash; /* hash of (kind, name, module) -> id + 1; equal hashes probe on */
	bool keeps_lines, keeps_signatures;
};

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
		[FRAME_UNKNOWN] = "unknown",
		[FRAME_KERNEL] = "kernel",
		[FRAME_NATIVE] = "native",
		[FRAME_JVM] = "jvm",
		[FRAME_INTERPRETED] = "interpreted",
		[FRAME_C1] = "c1",
		[FRAME_C2] = "c2",
		[FRAME_INLINED] = "inlined",
		[FRAME_GROUP] = "group",
		[FRAME_STUB] = "stub",
		[FRAME_CLASS] = "class",
	};
	return kind < NR_FRAME_KINDS ? names[kind] : names[FRAME_UNKNOWN];
}

struct frames *frames_new(void)
{
	return xcalloc(1, sizeof(struct frames));
}

static size_t bytes_of(const struct frame *f)
{
	return strlen(f->name) + strlen(f->module) + strlen(f->file) + TEXTS_HEAP_BYTES;
}

/* Also takes a frame that is free already. */
static void free_frame(struct frames *all, struct frame *f)
{
	if (f->name)
		all->text_bytes -= bytes_of(f);
	free((char *)f->name);
	free((char *)f->module);
	free((char *)f->file);
	*f = (struct frame){ 0 };
}

void frames_free(struct frames *all)
{
	if (!all)
		return;
	vec_each(f, &all->all)
		free_frame(all, f);
	vec_fini(&all->all);
	vec_fini(&all->free_ids);
	dict_fini(&all->by_hash);
	free(all);
}

void frames_swap(struct frames *a, struct frames *b)
{
	struct frames old = *a;

	*a = *b;
	*b = old;
}

static u64 hash_text(u64 hash, const char *text)
{
	return hash_u64(hash ^ hash_keyed(text, strlen(text)));
}

static u64 key_of(const struct frame *f)
{
	return hash_text(hash_text(f->kind | (u64)f->is_inlined << 8, f->name), f->module);
}

static bool is_equal(const struct frame *f, const struct frame *other)
{
	return f->kind == other->kind && f->is_inlined == other->is_inlined &&
	       !strcmp(f->name, other->name) && !strcmp(f->module, other->module);
}

/* The id of an equal frame, plus 1; 0 if the table has no equal frame. */
static u64 find(const struct frames *all, const struct frame *f)
{
	const u64 *id;

	for (u64 key = key_of(f); (id = dict_find(&all->by_hash, key)); key++)
		if (is_equal(&all->all.at[*id - 1], f))
			return *id;
	return 0;
}

static frame_id intern(struct frames *all, enum frame_kind kind, const char *name,
		       const char *module, bool is_inlined)
{
	auto_str struct str clean_name = { 0 }, clean_module = { 0 };
	struct frame f = { name, module, .kind = kind, .is_inlined = is_inlined };
	u64 known = find(all, &f), *id; /* all texts of the table are clean */

	if (known)
		return (frame_id)known - 1;
	f.name = utf8_cleaned(name, FRAME_NAME_MAX, &clean_name);
	f.module = utf8_cleaned(module, FRAME_NAME_MAX, &clean_module);
	if (!*f.name)
		f.name = "?";
	for (u64 key = key_of(&f); *(id = dict_add(&all->by_hash, key)); key++)
		if (is_equal(&all->all.at[*id - 1], &f))
			return (frame_id)*id - 1;

	f.name = xstrdup(f.name);
	f.module = xstrdup(f.module);
	f.file = xstrdup("");
	all->text_bytes += bytes_of(&f);
	if (all->free_ids.nr) {
		*id = all->free_ids.at[--all->free_ids.nr] + 1ull;
		all->all.at[*id - 1] = f;
		return (frame_id)*id - 1;
	}
	vec_push(&all->all, f);
	*id = all->all.nr;
	return (frame_id)*id - 1;
}

void frames_sweep(struct frames *all, const bool *is_used)
{
	dict_fini(&all->by_hash);
	all->free_ids.nr = 0;
	for (size_t i = all->all.nr; i-- > 0;) {
		struct frame *f = &all->all.at[i];
		if (!is_used[i])
			free_frame(all, f);
		if (!f->name && i + 1 == all->all.nr)
			all->all.nr--;
		else if (!f->name)
			vec_push(&all->free_ids, (frame_id)i);
	}
	for (size_t i = 0; i < all->all.nr; i++) {
		if (!all->all.at[i].name)
			continue;
		u64 key = key_of(&all->all.at[i]);
		while (dict_find(&all->by_hash, key))
			key++;
		*dict_add(&all->by_hash, key) = i + 1;
	}
}

size_t frames_nr_kept(const struct frames *all)
{
	return all->all.nr - all->free_ids.nr;
}

size_t frames_bytes(const struct frames *all)
{
	return all->text_bytes + all->all.cap * sizeof(all->all.at[0]) +
	       all->free_ids.cap * sizeof(all->free_ids.at[0]) + dict_bytes(&all->by_hash);
}

frame_id frames_intern(struct frames *all, enum frame_kind kind, const char *name,
		       const char *module)
{
	return intern(all, kind, name, module, false);
}

void frames_keep_lines(struct frames *all)
{
	all->keeps_lines = true;
}

bool frames_keeps_lines(const struct frames *all)
{
	return all->keeps_lines;
}

void frames_keep_signatures(struct frames *all)
{
	all->keeps_signatures = true;
}

bool frames_keeps_signatures(const struct frames *all)
{
	return all->keeps_signatures;
}

frame_id frames_intern_like(struct frames *all, const struct frame *model, const char *name)
{
	if (!all->keeps_lines || !model->line)
		return intern(all, model->kind, name, model->module, model->is_inlined);

	auto_str struct str file = { 0 };
	auto_free char *place = xasprintf("%s:%u", name, model->line);
	frame_id id = intern(all, model->kind, place, model->module, model->is_inlined);
	struct frame *f = &all->all.at[id];

	if (!f->line) {
		all->text_bytes -= strlen(f->file);
		free((char *)f->file);
		f->file = xstrdup(utf8_cleaned(model->file, FRAME_NAME_MAX, &file));
		all->text_bytes += strlen(f->file);
		f->line = model->line;
	}
	return id;
}

frame_id frames_intern_line(struct frames *all, enum frame_kind kind, const char *name,
			    const char *module, struct source_line source)
{
	const struct frame f = {
		.module = module, .kind = kind, .line = source.line, .file = source.file
	};

	return frames_intern_like(all, &f, name);
}

char *frame_function(const struct frame *f)
{
	char suffix[16];
	size_t len = strlen(f->name), suffix_len = 0;

	if (f->line)
		suffix_len = (size_t)snprintf(suffix, sizeof(suffix), ":%u", f->line);
	if (!suffix_len || len <= suffix_len || strcmp(f->name + len - suffix_len, suffix) != 0)
		return xstrdup(f->name);
	return xstrndup(f->name, len - suffix_len);
}

frame_id frames_copy(struct frames *all, const struct frame *frame)
{
	auto_free char *function = frame->line ? frame_function(frame) : NULL;

	return frames_intern_like(all, frame, function ?: frame->name);
}

const struct frame *frames_get(const struct frames *all, frame_id id)
{
	return &all->all.at[id];
}

u32 frames_nr(const struct frames *all)
{
	return (u32)all->all.nr;
}
