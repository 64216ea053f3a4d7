/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and classes of a JFR recording. Part of export/readers/jfr_chunk.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/interchange/jfr.h"
#include "export/readers/jfr_chunk.h"
#include "profile/frames/java_signature.h"

#define NAMES_MAX_BYTES (256u << 20) /* a few bytes of a hostile file can name much */

int jfr_damaged(struct str *why, const char *what)
{
	str_addf(why, "damaged JFR recording: %s", what);
	return -EINVAL;
}

bool jfr_field_text(struct jfr_stacks *s, const struct jfr_value *v, const char *field,
		    struct str *out)
{
	struct jfr_value text;

	str_add(out, "");
	return jfr_find(&s->chunk, v, field, &text) && jfr_text(&s->chunk, &text, out);
}

void jfr_class_name(struct jfr_stacks *s, const struct jfr_value *field, struct str *out)
{
	auto_str struct str name = { 0 };
	struct jfr_value class;

	if (jfr_constant(&s->chunk, field, &class) && jfr_field_text(s, &class, "name", &name) &&
	    name.len)
		jfr_add_class_name(out, name.at);
}

static int intern_name(struct jfr_stacks *s, enum frame_kind kind, const struct str *name,
		       const char *module, u32 line, frame_id *frame)
{
	s->name_bytes += name->len + strlen(module);
	if (s->name_bytes > NAMES_MAX_BYTES)
		return jfr_damaged(s->why, "its names are more than 256 MB");
	*frame = frames_intern_line(s->p->frames, kind, name->at, module,
				    (struct source_line){ "", line });
	return 0;
}

/* The words of the JDK, then those of async-profiler. A method without a class is not Java. */
static enum frame_kind kind_of(const char *type, bool has_class)
{
	static const struct {
		const char *type;
		enum frame_kind kind;
	} all[] = {
		{ "Interpreted", FRAME_INTERPRETED }, { "JIT compiled", FRAME_C2 },
		{ "Inlined", FRAME_INLINED },         { "C1 compiled", FRAME_C1 },
		{ "Kernel", FRAME_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].type, type))
			return all[i].kind;
	return has_class ? FRAME_C2 : FRAME_NATIVE;
}

/* "Native" means the JDK's native methods, but in async-profiler's files functions of libraries. */
static bool is_of_library(const struct jfr_stacks *s, const char *type)
{
	return s->has_libraries &&
	       (!strcmp(type, "Native") || !strcmp(type, "C++") || !strcmp(type, "Kernel"));
}

/* The kind that sysflame writes beside a library. Returns false for a class of Java. */
static bool own_kind(struct jfr_stacks *s, const struct jfr_value *class_field,
		     enum frame_kind *kind)
{
	struct jfr_value class, field;

	if (!s->is_own || !jfr_constant(&s->chunk, class_field, &class) ||
	    !jfr_find(&s->chunk, &class, JFR_KIND_FIELD, &field))
		return false;
	u64 number = jfr_number(&field);
	*kind = number <= NR_FRAME_KINDS ? (enum frame_kind)(number - 1) : FRAME_UNKNOWN;
	return number > 0;
}

static int read_method(struct jfr_stacks *s, const struct jfr_value *method, const char *type,
		       u32 line, frame_id *frame)
{
	auto_str struct str class = { 0 }, name = { 0 }, descriptor = { 0 };
	struct jfr_value value, field;
	enum frame_kind own;

	str_add(&class, "");
	if (!jfr_constant(&s->chunk, method, &value)) {
		if (!s->is_partial)
			return jfr_damaged(s->why, "a frame without a method");
		str_add(&name, "[unknown]"); /* its constant was not written yet */
		return intern_name(s, FRAME_UNKNOWN, &name, "", line, frame);
	}
	bool has_type = jfr_find(&s->chunk, &value, "type", &field);
	if (has_type)
		jfr_class_name(s, &field, &class);
	jfr_field_text(s, &value, "name", &name);
	if (has_type && own_kind(s, &field, &own))
		return intern_name(s, own, &name, class.at, line, frame);
	if (is_of_library(s, type)) {
		enum frame_kind kind = strcmp(type, "Kernel") == 0     ? FRAME_KERNEL
				       : strstr(class.at, "libjvm.so") ? FRAME_JVM
								       : FRAME_NATIVE;
		return intern_name(s, kind, &name, class.at, 0, frame);
	}
	bool has_class = class.len > 0;
	if (has_class && name.len)
		str_add_char(&class, '.');
	str_add(&class, name.at);
	if (frames_keeps_signatures(s->p->frames) &&
	    jfr_field_text(s, &value, "descriptor", &descriptor))
		java_signature_show(descriptor.at, &class);
	return intern_name(s, kind_of(type, has_class), &class, "", line, frame);
}

enum frame_field {
	FRAME_METHOD,
	FRAME_TYPE,
	FRAME_LINE,
	NR_FRAME_FIELDS,
};

static const char *const frame_fields[NR_FRAME_FIELDS] = { "method", "type", "lineNumber" };

/* Names a frame that this chunk did not have before. */
static int new_frame(struct jfr_stacks *s, const struct jfr_value *v, u32 line, frame_id *frame)
{
	auto_str struct str type = { 0 };
	struct jfr_value fields[NR_FRAME_FIELDS];

	jfr_find_all(&s->chunk, v, frame_fields, NR_FRAME_FIELDS, fields);
	if (!fields[FRAME_METHOD].class || !fields[FRAME_METHOD].is_constant)
		return jfr_damaged(s->why, "a frame without a method");
	str_add(&type, "");
	if (fields[FRAME_TYPE].class)
		jfr_text(&s->chunk, &fields[FRAME_TYPE], &type);
	return read_method(s, &fields[FRAME_METHOD], type.at, line, frame);
}

