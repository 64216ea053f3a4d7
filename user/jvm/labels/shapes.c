/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of classes. */
#include "jvm/labels/shapes.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/memory/method.h"

#define SUPERS_MAX   32
#define FIELDS_SHOWN 8

bool jdk_is_a(const struct vm_memory *j, u64 klass, u64 super)
{
	for (int i = 0; i < SUPERS_MAX && klass && super; i++) {
		if (klass == super)
			return true;
		if (vm_read(j, klass, KLASS_SUPER, &klass))
			return false;
	}
	return false;
}

char *jdk_class_name(const struct vm_memory *j, u64 klass)
{
	auto_free char *text = NULL;
	struct str clean = { 0 };
	u64 symbol;
	size_t len;

	if (vm_read(j, klass, KLASS_NAME, &symbol) || method_symbol(j, symbol, &text, &len))
		return xstrdup("?");
	auto_free char *name = xstrndup(text, len);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
	utf8_clean(&clean, name, 100);
	str_add(&clean, "");
	return str_take(&clean);
}

/* Explains that a class has no such field, with those that it has. */
static void explain_field(const struct vm_memory *j, u64 klass, const char *field, struct str *why)
{
	auto_free char *class = jdk_class_name(j, klass);
	auto_str struct str has = { 0 };
	struct java_fields fields = { 0 };

	str_add(&has, "");
	if (!java_fields_read(j, klass, &fields))
		for (size_t i = 0; i < fields.list.nr && i < FIELDS_SHOWN; i++)
			str_addf(&has, "%s%.40s", i ? ", " : "", fields.list.at[i].name);
	auto_str struct str clean = { 0 };
	utf8_clean(&clean, has.at, 180);
	str_addf(why, "class %s has no field %.60s%s%s", class, field, has.len ? "; it has " : "",
		 clean.at ?: "");
	java_fields_fini(&fields);
}

int jdk_field_of(const struct vm_memory *j, u64 klass, const char *names, u32 *offset, char *type,
		 struct str *why)
{
	char name[JAVA_FIELD_NAME_MAX * 4];
	int err = -ENOENT;

	for (const char *rest = names; err == -ENOENT && path_name_next(&rest, name, sizeof(name));)
		err = java_field_of(j, klass, name, offset, type);
	if (err == -ENOENT)
		explain_field(j, klass, names, why);
	return err;
}

static u8 number_bytes(char type)
{
	switch (type) {
	case 'Z':
	case 'B':
		return 1;
	case 'S':
	case 'C':
		return 2;
	case 'I':
		return 4;
	case 'J':
		return 8;
	default:
		return 0;
	}
}

/* The step to a field of the object. */
static int add_field(const struct vm_memory *j, u64 klass, const struct label_way *way, u32 step,
		     const char *names, struct java_shape *s, struct str *why)
{
	u32 offset;
	char type;
	int err = jdk_field_of(j, klass, names, &offset, &type, why);

	if (err)
		return err;
	s->field = (u16)offset;
	if (type == 'L' || type == '[')
		return 0;
	s->kind = SHAPE_NUMBER;
	s->bytes = number_bytes(type);
	if (!s->bytes)
		str_addf(why, "field %.60s is a number with a fraction", names);
	else if (step + 1 < way->nr_parts)
		str_addf(why, "field %.60s is a number: it has no field %.60s", names,
			 way->parts[step + 1].text);
	return why->len ? -ENOENT : 1;
}

/* Offset of a field that is near its object's head. */
static int near_field(const struct vm_memory *j, u64 klass, const char *name, u8 *out)
{
	u32 offset;
	char type;
	int err = klass ? java_field_of(j, klass, name, &offset, &type) : -ENOENT;

	if (!err && offset > UINT8_MAX)
		return -ENOENT;
	*out = err ? 0 : (u8)offset;
	return err;
}

static int add_map(const struct vm_memory *j, u64 map, u64 node, const char *value,
		   struct java_shape *s)
{
	u32 offset;
	char type;
	int err = java_field_of(j, map, "table", &offset, &type);

	err = err ?: near_field(j, node, "hash", &s->node_hash);
	err = err ?: near_field(j, node, "key", &s->node_key);
	err = err ?: near_field(j, node, value, &s->node_value);
	err = err ?: near_field(j, node, "next", &s->node_next);
	s->kind = SHAPE_MAP;
	s->field = err ? 0 : (u16)offset;
	return err;
}

static int add_sorted(const struct vm_memory *j, u64 klass, struct java_shape *s)
{
	u32 keys, values;
	char type;
	int err = java_field_of(j, klass, "keys", &keys, &type);

	err = err ?: java_field_of(j, klass, "values", &values, &type);
	s->kind = SHAPE_SORTED;
	s->field = err ? 0 : (u16)keys;
	s->other = err ? 0 : (u16)values;
	return err;
}

