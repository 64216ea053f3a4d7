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

#define TEXT_HEAP_BYTES 16 /* the end of a text, and what malloc adds */

/* A text of frames. Each is there once: a module has the names of thousands of functions. */
struct text {
	char *at; /* UTF-8 without control characters; NULL: free */
	u32 len;
	text_id next; /* the one that was asked for after this one */
	/* the frame of this name that was asked for last, and its key's lower half; FRAME_NONE */
	frame_id frame;
	u32 frame_key;
};

#define FRAME_NONE UINT32_MAX

/* The texts of a frame. */
struct frame_texts {
	text_id name, module, file;
};

struct frames {
	VEC(struct frame) all;         /* by id; name NULL: free */
	VEC(struct frame_texts) texts; /* of `all` */
	VEC(frame_id) free_ids;
	struct dict by_key; /* key_of a frame -> id + 1 */
	VEC(struct text) pool;
	VEC(text_id) free_texts;
	struct dict by_hash; /* hash of a text -> its id + 1; equal hashes probe on */
	size_t text_bytes;
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

void frames_free(struct frames *all)
{
	if (!all)
		return;
	vec_each(t, &all->pool)
		free(t->at);
	vec_fini(&all->all);
	vec_fini(&all->texts);
	vec_fini(&all->free_ids);
	vec_fini(&all->pool);
	vec_fini(&all->free_texts);
	dict_fini(&all->by_key);
	dict_fini(&all->by_hash);
	free(all);
}

void frames_swap(struct frames *a, struct frames *b)
{
	struct frames old = *a;

	*a = *b;
	*b = old;
}

static bool is_text(const struct frames *all, text_id id, const char *text, size_t len)
{
	const struct text *t = &all->pool.at[id];

	return t->at && t->len == len && !memcmp(t->at, text, len);
}

/* The place of a text that the table has, or else the key at which it can be added. */
static u64 *find_text(const struct frames *all, const char *text, size_t len, u64 *key)
{
	u64 *id;

	for (*key = hash_keyed(text, len); (id = dict_find(&all->by_hash, *key)); ++*key)
		if (is_text(all, (text_id)*id - 1, text, len))
			break;
	return id;
}

static text_id add_text(struct frames *all, const char *text, size_t len, u64 key)
{
	const struct text t = { .at = xstrndup(text, len), .len = (u32)len, .frame = FRAME_NONE };
	text_id id = (text_id)all->pool.nr;

	if (all->free_texts.nr) {
		id = all->free_texts.at[--all->free_texts.nr];
		all->pool.at[id] = t;
	} else {
		vec_push(&all->pool, t);
	}
	all->text_bytes += len + TEXT_HEAP_BYTES;
	*dict_add(&all->by_hash, key) = id + 1ull;
	return id;
}

static text_id intern_text(struct frames *all, const char *text, size_t len)
{
	auto_str struct str storage = { 0 };
	u64 key, *id = find_text(all, text, len, &key); /* all texts of the table are clean */

	if (id)
		return (text_id)*id - 1;
	const char *clean = utf8_cleaned(text, FRAME_NAME_MAX, &storage);
	if (clean != text) {
		len = strlen(clean);
		id = find_text(all, clean, len, &key);
	}
	return id ? (text_id)*id - 1 : add_text(all, clean, len, key);
}

text_id frames_text(struct frames *all, const char *text)
{
	return intern_text(all, text, strlen(text));
}

text_id frames_text_after(struct frames *all, text_id before, const char *text, size_t len)
{
	text_id next = all->pool.at[before].next;

	if (next < all->pool.nr && is_text(all, next, text, len))
		return next;
	next = intern_text(all, text, len);
	all->pool.at[before].next = next;
	return next;
}

const char *frames_text_get(const struct frames *all, text_id id)
{
	return all->pool.at[id].at;
}

text_id frames_name(const struct frames *all, frame_id id)
{
	return all->texts.at[id].name;
}

u32 frames_nr_texts(const struct frames *all)
{
	return (u32)all->pool.nr;
}

#define MODULES_MAX (1u << 27) /* what a key has room for */

/* Different frames have different keys: MODULES_MAX texts would take more than 6 GB. */
static u64 key_of(text_id name, text_id module, enum frame_kind kind, bool is_inlined)
{
	return (u64)name << 32 | (module % MODULES_MAX) << 5 | (u32)kind << 1 | is_inlined;
}

static frame_id add_frame(struct frames *all, text_id name, text_id module, u64 key)
{
	const struct frame_texts texts = { name, module, frames_text(all, "") };
	const struct frame f = {
		.name = all->pool.at[name].at,
		.module = all->pool.at[module].at,
		.file = all->pool.at[texts.file].at,
		.kind = key >> 1 & 15,
		.is_inlined = key & 1,
	};
	frame_id id = (frame_id)all->all.nr;

	if (all->free_ids.nr) {
		id = all->free_ids.at[--all->free_ids.nr];
		all->all.at[id] = f;
		all->texts.at[id] = texts;
	} else {
		vec_push(&all->all, f);
		vec_push(&all->texts, texts);
	}
	*dict_add(&all->by_key, key) = id + 1ull;
	return id;
}

static frame_id intern(struct frames *all, enum frame_kind kind, text_id name, text_id module,
		       bool is_inlined)
{
	if (!all->pool.at[name].len)
		name = frames_text(all, "?");
	u64 key = key_of(name, module, kind, is_inlined);
	struct text *t = &all->pool.at[name];

	if (t->frame != FRAME_NONE && t->frame_key == (u32)key)
		return t->frame;
	const u64 *known = dict_find(&all->by_key, key);
	frame_id id = known ? (frame_id)*known - 1 : add_frame(all, name, module, key);
	t = &all->pool.at[name]; /* which may have moved */
	t->frame = id;
	t->frame_key = (u32)key;
	return id;
}

/* Frees the texts that no frame has. */
static void sweep_texts(struct frames *all)
{
	bool *is_used = xcalloc(all->pool.nr + 1, sizeof(is_used[0]));

	for (size_t i = 0; i < all->all.nr; i++) {
		const struct frame_texts *t = &all->texts.at[i];
		if (all->all.at[i].name)
			is_used[t->name] = is_used[t->module] = is_used[t->file] = true;
	}
	dict_fini(&all->by_hash);
	all->free_texts.nr = 0;
	for (size_t i = all->pool.nr; i-- > 0;) {
		struct text *t = &all->pool.at[i];
		if (t->at && !is_used[i]) {
			all->text_bytes -= t->len + TEXT_HEAP_BYTES;
			free(take(t->at));
		}
		if (!t->at && i + 1 == all->pool.nr)
			all->pool.nr--;
		else if (!t->at)
			vec_push(&all->free_texts, (text_id)i);
	}
	free(is_used);
	for (size_t i = 0; i < all->pool.nr; i++) {
		struct text *t = &all->pool.at[i];
		u64 key;
		t->frame = FRAME_NONE;
		if (!t->at)
			continue;
		find_text(all, t->at, t->len, &key);
		*dict_add(&all->by_hash, key) = i + 1;
	}
}

void frames_sweep(struct frames *all, const bool *is_used)
{
	dict_fini(&all->by_key);
	all->free_ids.nr = 0;
	for (size_t i = all->all.nr; i-- > 0;) {
		struct frame *f = &all->all.at[i];
		if (!is_used[i])
			*f = (struct frame){ 0 };
		if (!f->name && i + 1 == all->all.nr)
			all->all.nr = all->texts.nr = i;
		else if (!f->name)
			vec_push(&all->free_ids, (frame_id)i);
	}
	for (size_t i = 0; i < all->all.nr; i++) {
		const struct frame *f = &all->all.at[i];
		const struct frame_texts *t = &all->texts.at[i];
		if (f->name)
			*dict_add(&all->by_key,
				  key_of(t->name, t->module, f->kind, f->is_inlined)) = i + 1;
	}
	sweep_texts(all);
}

size_t frames_nr_kept(const struct frames *all)
{
	return all->all.nr - all->free_ids.nr;
}

size_t frames_bytes(const struct frames *all)
{
	return all->text_bytes + all->all.cap * sizeof(all->all.at[0]) +
	       all->texts.cap * sizeof(all->texts.at[0]) +
	       all->free_ids.cap * sizeof(all->free_ids.at[0]) + dict_bytes(&all->by_key) +
	       all->pool.cap * sizeof(all->pool.at[0]) +
	       all->free_texts.cap * sizeof(all->free_texts.at[0]) + dict_bytes(&all->by_hash);
}

frame_id frames_intern_texts(struct frames *all, enum frame_kind kind, text_id name, text_id module)
{
	return intern(all, kind, name, module, false);
}

static frame_id intern_strings(struct frames *all, enum frame_kind kind, const char *name,
			       const char *module, bool is_inlined)
{
	text_id name_id = frames_text(all, name);

	return intern(all, kind, name_id, frames_text(all, module), is_inlined);
}

frame_id frames_intern(struct frames *all, enum frame_kind kind, const char *name,
		       const char *module)
{
	return intern_strings(all, kind, name, module, false);
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
		return intern_strings(all, model->kind, name, model->module, model->is_inlined);

	auto_free char *place = xasprintf("%s:%u", name, model->line);
	frame_id id = intern_strings(all, model->kind, place, model->module, model->is_inlined);
	struct frame *f = &all->all.at[id];

	if (!f->line) {
		text_id file = frames_text(all, model->file);
		all->texts.at[id].file = file;
		f->file = all->pool.at[file].at;
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
