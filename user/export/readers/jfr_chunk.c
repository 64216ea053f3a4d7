/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of a JFR recording, format 2 (JDK 11 and later, async-profiler). */
#include "export/readers/jfr_chunk.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/format/varint.h"

/*
 * The numbers of a JFR recording: up to eight groups of 7 bits, lowest first; a ninth byte has all
 * 8 bits. Most of a recording are such numbers.
 */
#define TOP_BITS 0x8080808080808080ull

/* Reads the next eight bytes, if a ninth one could be read, too. Otherwise returns false. */
static inline bool word_read(const struct cursor *c, u64 *word)
{
	if (c->end - c->at < 9)
		return false;
	memcpy(word, c->at, sizeof(*word));
	*word = le64toh(*word);
	return true;
}

/* The bytes of the number that begins with these eight: the last one has no top bit, or is the
 * ninth. */
static inline unsigned int number_len(u64 word)
{
	u64 last = ~word & TOP_BITS;
	return last ? (unsigned int)__builtin_ctzll(last) / 8 + 1 : 9;
}

/* Joins the groups of 7 bits in the first `len` bytes of a word. */
static inline u64 join_groups(u64 word, unsigned int len)
{
	word &= ~TOP_BITS >> (64 - 8 * len);
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/* Returns 0 and sets is_bad if the number is cut off. */
static inline u64 number_read(struct cursor *c)
{
	u64 value = 0, word;
	if (word_read(c, &word)) {
		unsigned int len = number_len(word);
		value = join_groups(word, len < 8 ? len : 8);
		if (len == 9)
			value |= (u64)c->at[8] << 56;
		c->at += len;
		return value;
	}
	for (int shift = 0; c->at < c->end; shift += 7) {
		u8 byte = *c->at++;
		value |= (u64)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	c->is_bad = true;
	return 0;
}

static inline void numbers_skip(struct cursor *c, u64 nr)
{
	u64 word;
	for (; nr && word_read(c, &word); nr--)
		c->at += number_len(word);
	for (; nr && !c->is_bad; nr--)
		number_read(c);
}

#define EVENT_METADATA   0
#define EVENT_CHECKPOINT 1
#define STEPS_PER_BYTE   64

/* The length that frames keep, and the rest of the last character. */
#define TEXT_MAX (65535 + 3)

/* Encodings of a text. */
enum {
	TEXT_NULL,
	TEXT_EMPTY,
	TEXT_CONSTANT,
	TEXT_UTF8,
	TEXT_CHARS,
	TEXT_LATIN1,
};

static int damaged(struct str *why, const char *what)
{
	str_addf(why, "damaged JFR recording: %s", what);
	return -EINVAL;
}

static u64 big_endian(const u8 *at, int nr_bytes)
{
	u64 value = 0;

	for (int i = 0; i < nr_bytes; i++)
		value = value << 8 | at[i];
	return value;
}

static u8 byte_read(struct cursor *c)
{
	const u8 *at = bytes_read(c, 1);

	return at ? *at : 0;
}

static void add_char(struct str *out, u32 c)
{
	if (c < 0x80) {
		str_add_char(out, (char)c);
		return;
	}
	if (c < 0x800) {
		str_add_char(out, (char)(0xc0 | c >> 6));
	} else {
		str_add_char(out, (char)(0xe0 | (c >> 12 & 15)));
		str_add_char(out, (char)(0x80 | (c >> 6 & 63)));
	}
	str_add_char(out, (char)(0x80 | (c & 63)));
}

/*
 * Reads a text and appends it to `out`, which may be NULL, cut to TEXT_MAX: many constants may
 * share a long text. If it is a constant, *key gets its key.
 */
static void text_read(struct cursor *c, struct str *out, u64 *key)
{
	u8 coding = byte_read(c);
	size_t most = out ? out->len + TEXT_MAX : 0;
	const u8 *bytes;

	if (coding == TEXT_NULL || coding == TEXT_EMPTY)
		return;
	if (coding > TEXT_LATIN1) {
		c->is_bad = true;
		return;
	}
	u64 nr = number_read(c);
	if (coding == TEXT_CONSTANT) {
		*key = nr;
	} else if (coding == TEXT_CHARS) {
		for (u64 i = 0; i < nr && !c->is_bad; i++) {
			u32 unit = (u32)number_read(c) & 0xffff;
			if (out && out->len < most)
				add_char(out, unit);
		}
	} else if ((bytes = bytes_read(c, nr)) && out) {
		if (coding == TEXT_UTF8)
			str_add_bytes(out, bytes, nr < TEXT_MAX ? nr : TEXT_MAX);
		for (u64 i = 0; coding == TEXT_LATIN1 && i < nr && out->len < most; i++)
			add_char(out, bytes[i]);
	}
}

static const char *text_at(const struct jfr_chunk *c, u64 index)
{
	return index < c->texts.nr ? c->texts.at[index] : "";
}

static enum jfr_plain plain_of(const char *name)
{
	static const struct {
		const char *name;
		enum jfr_plain plain;
	} all[] = {
		{ "boolean", JFR_BYTE }, { "byte", JFR_BYTE },     { "char", JFR_NUMBER },
		{ "short", JFR_NUMBER }, { "int", JFR_NUMBER },    { "long", JFR_NUMBER },
		{ "float", JFR_FLOAT },  { "double", JFR_DOUBLE }, { "java.lang.String", JFR_TEXT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].name, name))
			return all[i].plain;
	return JFR_STRUCT;
}

/* The relevant attributes of an element. */
struct element {
	const char *tag, *name;
	u64 id, class_id;
	bool is_constant, is_array;
};

static struct element element_read(const struct jfr_chunk *c, struct cursor *at)
{
	struct element e = { .tag = text_at(c, number_read(at)), .name = "" };
	u64 nr = number_read(at);

	for (u64 i = 0; i < nr && !at->is_bad; i++) {
		const char *key = text_at(c, number_read(at));
		const char *value = text_at(c, number_read(at));
		if (!strcmp(key, "name"))
			e.name = value;
		else if (!strcmp(key, "id"))
			e.id = strtoull(value, NULL, 10);
		else if (!strcmp(key, "class"))
			e.class_id = strtoull(value, NULL, 10);
		else if (!strcmp(key, "constantPool"))
			e.is_constant = !strcmp(value, "true");
		else if (!strcmp(key, "dimension"))
			e.is_array = strcmp(value, "0") != 0;
	}
	return e;
}

/* Fields are elements below their class. Other elements (annotations, regions) are skipped. */
static void elements_read(struct jfr_chunk *c, struct cursor *at, size_t class, int depth)
{
	struct element e = element_read(c, at);
	u64 nr = number_read(at);

	if (!strcmp(e.tag, "class")) {
		vec_push(&c->classes, (struct jfr_class){ .id = e.id,
							  .name = e.name,
							  .plain = plain_of(e.name) });
		*dict_add(&c->class_by_id, e.id) = c->classes.nr;
		class = c->classes.nr;
	} else if (!strcmp(e.tag, "field") && class) {
		struct jfr_field f = { .name = e.name,
				       .class_id = e.class_id,
				       .is_constant = e.is_constant,
				       .is_array = e.is_array };
		vec_push(&c->classes.at[class - 1].fields, f);
	}
	if (depth == JFR_DEPTH_MAX)
		at->is_bad = true;
	for (u64 i = 0; i < nr && !at->is_bad; i++)
		elements_read(c, at, class, depth + 1);
}

static struct jfr_class *class_of(const struct jfr_chunk *c, u64 id)
{
	const u64 *index = dict_find(&c->class_by_id, id);

	return index ? &c->classes.at[*index - 1] : NULL;
}

/* Events and stacks are read by the class of each field: find it once. */
static void resolve_classes(struct jfr_chunk *c)
{
	vec_each(class, &c->classes) {
		bool is_numbers = true;
		vec_each(f, &class->fields) {
			f->class = class_of(c, f->class_id);
			is_numbers &= f->class && !f->is_array &&
				      (f->is_constant || f->class->plain == JFR_NUMBER);
		}
		if (is_numbers && class->plain == JFR_STRUCT)
			class->nr_numbers = (u32) class->fields.nr;
	}
}

static int metadata_read(struct jfr_chunk *c, u64 offset, struct str *why)
{
	struct cursor at = { c->at + offset, c->at + c->len, false };
	u64 key = 0;

	number_read(&at); /* the size */
	if (number_read(&at) != EVENT_METADATA)
		return damaged(why, "its types are not at the offset in its header");
	for (int i = 0; i < 3; i++) /* start, duration, number */
		number_read(&at);
	u64 nr = number_read(&at);
	for (u64 i = 0; i < nr && !at.is_bad; i++) {
		struct str text = { 0 };
		str_add(&text, "");
		text_read(&at, &text, &key);
		vec_push(&c->texts, str_take(&text));
	}
	if (!at.is_bad)
		elements_read(c, &at, 0, 0);
	resolve_classes(c);
	return at.is_bad ? damaged(why, "its types are cut off") : 0;
}

static bool skip_plain(const struct jfr_value *v, struct cursor *at)
{
	u64 key;

	if (v->is_constant || v->class->plain == JFR_NUMBER)
		number_read(at);
	else if (v->class->plain == JFR_BYTE)
		bytes_read(at, 1);
	else if (v->class->plain == JFR_FLOAT)
		bytes_read(at, 4);
	else if (v->class->plain == JFR_DOUBLE)
		bytes_read(at, 8);
	else if (v->class->plain == JFR_TEXT)
		text_read(at, NULL, &key);
	else
		return false;
	return true;
}

static struct jfr_value value_of(const struct jfr_field *f, const struct cursor *at)
{
	return (struct jfr_value){ f->class, f->is_constant, f->is_array, *at };
}

/* The numbers in one element of a value that has nothing else; 0 for other values. */
static u32 nr_numbers_of(const struct jfr_value *v)
{
	if (!v->class)
		return 0;
	return v->is_constant || v->class->plain == JFR_NUMBER ? 1 : v->class->nr_numbers;
}

static void skip(struct jfr_chunk *c, struct jfr_value *v, int depth)
{
	u64 nr = v->is_array ? number_read(&v->at) : 1;
	u32 nr_numbers = nr_numbers_of(v);

	if (!v->class || depth == JFR_DEPTH_MAX)
		v->at.is_bad = true;
	if (nr_numbers && nr <= c->len && !v->at.is_bad) {
		numbers_skip(&v->at, nr * nr_numbers);
		return;
	}
	for (u64 i = 0; i < nr && !v->at.is_bad; i++) {
		if (!c->steps_left)
			v->at.is_bad = true;
		else
			c->steps_left--;
		if (v->at.is_bad || skip_plain(v, &v->at))
			continue;
		vec_each(f, &v->class->fields) {
			struct jfr_value field = value_of(f, &v->at);
			skip(c, &field, depth + 1);
			v->at = field.at;
			if (v->at.is_bad)
				break;
		}
	}
}

bool jfr_skip(struct jfr_chunk *c, struct jfr_value *v)
{
	skip(c, v, 0);
	return !v->at.is_bad;
}

bool jfr_find(struct jfr_chunk *c, const struct jfr_value *v, const char *name,
	      struct jfr_value *out)
{
	struct cursor at = v->at;

	vec_each(f, &v->class->fields) {
		struct jfr_value field = value_of(f, &at);
		if (!field.class)
			return false;
		if (!strcmp(f->name, name)) {
			*out = field;
			return true;
		}
		if (!jfr_skip(c, &field))
			return false;
		at = field.at;
	}
	return false;
}

static void want(struct jfr_class *class, const char *const *names, u8 nr)
{
	class->wanted = names;
	class->wanted_end = 0;
	for (size_t f = 0; f < class->fields.nr; f++) {
		struct jfr_field *field = &class->fields.at[f];
		field->wanted = JFR_NOT_WANTED;
		for (u8 i = 0; i < nr; i++)
			if (names[i] && !strcmp(field->name, names[i]))
				field->wanted = i;
		if (field->wanted != JFR_NOT_WANTED)
			class->wanted_end = f + 1;
	}
}

void jfr_find_all(struct jfr_chunk *c, const struct jfr_value *v, const char *const *names, u8 nr,
		  struct jfr_value *out)
{
	struct cursor at = v->at;

	if (v->class->wanted != names)
		want(v->class, names, nr);
	for (u8 i = 0; i < nr; i++)
		out[i].class = NULL;
	for (size_t f = 0; f < v->class->wanted_end; f++) {
		const struct jfr_field *field = &v->class->fields.at[f];
		struct jfr_value value = value_of(field, &at);
		if (!value.class)
			return;
		if (field->wanted != JFR_NOT_WANTED && !out[field->wanted].class)
			out[field->wanted] = value;
		if (f + 1 == v->class->wanted_end || !jfr_skip(c, &value))
			return;
		at = value.at;
	}
}

bool jfr_take_numbers(struct jfr_chunk *c, struct jfr_value *v, const char *const *names, u8 nr,
		      u64 *out)
{
	struct jfr_value fields[JFR_NUMBERS_MAX];

	memset(out, 0, nr * sizeof(out[0]));
	if (v->class->nr_numbers && v->class->wanted == names) {
		vec_each(f, &v->class->fields) {
			if (f->wanted == JFR_NOT_WANTED)
				numbers_skip(&v->at, 1);
			else
				out[f->wanted] = number_read(&v->at);
		}
		return !v->at.is_bad;
	}
	jfr_find_all(c, v, names, nr, fields);
	for (u8 i = 0; i < nr; i++)
		if (fields[i].class)
			out[i] = jfr_number(&fields[i]);
	return jfr_skip(c, v);
}

bool jfr_constant(const struct jfr_chunk *c, const struct jfr_value *v, struct jfr_value *out)
{
	const u64 *offset = dict_find(&v->class->constants, jfr_number(v));

	if (!v->is_constant || !offset)
		return false;
	*out = (struct jfr_value){ .class = v->class,
				   .at = { c->at + *offset, c->at + c->len, false } };
	return true;
}

u64 jfr_elements(const struct jfr_value *v, struct jfr_value *out)
{
	*out = *v;
	out->is_array = false;
	u64 nr = v->is_array ? number_read(&out->at) : 0;
	return out->at.is_bad ? 0 : nr;
}

u64 jfr_number(const struct jfr_value *v)
{
	struct cursor at = v->at;

	if (v->is_array)
		return 0;
	if (v->class->plain == JFR_BYTE && !v->is_constant)
		return byte_read(&at);
	return v->class->plain == JFR_NUMBER || v->is_constant ? number_read(&at) : 0;
}

double jfr_double(const struct jfr_value *v)
{
	struct cursor at = v->at;
	const u8 *bytes = v->class->plain == JFR_DOUBLE && !v->is_array && !v->is_constant
				  ? bytes_read(&at, 8)
				  : NULL;
	u64 bits = bytes ? big_endian(bytes, 8) : 0;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return isfinite(value) ? value : 0;
}

static bool text_of(struct jfr_chunk *c, const struct jfr_value *v, struct str *out, int depth)
{
	struct jfr_value inner = *v;
	u64 key = 0;

	if (depth == 4 || (v->is_constant && !jfr_constant(c, v, &inner)))
		return false;
	if (inner.class->plain == JFR_STRUCT) {
		if (!inner.class->fields.nr ||
		    !jfr_find(c, &inner, inner.class->fields.at[0].name, &inner))
			return false;
		return text_of(c, &inner, out, depth + 1);
	}
	if (inner.class->plain != JFR_TEXT || inner.is_array)
		return false;
	text_read(&inner.at, out, &key);
	if (key) {
		const u64 *offset = dict_find(&inner.class->constants, key);
		if (!offset)
			return false;
		inner.at.at = c->at + *offset;
		text_read(&inner.at, out, &key);
	}
	return !inner.at.is_bad;
}

bool jfr_text(struct jfr_chunk *c, const struct jfr_value *v, struct str *out)
{
	str_add(out, "");
	return text_of(c, v, out, 0);
}

bool jfr_has_class(const struct jfr_chunk *c, const char *class_name)
{
	vec_each(class, &c->classes)
		if (!strcmp(class->name, class_name))
			return true;
	return false;
}

bool jfr_has_constant(struct jfr_chunk *c, const char *class_name, const char *text)
{
	bool has = false;

	vec_each(class, &c->classes) {
		if (strcmp(class->name, class_name))
			continue;
		dict_each(slot, &class->constants) {
			auto_str struct str found = { 0 };
			struct jfr_value v = {
				.class = class, .at = { c->at + slot->value, c->at + c->len, false }
			};
			has |= jfr_text(c, &v, &found) && !strcmp(found.at, text);
		}
	}
	return has;
}

/* The event at `offset` without its size. *next gets the offset of the next event. */
static bool event_at(const struct jfr_chunk *c, u64 offset, struct cursor *out, u64 *next)
{
	struct cursor at = { c->at + offset, c->at + c->len, false };
	u64 size = number_read(&at);

	if (at.is_bad || size > c->len - offset || c->at + offset + size <= at.at)
		return false;
	*next = offset + size;
	*out = (struct cursor){ at.at, c->at + *next, false };
	return true;
}

static void pool_read(struct jfr_chunk *c, struct cursor *at)
{
	const u64 *index = dict_find(&c->class_by_id, number_read(at));
	u64 nr = number_read(at);

	if (!index) {
		at->is_bad = true;
		return;
	}
	struct jfr_class *class = &c->classes.at[*index - 1];
	for (u64 i = 0; i < nr && !at->is_bad; i++) {
		u64 key = number_read(at);
		*dict_add(&class->constants, key) = (u64)(at->at - c->at);
		struct jfr_value value = { .class = class, .at = *at };
		jfr_skip(c, &value);
		*at = value.at;
	}
}

static int checkpoint_read(struct jfr_chunk *c, struct cursor *at, struct str *why)
{
	for (int i = 0; i < 3; i++) /* start, duration, offset of the previous one */
		number_read(at);
	byte_read(at);
	u64 nr_pools = number_read(at);
	for (u64 i = 0; i < nr_pools && !at->is_bad; i++)
		pool_read(c, at);
	return at->is_bad ? damaged(why, "its constants do not fit") : 0;
}

static int constants_read(struct jfr_chunk *c, bool is_partial, struct str *why)
{
	u64 whole = JFR_HEADER; /* the end of the last constants */
	struct cursor at;
	int err = 0;

	for (u64 offset = JFR_HEADER; offset < c->len && !err;) {
		if (!event_at(c, offset, &at, &offset)) {
			if (!is_partial)
				return damaged(why, "an event does not fit");
			break;
		}
		if (number_read(&at) != EVENT_CHECKPOINT)
			continue;
		err = checkpoint_read(c, &at, why);
		whole = offset;
	}
	if (is_partial)
		c->len = whole;
	return err;
}

bool jfr_next_event(const struct jfr_chunk *c, u64 *offset, struct jfr_value *out)
{
	struct cursor at;

	while (*offset < c->len && event_at(c, *offset, &at, offset)) {
		struct jfr_class *class = class_of(c, number_read(&at));
		*out = (struct jfr_value){ .class = class, .at = at };
		if (class)
			return true;
	}
	return false;
}

int jfr_header_read(const u8 *at, struct jfr_header *out, struct str *why)
{
	u64 major = big_endian(at + 4, 2);

	/* The JVM sets the state to 0 at the end, and the length at each flush. */
	*out = (struct jfr_header){ .len = big_endian(at + 8, 8),
				    .minor = (u32)big_endian(at + 6, 2),
				    .is_unfinished = at[64] };
	out->is_unfinished |= !out->len;
	if (memcmp(at, "FLR", 4))
		return damaged(why, "a chunk does not begin with FLR");
	if (major != JFR_MAJOR) {
		str_addf(why, "it has JFR format %llu.%u, and this sysflame knows format %d; %s",
			 (unsigned long long)major, out->minor, JFR_MAJOR,
			 major < JFR_MAJOR ? "record with JDK 11 or later"
					   : "use a newer sysflame");
		return -EINVAL;
	}
	if (!(at[67] & 1)) {
		str_add(why, "a JFR recording without compressed integers is not supported");
		return -EINVAL;
	}
	if ((out->len && out->len < JFR_HEADER) || out->len > JFR_CHUNK_MAX)
		return damaged(why, "a chunk has an impossible length");
	return 0;
}

int jfr_chunk_open(const u8 *at, size_t len, bool is_partial, struct jfr_chunk *out,
		   struct str *why)
{
	u64 metadata = big_endian(at + 24, 8);

	*out = (struct jfr_chunk){ .at = at,
				   .len = len,
				   .start_ns = big_endian(at + 32, 8),
				   .duration_ns = big_endian(at + 40, 8),
				   .ticks_per_s = big_endian(at + 56, 8),
				   .steps_left = (u64)len * STEPS_PER_BYTE };
	if (metadata < JFR_HEADER || metadata >= len)
		return damaged(why, "its types are not at the offset in its header");
	return metadata_read(out, metadata, why) ?: constants_read(out, is_partial, why);
}

void jfr_chunk_close(struct jfr_chunk *c)
{
	vec_each(text, &c->texts)
		free(*text);
	vec_each(class, &c->classes) {
		vec_fini(&class->fields);
		dict_fini(&class->constants);
	}
	vec_fini(&c->texts);
	vec_fini(&c->classes);
	dict_fini(&c->class_by_id);
}
