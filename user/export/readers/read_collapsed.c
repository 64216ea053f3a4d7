/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the collapsed text format, "root;...;leaf COUNT" per line, as flamegraph.pl and
 * async-profiler write it. The latter's suffixes _[j], _[i], ... give the kind of a frame.
 *
 * Nine tenths of a line repeat the start of the previous line, even in unsorted files. The rest may
 * be the start of some earlier line. Therefore every fourth frame of a stack is stored by a hash of
 * the text up to it. A line continues from the deepest stored place. Bisection finds it, because
 * all shallower places are stored too. Only the 64-bit hash is compared: whoever crafts a collision
 * mixes up their own stacks.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "export/interchange/external.h"
#include "export/interchange/label_frame.h"
#include "export/readers/line_reader.h"
#include "profile/frames/java_form.h"

#define PLACE_EVERY 4

/* A frame's text within a line, the hash of the line up to its end, and its node. */
struct word {
	u32 start, end;
	/* end of the part of the line that decides where this word and those before it end */
	u32 seen;
	bool is_kernel;
	u64 hash;
	node_id node;
};

/*
 * A slot of an open hash table that is read ten times per line, therefore at most half of it is
 * used.
 */
struct known_word {
	u64 hash;
	u32 frame; /* plus one, 0: free */
};

/*
 * The counts of a stack in thousandths. They get their type at the end, when it is known whether
 * the file has fractions.
 */
struct stack_sum {
	node_id node;
	u64 count, before;
};

struct collapsed {
	struct line_reader lines;
	struct profile *p;
	struct str *why;
	u64 sum, sum_before;     /* thousandths */
	bool is_diff;            /* lines have two counts, before and after */
	bool has_fraction;       /* not set in a comparison */
	u64 nr_stacks, nr_stray; /* numbers of lines; a stray line has no count and is skipped */
	u64 first_stray;         /* number of that line */
	u64 nr_rounded;          /* fractions in a comparison */
	VEC(struct stack_sum) sums;
	struct dict sum_of; /* node -> index of its sum, plus one */
	struct str last;    /* the line that `words` refers to */
	VEC(struct word) words;
	struct known_word *known;
	size_t nr_known, known_cap; /* known_cap is a power of two */
	struct dict places;         /* hash of the start of a line -> node */
};

static int refuse(struct collapsed *c, const char *what)
{
	line_reader_refuse(&c->lines, what, c->why);
	return -EINVAL;
}

#define NO_COUNT -ENOMSG /* the line is no stack */

static int refuse_stray(const struct collapsed *c)
{
	const struct line_reader at = { .nr = c->first_stray };

	return line_reader_refuse(&at,
				  c->is_diff
					  ? "two counts are needed: \"root;...;leaf BEFORE AFTER\""
					  : "no count; a line is \"root;...;leaf COUNT\"",
				  c->why);
}

static bool is_space(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r';
}

/* Whether the text is "12.5". */
static bool is_fraction(const char *at, const char *end)
{
	const char *point = memchr(at, '.', (size_t)(end - at));

	for (const char *c = at; c < end; c++)
		if (c != point && (*c < '0' || *c > '9'))
			return false;
	return point && point > at && point + 1 < end;
}

/* The digits after the point as thousandths; further digits are cut off. */
static u64 thousandths(const char *at, const char *end)
{
	u64 value = 0;

	for (u64 place = 100; at < end; at++, place /= 10)
		value += (u64)(*at - '0') * place;
	return value;
}

/* The largest sum that the file's type can hold, in thousandths. */
static u64 sum_max(const struct collapsed *c)
{
	return c->has_fraction ? VARINT_MAX : VARINT_MAX * 1000;
}

/* Reads a count as thousandths. */
static int parse_count(struct collapsed *c, const char *at, const char *end, u64 *count)
{
	const char *point = is_fraction(at, end) ? memchr(at, '.', (size_t)(end - at)) : end;
	u64 value = 0;

	c->has_fraction |= point < end && !c->is_diff;
	if (*at == '-' && end - at > 1 && at[1] >= '0' && at[1] <= '9')
		return refuse(c, "the count is negative");
	for (const char *digit = at; digit < point; digit++) {
		if (*digit < '0' || *digit > '9')
			return NO_COUNT;
		value = value * 10 + (u64)(*digit - '0');
		if (value > sum_max(c) / 1000)
			return refuse(c, "the count is larger than 2^53 - 1");
	}
	u64 rest = point < end ? thousandths(point + 1, end) : 0;
	c->nr_rounded += rest && c->is_diff;
	if (c->is_diff)
		rest = rest < 500 ? 0 : 1000;
	*count = value * 1000 + rest;
	return 0;
}