/* The step from a map to the value of a key. */
static int add_key(const struct vm_memory *j, const struct label_jvm *of, u64 klass,
		   struct java_shape *s, struct str *why)
{
	static const char *const wrappers[] = { "java.util.Collections$SynchronizedMap",
						"java.util.Collections$UnmodifiableMap" };
	auto_free char *name = jdk_class_name(j, klass);
	const struct boot_class *c = of->classes;
	u32 offset;
	char type;

	if (jdk_is_a(j, klass, c[OF_HASH_MAP].klass))
		return add_map(j, c[OF_HASH_MAP].klass, c[OF_HASH_NODE].klass, "value", s);
	if (jdk_is_a(j, klass, c[OF_CONCURRENT_MAP].klass))
		return add_map(j, c[OF_CONCURRENT_MAP].klass, c[OF_CONCURRENT_NODE].klass, "val",
			       s);
	if (!strcmp(name, "org.apache.logging.log4j.util.SortedArrayStringMap"))
		return add_sorted(j, klass, s);
	if (!strncmp(name, "[L", 2)) {
		s->kind = SHAPE_PAIRS;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		if (strcmp(name, wrappers[i]) != 0 || java_field_of(j, klass, "m", &offset, &type))
			continue;
		s->field = (u16)offset;
		s->next = s->step;
		return 0;
	}
	str_addf(why, "class %s is no map whose keys can be looked up", name);
	return -ENOENT;
}

/* The last object: a String, an enum's constant, or a boxed number. */
static int add_end(const struct vm_memory *j, const struct label_jvm *of,
		   const struct label_way *way, u64 klass, struct java_shape *s, struct str *why)
{
	static const char *const boxes[] = { "Integer", "Long",      "Short",
					     "Byte",    "Character", "Boolean" };

	s->next = s->step;
	if (klass == of->classes[OF_STRING].klass) {
		s->kind = SHAPE_TEXT;
		return 1;
	}
	if (jdk_is_a(j, klass, of->classes[OF_ENUM].klass))
		return add_field(j, klass, way, s->step, "name", s, why);
	auto_free char *name = jdk_class_name(j, klass);
	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
		if (!strncmp(name, "java.lang.", 10) && !strcmp(name + 10, boxes[i]))
			return add_field(j, klass, way, s->step, "value", s, why);
	str_addf(why, "its value is a %s, neither text nor a number: name a field of it", name);
	return -ENOENT;
}

static u32 nr_keys(const struct path_part *part)
{
	u32 nr = part->is_key;

	for (const char *c = part->text; part->is_key && *c; c++)
		nr += *c == '|';
	return nr;
}

int shape_add(const struct vm_memory *j, const struct label_jvm *of, const struct label_way *way,
	      u32 step, u64 class, struct java_label *out, struct str *why)
{
	const struct java_objects *o = &of->objects;
	struct java_shape s = { .class = class, .step = (u8)step, .next = (u8)(step + 1) };
	u64 klass = o->klass_base + (class << o->klass_shift);
	int err;

	/* not each word that a header seems to have is a class */
	if (!class || step > way->nr_parts || !jdk_is_a(j, klass, of->classes[OF_OBJECT].klass))
		return -EFAULT;
	if (out->nr_shapes == JAVA_SHAPES) {
		str_addf(why, "objects of more than %d classes lead to its value", JAVA_SHAPES);
		return -E2BIG;
	}
	if (step == way->nr_parts) {
		err = add_end(j, of, way, klass, &s, why);
	} else if (way->parts[step].is_key) {
		for (u32 i = 0; i < step; i++)
			s.key = (u8)(s.key + nr_keys(&way->parts[i]));
		s.nr_keys = (u8)nr_keys(&way->parts[step]);
		err = add_key(j, of, klass, &s, why);
	} else {
		err = add_field(j, klass, way, step, way->parts[step].text, &s, why);
	}
	if (err == -ENOENT && way->is_preset) {
		s.kind = SHAPE_NOTHING;
		err = 0;
	}
	if (err >= 0)
		out->shapes[out->nr_shapes++] = s;
	return err;
}

/* String.hashCode, as HashMap spreads it. */
static u32 hash_of(const char *text, size_t len)
{
	u32 hash = 0;

	for (size_t i = 0; i < len; i++)
		hash = 31 * hash + (u8)text[i];
	return hash ^ hash >> 16;
}

int shape_keys(const struct label_way *way, struct java_label *out, struct str *why)
{
	u32 nr = 0;

	for (u32 i = 0; i < way->nr_parts; i++) {
		const char *rest = way->parts[i].text;
		char text[JAVA_KEY_BYTES + 1];
		while (way->parts[i].is_key && path_name_next(&rest, text, sizeof(text))) {
			size_t len = strlen(text);
			if (nr == JAVA_KEYS) {
				str_addf(why, "more than %d keys lead to its value", JAVA_KEYS);
				return -E2BIG;
			}
			out->keys[nr].hash = hash_of(text, len);
			out->keys[nr].bytes = (u32)len;
			memcpy(out->keys[nr++].text, text, len);
		}
	}
	return 0;
}
