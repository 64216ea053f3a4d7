/* SPDX-License-Identifier: Apache-2.0 */
/* How to read ThreadLocals of a JVM. */
#include "jvm/labels/thread_local.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/boot_classes.h"
#include "jvm/memory/java_objects.h"
#include "jvm/memory/method.h"

#define LOOK_NS                 NS_PER_SEC       /* between looks while something is missing */
#define CHECK_NS                (5 * NS_PER_SEC) /* and once everything is found */
#define LIMIT_NS                (20 * NS_PER_MS) /* of work in one look */
#define PARTS_MAX               12               /* of a path */
#define PROBES                  8                /* as in bpf/java_value.bpf.c */
#define TABLE_MAX               (1u << 20)
#define HEAD_BYTES              16
#define WHY_BYTES               300
#define SUPERS_MAX              32
#define THREADS_ASKED           64 /* in a look, for a value */
#define FIELDS_SHOWN            8
#define JDK_WITH_HANDLES        10 /* Klass::_java_mirror is a pointer to the reference */
#define JDK_WITH_THREAD_HANDLES 16 /* JavaThread::_threadObj likewise */

enum jdk_class {
	OF_THREAD,
	OF_MAP,
	OF_ENTRY,
	OF_REFERENCE,
	OF_LOCAL,
	OF_INHERITABLE,
	OF_STRING,
	OF_ENUM,
	NR_JDK_CLASSES,
};

static const char *const class_names[NR_JDK_CLASSES] = {
	[OF_THREAD] = "java/lang/Thread",
	[OF_MAP] = "java/lang/ThreadLocal$ThreadLocalMap",
	[OF_ENTRY] = "java/lang/ThreadLocal$ThreadLocalMap$Entry",
	[OF_REFERENCE] = "java/lang/ref/Reference",
	[OF_LOCAL] = "java/lang/ThreadLocal",
	[OF_INHERITABLE] = "java/lang/InheritableThreadLocal",
	[OF_STRING] = "java/lang/String",
	[OF_ENUM] = "java/lang/Enum",
};

/* A label while it is looked for. */
struct wanted_label {
	char text[256]; /* the path, cut at its dots */
	const char *parts[PARTS_MAX];
	u32 nr_parts;
	char names[PARTS_MAX][256]; /* "com", "com/acme", "com/acme/Request" */
	struct boot_class candidates[PARTS_MAX];
	u64 klass; /* of CLASS; 0: not found yet */
	u32 field; /* index of FIELD in `parts` */
	bool is_found;
	char why[WHY_BYTES];
};

struct thread_locals {
	const struct thread_local_spec *specs;
	u32 nr;
	u64 next_ns;
	struct java_objects objects;
	struct boot_search jdk, loaded;
	struct boot_class classes[NR_JDK_CLASSES];
	u16 locals, inheritable;
	bool has_place;
	struct java_place place;
	size_t next_thread; /* to be asked for a value */
	struct wanted_label labels[JAVA_LABELS];
};

/* Names of Java may have letters beyond ASCII. */
static bool has_only(const char *text, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((u8)text[i]) && !((u8)text[i] & 0x80) && !strchr(others, text[i]))
			return false;
	return len;
}

int thread_local_parse(const char *text, struct thread_local_spec *out, struct str *why)
{
	const char *sign = strchr(text, '=');
	size_t name = sign ? (size_t)(sign - text) : 0, path = sign ? strlen(sign + 1) : 0;
	u32 dots = 0;

	*out = (struct thread_local_spec){ 0 };
	for (size_t i = 0; i < path; i++)
		dots += sign[1 + i] == '.';
	if (!has_only(text, name, "_-.") || !has_only(sign + 1, path, "_$.") ||
	    name >= sizeof(out->name) || path >= sizeof(out->path) || !dots || dots >= PARTS_MAX ||
	    strstr(sign, "..") || sign[1] == '.' || sign[path] == '.') {
		str_add(why, "takes NAME=CLASS.FIELD[.field..], as in "
			     "route=com.acme.Request.CURRENT.route");
		return -EINVAL;
	}
	memcpy(out->name, text, name);
	memcpy(out->path, sign + 1, path);
	return 0;
}