/* Cuts the count off the end of the line. */
static int take_count(struct collapsed *c, const char *line, size_t *len, u64 *count)
{
	size_t end = *len, start;

	for (start = end; start > 0 && !is_space(line[start - 1]);)
		start--;
	if (start == 0)
		return NO_COUNT;
	int err = parse_count(c, line + start, line + end, count);
	if (err)
		return err;
	while (start > 0 && is_space(line[start - 1]))
		start--;
	if (start == 0)
		return refuse(c, "there is no stack before the count");
	*len = start;
	return 0;
}

static u64 read_8(const char *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static u64 read_4(const char *at)
{
	u32 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Folds the 128-bit product. */
static u64 mix(u64 a, u64 b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd6e8feb86659fd93ull);

	return (u64)product ^ (u64)(product >> 64);
}

/*
 * Reads sixteen bytes per step and may read the last ones twice. Each byte of the file passes
 * through here.
 */
static u64 hash_bytes(u64 hash, const char *at, size_t len)
{
	u64 first = 0, last = 0;

	hash ^= (u64)len << 32;
	for (; len > 16; at += 16, len -= 16)
		hash = mix(hash ^ read_8(at), read_8(at + 8));
	if (len >= 8) {
		first = read_8(at);
		last = read_8(at + len - 8);
	} else if (len >= 4) {
		first = read_4(at);
		last = read_4(at + len - 4);
	} else if (len) {
		first = (u64)(u8)at[0] << 16 | (u64)(u8)at[len / 2] << 8 | (u8)at[len - 1];
	}
	return mix(hash ^ first, last);
}

/* Cuts the suffix off and returns its kind. */
static enum frame_kind kind_of(const char *text, size_t *len)
{
	static const struct {
		char letter;
		enum frame_kind kind;
	} suffixes[] = {
		{ 'j', FRAME_C2 }, { 'i', FRAME_INLINED },     { 'k', FRAME_KERNEL },
		{ '1', FRAME_C1 }, { '0', FRAME_INTERPRETED },
	};
	const char *end = text + *len;

	if (*len == strlen(NO_STACK) && !memcmp(text, NO_STACK, *len))
		return FRAME_UNKNOWN;
	if (*len > 4 && end[-4] == '_' && end[-3] == '[' && end[-1] == ']')
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			if (suffixes[i].letter == end[-2]) {
				*len -= 4;
				return suffixes[i].kind;
			}
	return name_is_java(text, *len) ? FRAME_C2 : FRAME_NATIVE;
}

static struct known_word *find_word(const struct collapsed *c, u64 hash)
{
	struct known_word *k = &c->known[hash & (c->known_cap - 1)];

	while (k->frame && k->hash != hash)
		k = k + 1 == c->known + c->known_cap ? c->known : k + 1;
	return k;
}

static void grow_known(struct collapsed *c)
{
	struct known_word *old = c->known;
	size_t old_cap = c->known_cap;

	c->known_cap = old_cap ? old_cap * 2 : 1024;
	c->known = xcalloc(c->known_cap, sizeof(c->known[0]));
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].frame)
			*find_word(c, old[i].hash) = old[i];
	free(old);
}

static frame_id intern_word(struct collapsed *c, const char *text, size_t len, bool is_kernel)
{
	if (c->nr_known * 2 >= c->known_cap)
		grow_known(c);

	u64 hash = hash_bytes(is_kernel, text, len);
	struct known_word *k = find_word(c, hash);
	if (k->frame)
		return k->frame - 1;

	size_t name_len = len;
	enum frame_kind kind = kind_of(text, &name_len);
	kind = is_kernel ? FRAME_KERNEL : kind;
	auto_free char *name = xstrndup(text, name_len);
	frame_id frame = frames_intern(c->p->frames, kind, name, "");
	*k = (struct known_word){ hash, frame + 1 };
	c->nr_known++;
	return frame;
}

/* The length of the common start of two texts. */
static size_t common_len(const char *a, const char *b, size_t len)
{
	size_t at = 0;

	for (u64 differing; at + 8 <= len; at += 8)
		if ((differing = read_8(a + at) ^ read_8(b + at)))
			return at + (size_t)__builtin_ctzll(differing) / 8;
	while (at < len && a[at] == b[at])
		at++;
	return at;
}