/* Reads a frame and moves past it. The JDK writes line -1 if it is unknown. */
static int read_frame(struct jfr_stacks *s, struct jfr_value *v, frame_id *frame)
{
	struct jfr_value start = *v;
	u64 numbers[NR_FRAME_FIELDS];

	if (!jfr_take_numbers(&s->chunk, v, frame_fields, NR_FRAME_FIELDS, numbers))
		return jfr_damaged(s->why, "a stack is cut off");
	bool has_line = frames_keeps_lines(s->p->frames) && numbers[FRAME_LINE] <= INT32_MAX;
	u32 line = has_line ? (u32)numbers[FRAME_LINE] : 0;
	u64 key = hash_u64(numbers[FRAME_METHOD] ^ hash_u64(numbers[FRAME_TYPE] ^ (u64)line << 32));
	struct recent_method *recent = &s->recent[key % JFR_RECENT];
	if (recent->key != key || !recent->known) {
		u64 *known = dict_add(&s->methods, key);
		if (!*known) {
			int err = new_frame(s, &start, line, frame);
			if (err)
				return err;
			*known = *frame + 1ull;
		}
		*recent = (struct recent_method){ key, *known };
	}
	*frame = (frame_id)(recent->known - 1);
	return 0;
}

/* Reads a stack; its frames are stored leaf first. */
static int read_stack(struct jfr_stacks *s, const struct jfr_value *stack_frames, node_id *node)
{
	struct jfr_value frame;

	if (!stack_frames->class)
		return jfr_damaged(s->why, "a stack without frames");
	u64 nr = jfr_elements(stack_frames, &frame);
	for (u64 i = 0; i < nr; i++) {
		frame_id id;
		int err = frame.is_constant ? jfr_damaged(s->why, "frames apart from their stack")
					    : read_frame(s, &frame, &id);
		if (err)
			return err;
		vec_push(&s->adder.frames, id);
	}
	for (size_t i = 0, k = s->adder.frames.nr; i + 1 < k; i++) {
		frame_id swap = s->adder.frames.at[i];
		s->adder.frames.at[i] = s->adder.frames.at[--k];
		s->adder.frames.at[k] = swap;
	}
	return stack_find(&s->adder, node, s->why);
}

enum stack_field {
	STACK_FRAMES,
	STACK_TRUNCATED,
	NR_STACK_FIELDS,
};

static const char *const stack_fields[NR_STACK_FIELDS] = { "frames", "truncated" };

int jfr_find_stack(struct jfr_stacks *s, const struct jfr_value *field, node_id *node)
{
	struct jfr_value stack, fields[NR_STACK_FIELDS];
	u64 *known = NULL;

	if (field->class && field->is_constant)
		known = dict_find(&s->stacks, jfr_number(field));
	if (!known) {
		if (!field->class || !jfr_constant(&s->chunk, field, &stack)) {
			s->nr_no_stack++;
			*node = profile_no_stack(s->p);
			return 0;
		}
		jfr_find_all(&s->chunk, &stack, stack_fields, NR_STACK_FIELDS, fields);
		int err = read_stack(s, &fields[STACK_FRAMES], node);
		if (err)
			return err;
		bool is_cut = fields[STACK_TRUNCATED].class && jfr_number(&fields[STACK_TRUNCATED]);
		known = dict_add(&s->stacks, jfr_number(field));
		*known = (*node + 1ull) << 1 | is_cut;
	}
	*node = (node_id)((*known >> 1) - 1);
	s->nr_cut += *known & 1;
	return 0;
}

int jfr_add_class(struct jfr_stacks *s, const struct jfr_value *field, node_id *node)
{
	auto_str struct str name = { 0 };
	frame_id frame;

	if (!field->class || !field->is_constant)
		return 0;
	u64 *known = dict_add(&s->classes, jfr_number(field));
	if (!*known) {
		jfr_class_name(s, field, &name);
		int err = name.len ? intern_name(s, FRAME_CLASS, &name, "", 0, &frame) : 0;
		if (err)
			return err;
		*known = name.len ? frame + 2ull : 1;
	}
	if (*known > 1)
		*node = profile_child(s->p, *node, (frame_id)(*known - 2));
	return 0;
}

void jfr_stacks_init(struct jfr_stacks *s, struct profile *p, struct str *why)
{
	*s = (struct jfr_stacks){ .p = p, .why = why };
	stack_adder_init(&s->adder, p);
}

void jfr_stacks_fini(struct jfr_stacks *s)
{
	stack_adder_fini(&s->adder);
}

int jfr_stacks_open(struct jfr_stacks *s, const u8 *at, size_t len, bool is_partial,
		    struct str *why)
{
	int err = jfr_chunk_open(at, len, is_partial, &s->chunk, why);

	s->is_partial = is_partial;
	s->has_libraries = !err && jfr_has_constant(&s->chunk, "jdk.types.FrameType", "Kernel");
	s->is_own = !err && jfr_has_class(&s->chunk, JFR_OWN_SAMPLE);
	return err;
}

void jfr_stacks_close(struct jfr_stacks *s)
{
	dict_fini(&s->stacks);
	dict_fini(&s->methods);
	dict_fini(&s->classes);
	s->stacks = s->methods = s->classes = (struct dict){ 0 };
	memset(s->recent, 0, sizeof(s->recent));
	jfr_chunk_close(&s->chunk);
}