/* The classes that the path may name: all its beginnings but the whole. */
static void cut(struct wanted_label *l, const char *path)
{
	auto_str struct str name = { 0 };
	char *rest = l->text;

	copy_text(l->text, sizeof(l->text), path);
	for (char *part; l->nr_parts < PARTS_MAX && (part = strsep(&rest, "."));)
		l->parts[l->nr_parts++] = part;
	for (u32 i = 0; i + 1 < l->nr_parts; i++) {
		str_addf(&name, "%s%s", i ? "/" : "", l->parts[i]);
		copy_text(l->names[i], sizeof(l->names[i]), name.at);
		l->candidates[i].name = l->names[i];
	}
	snprintf(l->why, sizeof(l->why), "its class is looked for");
}

struct thread_locals *thread_locals_new(const struct thread_local_spec *specs, u32 nr)
{
	struct thread_locals *t = xcalloc(1, sizeof(*t));

	t->specs = specs;
	t->nr = nr < JAVA_LABELS ? nr : JAVA_LABELS;
	for (size_t i = 0; i < NR_JDK_CLASSES; i++)
		t->classes[i].name = class_names[i];
	for (u32 i = 0; i < t->nr; i++)
		cut(&t->labels[i], specs[i].path);
	return t;
}

void thread_locals_free(struct thread_locals *t)
{
	if (!t)
		return;
	boot_search_fini(&t->jdk);
	boot_search_fini(&t->loaded);
	free(t);
}

/* Sets *to to the field's offset; -ENOENT if this JDK lacks it. */
static int find_field(const struct thread_locals *t, const struct vm_memory *j,
		      enum jdk_class class, const char *name, u16 *to)
{
	u32 offset;
	char type;
	int err = java_field_of(j, t->classes[class].klass, name, &offset, &type);

	if (!err)
		*to = (u16)offset;
	return err;
}

static int find_fields(struct thread_locals *t, const struct vm_memory *j)
{
	struct java_place *p = &t->place;
	int err = find_field(t, j, OF_THREAD, "threadLocals", &t->locals);

	err = err ?: find_field(t, j, OF_THREAD, "inheritableThreadLocals", &t->inheritable);
	err = err ?: find_field(t, j, OF_MAP, "table", &p->table);
	err = err ?: find_field(t, j, OF_ENTRY, "value", &p->value);
	err = err ?: find_field(t, j, OF_REFERENCE, "referent", &p->referent);
	err = err ?: find_field(t, j, OF_LOCAL, "threadLocalHashCode", &p->hash);
	err = err ?: find_field(t, j, OF_STRING, "value", &p->text);
	if (!err && j->jdk > 8)
		err = find_field(t, j, OF_STRING, "coder", &p->coder);
	return err;
}

static u16 offset_of(const struct vm_memory *j, enum jvm_slot slot)
{
	return vm_has(&j->build, slot) ? (u16)j->build.fields[slot].at : HOTSPOT_NO_FIELD;
}

/* What holds for all labels of the JVM. */
static int find_place(struct thread_locals *t, struct hotspot *h)
{
	const struct vm_memory *j = &h->jvm;
	struct java_place *p = &t->place;
	int err = t->objects.reference_bytes ? 0 : java_objects_find(j, &t->objects);

	err = err ?: boot_classes_find(j, &t->jdk, t->classes, NR_JDK_CLASSES, LIMIT_NS);
	if (err)
		return err;
	for (size_t i = 0; i < NR_JDK_CLASSES; i++)
		if (!t->classes[i].klass && i != OF_INHERITABLE && i != OF_ENUM)
			return -EAGAIN;
	hotspot_find_tls(h);
	if (!h->tls_module)
		return -EAGAIN;
	err = find_fields(t, j);
	if (err)
		return err;
	const struct java_objects *o = &t->objects;
	p->tls_module = h->tls_module;
	p->tls_offset = h->tls_offset;
	p->virtual_thread = offset_of(j, THREAD_RUNS);
	p->thread = offset_of(j, THREAD_OBJECT);
	p->thread_is_reference = j->jdk < JDK_WITH_THREAD_HANDLES;
	p->narrow_base = o->narrow_base;
	p->narrow_shift = (u8)o->narrow_shift;
	p->reference_bytes = (u8)o->reference_bytes;
	p->is_colored = o->is_colored;
	p->array_length = (u16)o->array_length;
	p->array_references = (u16)o->array_references;
	p->array_bytes = (u16)o->array_data;
	p->class_at = (u16)o->class_off;
	p->class_bytes = (u8)o->class_bytes;
	p->class_shift = (u8)o->class_shift;
	p->string_class = java_class_value(o, t->classes[OF_STRING].klass);
	t->has_place = true;
	return 0;
}