/* Keeps the words of the previous line that this stack begins with too. */
static void keep_words(struct collapsed *c, const char *stack, size_t len)
{
	size_t common = common_len(c->last.at, stack, len < c->last.len ? len : c->last.len);
	size_t low = 0, high = c->words.nr;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (c->words.at[middle].seen < common)
			low = middle + 1;
		else
			high = middle;
	}
	c->words.nr = low;
	c->last.len = common;
	str_add_bytes(&c->last, stack + common, len - common);
}

/*
 * Whether the frames behind a "-" are the kernel's, as bcc's -d writes them: "comm;user;-;kernel".
 * Elsewhere "-" may be a function, and offwaketime has "--" and the waker's frames.
 */
static bool is_kernel_part(const char *at, const char *end)
{
	bool has_frame = at < end;

	for (; at < end; at++) {
		bool is_name = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			       (*at >= '0' && *at <= '9') || (*at && strchr("_.[];", *at));
		if (!is_name)
			return false;
	}
	return has_frame;
}

/* Reads the word at `at`, which begins behind a semicolon or at the start of the stack. */
static struct word next_word(const char *stack, const char *at, const char *end)
{
	const char *next = memchr(at, ';', (size_t)(end - at)) ?: end;
	struct word w = { .start = (u32)(at - stack) };
	size_t len = 0, seen = 0;

	if (*at == 'L' || *at == '[')
		len = java_form_len(at, (size_t)(end - at), &seen);
	if (len && (at + len == end || at[len] == ';'))
		next = at + len;
	w.end = (u32)(next - stack);
	w.seen = w.start + (u32)seen > w.end ? w.start + (u32)seen : w.end;
	return w;
}

/* Adds the remaining words, up to one more than a stack may have. */
static void split_words(struct collapsed *c, const char *stack, size_t len)
{
	const struct word *last = c->words.nr ? &c->words.at[c->words.nr - 1] : NULL;
	const char *at = last ? stack + last->end + 1 : stack, *end = stack + len;
	u64 hash = last ? last->hash : 0;
	u32 seen = last ? last->seen : 0;
	bool is_kernel = false;

	for (;;) {
		bool is_mark = !is_kernel && end - at > 2 && at[0] == '-' && at[1] == ';';
		if (is_mark)
			seen = UINT32_MAX;
		if (is_mark && at > stack && is_kernel_part(at + 2, end)) {
			is_kernel = true;
			at += 2;
		}
		struct word w = next_word(stack, at, end);
		hash = hash_bytes(hash ^ is_kernel, at, w.end - w.start);
		w.seen = seen = w.seen > seen ? w.seen : seen;
		w.hash = hash;
		w.is_kernel = is_kernel;
		vec_push(&c->words, w);
		if (stack + w.end == end || c->words.nr > FORMAT_DEPTH_MAX)
			return;
		at = stack + w.end + 1;
	}
}

/*
 * Finds the deepest known node of the stack. Its first `nr` words already have nodes. Returns the
 * node's depth.
 */
static size_t find_place(struct collapsed *c, size_t nr)
{
	size_t low = nr / PLACE_EVERY, high = c->words.nr / PLACE_EVERY;
	node_id node = 0;

	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		const u64 *place =
			dict_find(&c->places, c->words.at[middle * PLACE_EVERY - 1].hash);
		if (place) {
			low = middle;
			node = (node_id)*place;
		} else {
			high = middle - 1;
		}
	}
	for (size_t i = low * PLACE_EVERY; node && i > nr; node = c->p->nodes.at[node].parent)
		c->words.at[--i].node = node;
	return low * PLACE_EVERY > nr ? low * PLACE_EVERY : nr;
}

static int add_stack(struct collapsed *c, const char *stack, size_t len, u64 count, u64 before)
{
	keep_words(c, stack, len);
	size_t kept = c->words.nr;
	split_words(c, stack, len);
	if (c->words.nr > FORMAT_DEPTH_MAX)
		return refuse(c, "deeper than 65,535 frames");

	size_t depth = find_place(c, kept);
	node_id node = depth ? c->words.at[depth - 1].node : 0;
	for (; depth < c->words.nr; depth++) {
		struct word *w = &c->words.at[depth];
		node = profile_child(
			c->p, node,
			intern_word(c, stack + w->start, w->end - w->start, w->is_kernel));
		w->node = node;
		if ((depth + 1) % PLACE_EVERY == 0)
			*dict_add(&c->places, w->hash) = node;
	}
	u64 *at = dict_add(&c->sum_of, node);
	if (!*at) {
		vec_push(&c->sums, (struct stack_sum){ .node = node });
		*at = c->sums.nr;
	}
	c->sums.at[*at - 1].count += count;
	c->sums.at[*at - 1].before += before;
	return 0;
}

