/* SPDX-License-Identifier: Apache-2.0 */
/* Units and names that pprof, OTLP and other tools' formats share. */
#include "export/interchange/external.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "profile/frames/java_form.h"
#include "profile/frames/method.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Whether a type in "count" counts samples. Others count objects, contentions or goroutines. */
static bool counts_samples(const char *type)
{
	static const char *const names[] = { "cpu", "cpu-time", "wall", "sample" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(type, names[i]))
			return true;
	return ends_with(type, "samples") || ends_with(type, "_sample");
}

const char *unit_to_external(const char *type, const char *unit)
{
	if (!strcmp(unit, "samples") && counts_samples(type))
		return "count";
	return strcmp(unit, "ns") ? unit : "nanoseconds";
}

struct external_unit {
	const char *name, *ours;
	u64 scale;
};

/*
 * Finds a unit by its name. Go's pprof uses all of these names (internal/measurement), OTLP the
 * names of UCUM.
 */
static const struct external_unit *find_unit(const char *name)
{
	static const struct external_unit units[] = {
		{ "nanoseconds", "ns", 1 },
		{ "microseconds", "ns", 1000 },
		{ "us", "ns", 1000 },
		{ "milliseconds", "ns", 1000000 },
		{ "ms", "ns", 1000000 },
		{ "seconds", "ns", 1000000000 },
		{ "s", "ns", 1000000000 },
		{ "By", "bytes", 1 },
		{ "kilobytes", "bytes", 1 << 10 },
		{ "kb", "bytes", 1 << 10 },
		{ "megabytes", "bytes", 1 << 20 },
		{ "mb", "bytes", 1 << 20 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(name, units[i].name))
			return &units[i];
	return NULL;
}

const char *unit_from_external(const char *type, const char *unit)
{
	const struct external_unit *known = find_unit(unit);

	if (!*unit || (!strcmp(unit, "count") && counts_samples(type)))
		return "samples";
	return known ? known->ours : unit;
}

u64 unit_scale(const char *unit)
{
	const struct external_unit *known = find_unit(unit);

	return known ? known->scale : 1;
}

s64 value_from_external(s64 value, u64 scale)
{
	s64 scaled;

	if (!__builtin_mul_overflow(value, (s64)scale, &scaled))
		return scaled;
	return value < 0 ? INT64_MIN : INT64_MAX;
}

bool otlp_is_reserved(const char *key)
{
	static const char *const keys[] = { "service.name", "host.name", "process.pid" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	for (enum label i = 0; i < NR_LABELS; i++)
		if (!strcmp(key, label_names[i].otlp))
			return true;
	return !strncmp(key, "sysflame.", 9);
}

bool type_is_cpu(const struct value_type *type)
{
	return !strcmp(type->name, "cpu") && !strcmp(type->unit, "samples");
}

u32 type_from_external(struct profile *p, const char *name, const char *unit,
		       const char *period_type)
{
	auto_str struct str clean = { 0 }, clean_unit = { 0 };

	unit = unit_from_external(name, unit);
	if (!strcmp(name, "samples") && !strcmp(unit, "samples") && *period_type)
		name = period_type;
	utf8_clean(&clean, *name ? name : "samples", 256);
	utf8_clean(&clean_unit, unit, 64);
	return profile_find_type(p, clean.at, clean_unit.at);
}

u64 profile_period_ns(const struct profile *p)
{
	return p->rate_hz > 0 ? (u64)llround(1e9 / p->rate_hz) : 0;
}

static u64 later_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

void profile_add_span(struct profile *p, u64 start_wall_ns, u64 duration_ns)
{
	u64 end = later_of(p->start_wall_ns + p->duration_ns, start_wall_ns + duration_ns);

	if (!p->start_wall_ns || !start_wall_ns) {
		p->start_wall_ns = p->start_wall_ns ?: start_wall_ns;
		p->duration_ns = later_of(p->duration_ns, duration_ns);
		return;
	}
	if (start_wall_ns < p->start_wall_ns)
		p->start_wall_ns = start_wall_ns;
	p->duration_ns = end - p->start_wall_ns;
}

static bool is_word_of_path(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_' || ch == '$' || ch == '/';
}

/*
 * ".invoke" and the like after a class without a package: a Clojure function of the namespace user.
 */
static bool is_clojure_method(const char *text, size_t len)
{
	static const char *const methods[] = { ".invoke", ".doInvoke", ".invokeStatic",
					       ".invokePrim" };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (len == strlen(methods[i]) && !memcmp(text, methods[i], len))
			return true;
	return false;
}

bool name_is_java(const char *text, size_t len)
{
	bool has_slash = false, has_dollar = false;
	size_t i = 0;

	if (java_form_unwrap(text, len, NULL))
		return true;
	if (len && text[0] == '/')
		return false;
	for (; i < len && (is_word_of_path(text[i]) || text[i] == '+'); i++) {
		has_slash |= text[i] == '/';
		has_dollar |= text[i] == '$';
	}
	if (i + 1 >= len || text[i] != '.' || memchr(text + i, '/', len - i))
		return false;
	if (text[i + 1] == '(') /* "internal/poll.(*FD).Read" is Go */
		return false;
	return has_slash || (has_dollar && is_clojure_method(text + i, len - i));
}

/* Guesses by the words of OpenTelemetry and by names of files and libraries. */
static enum frame_kind guess_kind(const char *module, const char *kind, bool is_inlined)
{
	static const char *const sources[] = { ".java", ".kt", ".scala", ".clj", ".groovy" };

	if (!strcmp(kind, "jvm"))
		return is_inlined ? FRAME_INLINED : FRAME_C2;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (ends_with(kind, sources[i]))
			return is_inlined ? FRAME_INLINED : FRAME_C2;
	if (!strncmp(module, "[kernel", 7) || strstr(module, "vmlinux") || ends_with(module, ".ko"))
		return FRAME_KERNEL;
	return strstr(module, "libjvm.so") ? FRAME_JVM : FRAME_NATIVE;
}

static frame_id frame_like(struct profile *p, enum frame_kind kind, const char *name,
			   const char *module, bool is_inlined, struct source_line source)
{
	const struct frame f = { .module = module,
				 .kind = kind,
				 .is_inlined = is_inlined && !frame_kind_is_java(kind),
				 .line = source.line,
				 .file = source.file };

	return frames_intern_like(p->frames, &f, name);
}

frame_id frame_from_external(struct profile *p, const char *name, const char *module,
			     const char *kind, bool is_inlined, struct source_line source)
{
	size_t len = strlen(kind);

	/* Sysflame's own kinds are in brackets: "[c2]". */
	for (int k = 0; len > 2 && kind[0] == '[' && k < NR_FRAME_KINDS; k++) {
		const char *word = frame_kind_name((enum frame_kind)k);
		if (strlen(word) == len - 2 && !strncmp(word, kind + 1, len - 2))
			return frame_like(p, (enum frame_kind)k, name, module, is_inlined, source);
	}
	/* Go's names look like Java's, but have a file. */
	if (!*kind && !*module && !*source.file && name_is_java(name, strlen(name)))
		kind = "jvm";
	return frame_like(p, guess_kind(module, kind, is_inlined), name, module, is_inlined,
			  source);
}

char *name_from_offset(const char *module, const u64 *offset)
{
	const char *slash = strrchr(module, '/'), *file = slash ? slash + 1 : module;
	bool has_brackets = *file == '[';
	const char *open = has_brackets ? "" : "[", *close = has_brackets ? "" : "]";

	if (!*file)
		return xstrdup("[unknown]");
	return offset ? xasprintf("%s%s%s+0x%llx", open, file, close, (unsigned long long)*offset)
		      : xasprintf("%s%s%s", open, file, close);
}

char *name_from_address(const char *module, const struct external_mapping *m, u64 address)
{
	bool is_inside = m && address >= m->start && address < m->end;
	u64 offset = is_inside ? address - m->start + m->file_off : address;

	return name_from_offset(module, &offset);
}

/* Longest text: the length that frames keep, and 3 bytes for the rest of the last character. */
#define TEXT_MAX (65535 + 3)

char *text_from_external(const u8 *at, size_t len)
{
	return xstrndup((const char *)at, len < TEXT_MAX ? len : TEXT_MAX);
}

static int by_labels(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct weight *x = &p->weights.at[*(const u32 *)a];
	const struct weight *y = &p->weights.at[*(const u32 *)b];

	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

u32 *weights_in_order(const struct profile *p, size_t *nr)
{
	u32 *order = xcalloc(p->weights.nr + 1, sizeof(order[0]));

	*nr = 0;
	for (u32 i = 0; i < p->weights.nr; i++)
		if (p->weights.at[i].value)
			order[(*nr)++] = i;
	qsort_r(order, *nr, sizeof(order[0]), by_labels, (void *)p);
	return order;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool id_from_hex(const char *text, u8 *out, size_t len)
{
	if (strlen(text) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (u8)(high << 4 | low);
	}
	return true;
}

char *id_to_hex(const u8 *id, size_t len)
{
	struct str text = { 0 };
	u8 any = 0;

	str_add(&text, "");
	for (size_t i = 0; i < len; i++) {
		str_addf(&text, "%02x", id[i]);
		any |= id[i];
	}
	if (!any)
		str_clear(&text);
	return str_take(&text);
}

void texts_init(struct texts *t)
{
	*t = (struct texts){ 0 };
	texts_add(t, "");
}

void texts_fini(struct texts *t)
{
	vec_each(text, &t->all)
		free(*text);
	vec_fini(&t->all);
	dict_fini(&t->by_hash);
}

u32 texts_add(struct texts *t, const char *text)
{
	u64 hash = hash_keyed(text, strlen(text)), *at;

	for (; *(at = dict_add(&t->by_hash, hash)); hash++)
		if (!strcmp(t->all.at[*at - 1], text))
			return (u32)*at - 1;
	vec_push(&t->all, xstrdup(text));
	*at = t->all.nr;
	return (u32)*at - 1;
}

void stack_adder_init(struct stack_adder *a, struct profile *p)
{
	*a = (struct stack_adder){ .p = p };
}

void stack_adder_fini(struct stack_adder *a)
{
	vec_fini(&a->frames);
	vec_fini(&a->last_frames);
	vec_fini(&a->last_nodes);
	vec_fini(&a->sums);
}

int stack_find(struct stack_adder *a, node_id *node, struct str *why)
{
	size_t depth = 0;

	if (a->frames.nr > FORMAT_DEPTH_MAX) {
		str_add(why, "the stack is deeper than 65,535 frames");
		return -EINVAL;
	}
	while (depth < a->frames.nr && depth < a->last_frames.nr &&
	       a->frames.at[depth] == a->last_frames.at[depth])
		depth++;
	a->last_frames.nr = a->last_nodes.nr = depth;
	*node = depth ? a->last_nodes.at[depth - 1] : 0;
	for (; depth < a->frames.nr; depth++) {
		*node = profile_child(a->p, *node, a->frames.at[depth]);
		vec_push(&a->last_frames, a->frames.at[depth]);
		vec_push(&a->last_nodes, *node);
	}
	a->frames.nr = 0;
	return 0;
}

int stack_add(struct stack_adder *a, node_id node, labels_id labels, u32 type, s64 value,
	      struct str *why)
{
	while (a->sums.nr <= type) {
		u64 sum = profile_total(a->p, (u32)a->sums.nr);
		vec_push(&a->sums, sum);
	}
	if (value < 0) {
		str_addf(why, "the value %lld is negative", (long long)value);
		return -EINVAL;
	}
	if ((u64)value > VARINT_MAX - a->sums.at[type]) {
		str_add(why, "the values add up to more than 2^53 - 1");
		return -EINVAL;
	}
	a->sums.at[type] += (u64)value;
	if (value)
		profile_add(a->p, node, labels, type, (u64)value);
	return 0;
}