static u64 read_reference(const struct thread_locals *t, const struct vm_memory *j, u64 addr)
{
	u64 raw = 0;

	return mem_read(j->mem, addr, &raw, t->objects.reference_bytes)
		       ? 0
		       : java_address(&t->objects, raw);
}

static u64 read_root(const struct thread_locals *t, const struct vm_memory *j, u64 handle)
{
	u64 raw = 0;

	return handle && !mem_read_u64(j->mem, handle, &raw) ? java_root(&t->objects, raw) : 0;
}

/* The Klass of an object; 0 if it cannot be read. */
static u64 klass_of(const struct thread_locals *t, const struct vm_memory *j, u64 object)
{
	const struct java_objects *o = &t->objects;
	u8 head[HEAD_BYTES];

	if (!object || mem_read(j->mem, object, head, sizeof(head)))
		return 0;
	return o->klass_base + (java_part_class(o, head, sizeof(head)) << o->klass_shift);
}

static bool is_a(const struct vm_memory *j, u64 klass, u64 super)
{
	for (int i = 0; i < SUPERS_MAX && klass && super; i++) {
		if (klass == super)
			return true;
		if (vm_read(j, klass, KLASS_SUPER, &klass))
			return false;
	}
	return false;
}

/* The name of a class for people; the caller frees it. */
static char *name_of(const struct vm_memory *j, u64 klass)
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
static void explain_field(struct wanted_label *l, const struct vm_memory *j, u64 klass,
			  const char *field)
{
	auto_free char *class = name_of(j, klass);
	auto_str struct str has = { 0 };
	struct java_fields fields = { 0 };

	str_add(&has, "");
	if (!java_fields_read(j, klass, &fields))
		for (size_t i = 0; i < fields.list.nr && i < FIELDS_SHOWN; i++)
			str_addf(&has, "%s%.40s", i ? ", " : "", fields.list.at[i].name);
	auto_str struct str clean = { 0 };
	utf8_clean(&clean, has.at, 180);
	snprintf(l->why, sizeof(l->why), "class %s has no field %.60s%s%s", class, field,
		 has.len ? "; it has " : "", clean.at ?: "");
	java_fields_fini(&fields);
}

/* Finds the static field, and the ThreadLocal in it. */
static int find_local(struct thread_locals *t, const struct vm_memory *j, struct wanted_label *l,
		      struct java_label *out)
{
	u64 handle;
	u32 offset, hash;
	char type;
	int err = java_field_of(j, l->klass, l->parts[l->field], &offset, &type);

	if (err == -ENOENT)
		explain_field(l, j, l->klass, l->parts[l->field]);
	err = err ?: vm_read(j, l->klass, KLASS_MIRROR, &handle);
	if (err)
		return err;
	u64 mirror = j->jdk < JDK_WITH_HANDLES ? handle : read_root(t, j, handle);
	u64 local = mirror ? read_reference(t, j, mirror + offset) : 0;
	u64 klass = klass_of(t, j, local);
	if (!klass || !is_a(j, klass, t->classes[OF_LOCAL].klass)) {
		snprintf(l->why, sizeof(l->why), "field %.80s has no ThreadLocal (yet)",
			 l->parts[l->field]);
		return -EAGAIN;
	}
	err = mem_read(j->mem, local + t->place.hash, &hash, sizeof(hash));
	if (err)
		return err;
	out->hash = hash;
	out->locals = is_a(j, klass, t->classes[OF_INHERITABLE].klass) ? t->inheritable : t->locals;
	return 0;
}

/* The thread that a JavaThread runs, as in bpf/java_value.bpf.c. */
static u64 thread_of(const struct thread_locals *t, const struct vm_memory *j, u64 java_thread)
{
	const struct java_place *p = &t->place;
	u16 at = p->virtual_thread != HOTSPOT_NO_FIELD ? p->virtual_thread : p->thread;
	u64 handle;

	if (mem_read_u64(j->mem, java_thread + at, &handle))
		return 0;
	return p->thread_is_reference ? java_root(&t->objects, handle) : read_root(t, j, handle);
}