static int read_line(struct collapsed *c, const char *line, size_t len)
{
	u64 count, before = 0;

	while (len && is_space(line[len - 1]))
		len--;
	if (!len)
		return 0;
	if (memchr(line, '\0', len))
		return refuse(c, "a zero byte; this is not text of stacks");
	int err = take_count(c, line, &len, &count);
	if (!err && c->is_diff)
		err = take_count(c, line, &len, &before);
	if (err == NO_COUNT) {
		c->first_stray = c->nr_stray++ ? c->first_stray : c->lines.nr;
		return 0;
	}
	c->nr_stacks += !err;
	if (err || (!count && !before))
		return err;
	c->sum += count;
	c->sum_before += before;
	if (c->sum > sum_max(c) || c->sum_before > sum_max(c))
		return refuse(c, "the counts add up to more than 2^53 - 1");
	return add_stack(c, line, len, count, before);
}

/* Refuses a file in which most lines are no stacks. */
static int judge(const struct collapsed *c)
{
	if (c->nr_stray > c->nr_stacks)
		return refuse_stray(c);
	if (c->nr_stray)
		str_addf(c->why, "lines without a count were skipped: %llu, the first is line %llu",
			 (unsigned long long)c->nr_stray, (unsigned long long)c->first_stray);
	if (c->nr_rounded)
		str_addf(c->why, "%sfractions were rounded: %llu", c->nr_stray ? "; " : "",
			 (unsigned long long)c->nr_rounded);
	return 0;
}

/* Text does not name its type. It gets the profile's first type if that has samples. */
static u32 type_of_counts(struct profile *p, bool is_fraction)
{
	const struct value_type *first = p->types.at;

	if (is_fraction)
		return profile_find_type(p, "samples", "thousandths");
	if (p->types.nr && !strcmp(first->unit, "samples") && first->role == VALUE_NONE)
		return 0;
	return profile_find_type(p, "samples", "samples");
}

static int add_sums(struct collapsed *c)
{
	/* In a comparison the first type is the one after, the second the one before. */
	u32 type = c->is_diff ? 0 : type_of_counts(c->p, c->has_fraction);
	u64 unit = c->has_fraction ? 1 : 1000;
	labels_id labels = profile_intern_labels(c->p, &(struct labels){ 0 });

	if (c->sum / unit > VARINT_MAX - profile_total(c->p, type)) {
		str_add(c->why, "the counts of all files add up to more than 2^53 - 1");
		return -EINVAL;
	}
	vec_each(s, &c->sums) {
		if (s->count)
			profile_add(c->p, s->node, labels, type, s->count / unit);
		if (s->before)
			profile_add(c->p, s->node, labels, type + 1, s->before / unit);
	}
	return 0;
}

static int read_lines(struct input *in, bool is_diff, struct profile *p, struct str *why)
{
	struct collapsed c = { .p = p, .why = why, .is_diff = is_diff };
	size_t first_node = p->nodes.nr;
	char *line;
	size_t len;
	int err;

	line_reader_init(&c.lines, in);
	while ((err = line_reader_next(&c.lines, &line, &len, why)) > 0)
		if ((err = read_line(&c, line, len)))
			break;
	err = err ?: judge(&c) ?: add_sums(&c);
	if (!err)
		label_frames_take(p, first_node);

	vec_fini(&c.sums);
	dict_fini(&c.sum_of);
	free(c.known);
	str_fini(&c.last);
	vec_fini(&c.words);
	dict_fini(&c.places);
	line_reader_fini(&c.lines);
	return err;
}

int collapsed_read(struct input *in, struct profile *p, struct str *why)
{
	return read_lines(in, false, p, why);
}

int collapsed_read_diff(struct input *in, struct profile *p, struct str *why)
{
	profile_add_type(p, "samples after", "samples");
	profile_add_type(p, "samples before", "samples");
	p->types.at[0].role = VALUE_AFTER;
	p->types.at[1].role = VALUE_BEFORE;
	return read_lines(in, true, p, why);
}