static u64 value_of(const struct thread_locals *t, const struct vm_memory *j, u64 thread,
		    const struct java_label *label)
{
	const struct java_place *p = &t->place;
	u64 map = read_reference(t, j, thread + label->locals);
	u64 table = map ? read_reference(t, j, map + p->table) : 0;
	u32 length;

	if (!table || mem_read(j->mem, table + p->array_length, &length, sizeof(length)) ||
	    !length || length > TABLE_MAX || length & (length - 1))
		return 0;
	for (u32 i = 0; i < PROBES; i++) {
		u32 slot = (label->hash + i) & (length - 1), hash = 0;
		u64 entry = read_reference(
			t, j, table + p->array_references + (u64)slot * p->reference_bytes);
		u64 key = entry ? read_reference(t, j, entry + p->referent) : 0;
		if (!entry)
			return 0;
		if (key && !mem_read(j->mem, key + p->hash, &hash, sizeof(hash)) &&
		    hash == label->hash)
			return read_reference(t, j, entry + p->value);
	}
	return 0;
}

/* A value that some thread has set now; 0 if none of those that were asked has. */
static u64 find_live_value(struct thread_locals *t, const struct vm_memory *j,
			   const struct java_label *label)
{
	struct java_threads list = { 0 };
	u64 value = 0;

	if (hotspot_list_threads(j, &list))
		return 0;
	auto_free u64 *addresses = list.at;
	for (size_t i = 0; !value && i < list.nr && i < THREADS_ASKED; i++) {
		u64 thread = thread_of(t, j, addresses[(t->next_thread + i) % list.nr]);
		value = thread ? value_of(t, j, thread, label) : 0;
	}
	t->next_thread += value ? 0 : THREADS_ASKED;
	return value;
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

/*
 * Adds the step from an object to a field of it. *object becomes the object there; 0 if the field
 * is a number, or null.
 */
static int add_step(struct thread_locals *t, const struct vm_memory *j, struct wanted_label *l,
		    const char *field, u64 *object, struct java_label *out)
{
	u64 klass = klass_of(t, j, *object);
	u32 offset;
	char type;

	if (!klass)
		return -EAGAIN;
	if (out->nr_steps == JAVA_STEPS) {
		snprintf(l->why, sizeof(l->why), "more than %d fields lead to its value",
			 JAVA_STEPS);
		return -E2BIG;
	}
	int err = java_field_of(j, klass, field, &offset, &type);
	if (err == -ENOENT)
		explain_field(l, j, klass, field);
	if (err)
		return err;
	out->steps[out->nr_steps++] =
		(struct java_step){ .class = java_class_value(&t->objects, klass),
				    .field = (u16)offset };
	if (type == 'L' || type == '[') {
		*object = read_reference(t, j, *object + offset);
		if (!*object)
			snprintf(l->why, sizeof(l->why), "field %.60s is null (yet)", field);
		return *object ? 0 : -EAGAIN;
	}
	out->number_bytes = number_bytes(type);
	*object = 0;
	if (!out->number_bytes)
		snprintf(l->why, sizeof(l->why), "field %.60s is a number with a fraction", field);
	return out->number_bytes ? 0 : -ENOENT;
}

/* The last object: a String, an enum's constant, or a boxed number. */
static int end_path(struct thread_locals *t, const struct vm_memory *j, struct wanted_label *l,
		    u64 object, struct java_label *out)
{
	u64 klass = klass_of(t, j, object);
	auto_free char *name = NULL;

	if (!klass)
		return -EAGAIN;
	if (klass == t->classes[OF_STRING].klass)
		return 0;
	if (is_a(j, klass, t->classes[OF_ENUM].klass))
		return add_step(t, j, l, "name", &object, out);
	name = name_of(j, klass);
	static const char *const boxes[] = { "Integer", "Long",      "Short",
					     "Byte",    "Character", "Boolean" };
	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
		if (!strncmp(name, "java.lang.", 10) && !strcmp(name + 10, boxes[i]))
			return add_step(t, j, l, "value", &object, out);
	snprintf(l->why, sizeof(l->why),
		 "its value is a %s, neither text nor a number: name a field of it", name);
	return -ENOENT;
}

static int resolve(struct thread_locals *t, struct hotspot *h, struct wanted_label *l,
		   struct java_label *out)
{
	const struct vm_memory *j = &h->jvm;
	struct java_label label = { 0 };
	int err = find_local(t, j, l, &label);
	u64 object = err ? 0 : find_live_value(t, j, &label);

	if (err)
		return err;
	if (!object) {
		snprintf(l->why, sizeof(l->why), "no thread has set it (yet)");
		return -EAGAIN;
	}
	for (u32 i = l->field + 1; !err && i < l->nr_parts; i++) {
		if (label.number_bytes) {
			snprintf(l->why, sizeof(l->why),
				 "field %.60s is a number: it has no field %.60s", l->parts[i - 1],
				 l->parts[i]);
			return -ENOENT;
		}
		err = add_step(t, j, l, l->parts[i], &object, &label);
	}
	if (!err && !label.number_bytes)
		err = end_path(t, j, l, object, &label);
	if (!err)
		*out = label;
	return err;
}

/* The longest of the path's classes that the JVM has loaded. */
static void take_class(struct wanted_label *l)
{
	for (u32 i = l->nr_parts - 1; i-- > 0 && !l->klass;) {
		l->klass = l->candidates[i].klass;
		l->field = i + 1;
	}
	if (!l->klass) {
		char name[201];
		copy_text(name, sizeof(name), l->names[l->nr_parts - 2]);
		for (char *c = name; *c; c++)
			*c = *c == '/' ? '.' : *c;
		snprintf(l->why, sizeof(l->why), "class %s is not loaded (yet)", name);
	}
}

/* Looks for the classes of all labels in one walk. */
static int find_classes(struct thread_locals *t, const struct vm_memory *j)
{
	struct boot_class all[JAVA_LABELS * PARTS_MAX];
	size_t nr = 0;

	for (u32 i = 0; i < t->nr; i++)
		for (u32 k = 0; k + 1 < t->labels[i].nr_parts && !t->labels[i].klass; k++)
			all[nr++] = t->labels[i].candidates[k];
	int err = nr ? loaded_classes_find(j, &t->loaded, all, nr, LIMIT_NS) : 0;
	nr = 0;
	for (u32 i = 0; i < t->nr; i++) {
		struct wanted_label *l = &t->labels[i];
		bool is_wanted = !l->klass;
		for (u32 k = 0; k + 1 < l->nr_parts && is_wanted; k++)
			l->candidates[k] = all[nr++];
		if (is_wanted && !err)
			take_class(l);
	}
	return err;
}

/* The class is searched again: it may have been unloaded. */
static void forget_class(struct wanted_label *l)
{
	l->klass = 0;
	for (u32 k = 0; k + 1 < l->nr_parts; k++)
		l->candidates[k].klass = 0;
}

/* An application may put another ThreadLocal in the field, or unload the class. */
static bool check(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	struct java_label now = { 0 };
	struct wanted_label *l = &t->labels[i];

	if (!find_local(t, j, l, &now) && now.hash == t->place.labels[i].hash)
		return false;
	l->is_found = false;
	forget_class(l);
	t->place.labels[i] = (struct java_label){ 0 };
	return true;
}

static void explain_all(struct thread_locals *t, const char *why)
{
	for (u32 i = 0; i < t->nr; i++)
		snprintf(t->labels[i].why, sizeof(t->labels[i].why), "%s", why);
}

int thread_locals_update(struct thread_locals *t, struct hotspot *h, struct java_place *place)
{
	u64 now = time_mono_ns();
	bool is_changed = false, has_all = true;

	if (now < t->next_ns)
		return 0;
	t->next_ns = now + LOOK_NS;
	int err = t->has_place ? 0 : find_place(t, h);
	if (err == -ENOENT)
		explain_all(t, "this JVM does not export what is needed");
	for (u32 i = 0; !err && i < t->nr; i++)
		is_changed |= t->labels[i].is_found && check(t, &h->jvm, i);
	err = err ?: find_classes(t, &h->jvm);
	if (err == -EAGAIN && t->has_place)
		t->next_ns = now; /* the walk goes on */
	for (u32 i = 0; !err && i < t->nr; i++) {
		struct wanted_label *l = &t->labels[i];
		if (!l->is_found && l->klass) {
			l->is_found = !resolve(t, h, l, &t->place.labels[i]);
			is_changed |= l->is_found;
			if (!l->is_found)
				forget_class(l);
		}
		has_all &= l->is_found;
	}
	if (!err && has_all)
		t->next_ns = now + CHECK_NS;
	*place = t->place;
	return is_changed;
}

const char *thread_locals_why(const struct thread_locals *t, u32 i)
{
	return t->labels[i].is_found ? NULL : t->labels[i].why;
}
