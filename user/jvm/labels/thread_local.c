/* SPDX-License-Identifier: Apache-2.0 */
/* How to read ThreadLocals of a JVM. */
#include "jvm/labels/thread_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/labels/shapes.h"
#include "jvm/labels/value_reader.h"

#define LOOK_NS                 NS_PER_SEC /* between looks while something is missing, at first */
#define LOOK_MAX_NS             (8 * NS_PER_SEC) /* after many of them */
#define CHECK_NS                (5 * NS_PER_SEC) /* and once everything is found */
#define LIMIT_NS                (20 * NS_PER_MS) /* of work in one look */
#define WHY_BYTES               300
#define THREADS_ASKED           64 /* in a look, for a value */
#define UNKNOWN_MAX             16 /* classes that wait for the next look */
#define FAILED_MAX              32 /* classes of a label that have no value, until it is looked for again */
#define LOCAL_FIELDS            4  /* from the static field to the ThreadLocal */
#define JDK_WITH_HANDLES        10 /* Klass::_java_mirror is a pointer to the reference */
#define JDK_WITH_THREAD_HANDLES 16 /* JavaThread::_threadObj likewise */

static const char *const class_names[NR_JDK_CLASSES] = {
	[OF_OBJECT] = "java/lang/Object",
	[OF_THREAD] = "java/lang/Thread",
	[OF_MAP] = "java/lang/ThreadLocal$ThreadLocalMap",
	[OF_ENTRY] = "java/lang/ThreadLocal$ThreadLocalMap$Entry",
	[OF_REFERENCE] = "java/lang/ref/Reference",
	[OF_LOCAL] = "java/lang/ThreadLocal",
	[OF_INHERITABLE] = "java/lang/InheritableThreadLocal",
	[OF_STRING] = "java/lang/String",
	[OF_ENUM] = "java/lang/Enum",
	[OF_HASH_MAP] = "java/util/HashMap",
	[OF_HASH_NODE] = "java/util/HashMap$Node",
	[OF_CONCURRENT_MAP] = "java/util/concurrent/ConcurrentHashMap",
	[OF_CONCURRENT_NODE] = "java/util/concurrent/ConcurrentHashMap$Node",
	[OF_SCOPED] = "java/lang/ScopedValue",
	[OF_SNAPSHOT] = "java/lang/ScopedValue$Snapshot",
	[OF_CARRIER] = "java/lang/ScopedValue$Carrier",
};

#define NR_NEEDED_CLASSES (OF_STRING + 1)

/* A path of a label while it is looked for. */
struct wanted_path {
	struct label_path path;
	char names[PATH_PARTS][200]; /* "com", "com/acme", "com/acme/Request" */
	struct boot_class candidates[PATH_PARTS];
	u64 klass; /* of CLASS; 0: not found yet */
	u32 field; /* index of FIELD in the path's parts */
};

/* A class at a step of a label's way. */
struct class_at {
	u64 class;
	u32 step;
};

struct wanted_label {
	bool is_preset;
	struct wanted_path paths[PATH_WAYS];
	u32 nr_paths;
	struct wanted_path *taken; /* the path whose ThreadLocal was found */
	struct label_way way;      /* the rest of it */
	bool is_found;             /* some value was read */
	u64 symbols[JAVA_SHAPES];  /* names of the classes of its shapes */
	struct class_at unknown[UNKNOWN_MAX], failed[FAILED_MAX];
	u32 nr_unknown, nr_failed;
	char why[WHY_BYTES];
};

struct thread_locals {
	const struct thread_local_spec *specs;
	u32 nr;
	u64 next_ns, pause_ns; /* of looks */
	struct label_jvm jvm;
	struct boot_search jdk, loaded;
	bool has_place;
	struct java_place place;
	size_t next_thread; /* to be asked for a value */
	struct wanted_label labels[JAVA_LABELS];
};

static void explain(struct wanted_label *l, const struct str *why)
{
	if (why->len)
		copy_text(l->why, sizeof(l->why), why->at);
}

/* The classes that the path may name. */
static void name_classes(struct wanted_path *w)
{
	auto_str struct str name = { 0 };

	for (u32 i = 0; i < w->path.most; i++) {
		str_addf(&name, "%s%s", i ? "/" : "", w->path.parts[i].text);
		copy_text(w->names[i], sizeof(w->names[i]), name.at);
		w->candidates[i].name = w->names[i];
	}
}

static void begin(struct wanted_label *l, const struct thread_local_spec *spec)
{
	while (l->nr_paths < PATH_WAYS &&
	       !label_path_of(spec, l->nr_paths, &l->paths[l->nr_paths].path))
		name_classes(&l->paths[l->nr_paths++]);
	l->is_preset = spec->is_preset;
	snprintf(l->why, sizeof(l->why), "its class is looked for");
}

struct thread_locals *thread_locals_new(const struct thread_local_spec *specs, u32 nr)
{
	struct thread_locals *t = xcalloc(1, sizeof(*t));

	t->specs = specs;
	t->pause_ns = LOOK_NS;
	t->nr = nr < JAVA_LABELS ? nr : JAVA_LABELS;
	for (size_t i = 0; i < NR_JDK_CLASSES; i++)
		t->jvm.classes[i].name = class_names[i];
	for (u32 i = 0; i < t->nr; i++)
		begin(&t->labels[i], &specs[i]);
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
	int err = java_field_of(j, t->jvm.classes[class].klass, name, &offset, &type);

	if (!err)
		*to = (u16)offset;
	return err;
}

static int find_fields(struct thread_locals *t, const struct vm_memory *j)
{
	struct java_place *p = &t->place;
	int err = find_field(t, j, OF_THREAD, "threadLocals", &p->locals);

	err = err ?: find_field(t, j, OF_THREAD, "inheritableThreadLocals", &p->inheritable);
	err = err ?: find_field(t, j, OF_REFERENCE, "referent", &p->referent);
	err = err ?: find_field(t, j, OF_LOCAL, "threadLocalHashCode", &p->hash);
	err = err ?: find_field(t, j, OF_STRING, "value", &p->text);
	if (!err && j->jdk > 8)
		err = find_field(t, j, OF_STRING, "coder", &p->coder);
	return err;
}

/* The tables of threads: their classes are loaded with the first ThreadLocal that is set. */
static bool find_tables(struct thread_locals *t, const struct vm_memory *j)
{
	struct java_place *p = &t->place;
	const struct boot_class *c = t->jvm.classes;

	if (p->entry_class)
		return true;
	if (!c[OF_MAP].klass || !c[OF_ENTRY].klass ||
	    find_field(t, j, OF_MAP, "table", &p->table) ||
	    find_field(t, j, OF_ENTRY, "value", &p->value))
		return false;
	p->entry_class = java_class_value(&t->jvm.objects, c[OF_ENTRY].klass);
	return true;
}

/* ScopedValues: their classes are loaded with the first one. */
static bool find_scoped(struct thread_locals *t, const struct vm_memory *j)
{
	struct java_place *p = &t->place;
	const struct boot_class *c = t->jvm.classes;

	if (p->snapshot_class)
		return true;
	if (!c[OF_SCOPED].klass || !c[OF_SNAPSHOT].klass || !c[OF_CARRIER].klass ||
	    find_field(t, j, OF_THREAD, "scopedValueBindings", &p->bindings) ||
	    find_field(t, j, OF_SNAPSHOT, "bindings", &p->snapshot_bindings) ||
	    find_field(t, j, OF_SNAPSHOT, "prev", &p->snapshot_prev) ||
	    find_field(t, j, OF_CARRIER, "key", &p->carrier_key) ||
	    find_field(t, j, OF_CARRIER, "value", &p->carrier_value) ||
	    find_field(t, j, OF_CARRIER, "prev", &p->carrier_prev) ||
	    find_field(t, j, OF_SCOPED, "hash", &p->scoped_hash))
		return false;
	p->snapshot_class = java_class_value(&t->jvm.objects, c[OF_SNAPSHOT].klass);
	return true;
}

static u16 offset_of(const struct vm_memory *j, enum jvm_slot slot)
{
	return vm_has(&j->build, slot) ? (u16)j->build.fields[slot].at : HOTSPOT_NO_FIELD;
}

/* Offset of the first field of an object whose fields are references. */
static u16 first_field(const struct java_objects *o)
{
	u32 head = o->class_off + o->class_bytes;

	return (u16)((head + o->reference_bytes - 1) / o->reference_bytes * o->reference_bytes);
}

/* Looks for classes of the JDK that are not loaded yet. */
static int find_jdk_classes(struct thread_locals *t, const struct vm_memory *j)
{
	return boot_classes_find(j, &t->jdk, t->jvm.classes, NR_JDK_CLASSES, LIMIT_NS);
}

/* What holds for all labels of the JVM. */
static int find_place(struct thread_locals *t, struct hotspot *h)
{
	const struct vm_memory *j = &h->jvm;
	struct java_place *p = &t->place;
	int err = t->jvm.objects.reference_bytes ? 0 : java_objects_find(j, &t->jvm.objects);

	err = err ?: find_jdk_classes(t, j);
	if (err)
		return err;
	for (size_t i = 0; i < NR_NEEDED_CLASSES; i++)
		if (!t->jvm.classes[i].klass)
			return -EAGAIN;
	hotspot_find_tls(h);
	if (!h->tls_module)
		return -EAGAIN;
	err = find_fields(t, j);
	if (err)
		return err;
	const struct java_objects *o = &t->jvm.objects;
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
	p->first_field = first_field(o);
	p->string_class = java_class_value(o, t->jvm.classes[OF_STRING].klass);
	t->has_place = true;
	return 0;
}

static u64 read_reference(const struct thread_locals *t, const struct vm_memory *j, u64 addr)
{
	u64 raw = 0;

	return mem_read(j->mem, addr, &raw, t->jvm.objects.reference_bytes)
		       ? 0
		       : java_address(&t->jvm.objects, raw);
}

static u64 read_root(const struct thread_locals *t, const struct vm_memory *j, u64 handle)
{
	u64 raw = 0;

	return handle && !mem_read_u64(j->mem, handle, &raw) ? java_root(&t->jvm.objects, raw) : 0;
}

/* The Klass of an object; 0 if it cannot be read. */
static u64 klass_of(const struct thread_locals *t, const struct vm_memory *j, u64 object)
{
	const struct java_objects *o = &t->jvm.objects;
	u8 head[16];

	if (!object || mem_read(j->mem, object, head, sizeof(head)))
		return 0;
	return o->klass_base + (java_part_class(o, head, sizeof(head)) << o->klass_shift);
}

/* A ThreadLocal or ScopedValue that a path leads to. */
struct local {
	u32 hash;
	u8 source;    /* enum java_source */
	u32 nr_parts; /* of the path, up to it */
};

/* Whether the object is one; reads its hash code. */
static bool is_local(struct thread_locals *t, const struct vm_memory *j, u64 object, u64 klass,
		     struct local *out)
{
	const struct boot_class *c = t->jvm.classes;
	bool is_scoped = c[OF_SCOPED].klass && klass == c[OF_SCOPED].klass;

	if ((!is_scoped && !jdk_is_a(j, klass, c[OF_LOCAL].klass)) ||
	    !(is_scoped ? find_scoped(t, j) : find_tables(t, j)))
		return false;
	out->source = is_scoped                                     ? JAVA_SCOPED
		      : jdk_is_a(j, klass, c[OF_INHERITABLE].klass) ? JAVA_INHERITABLE
								    : JAVA_THREAD_LOCAL;
	return !mem_read(j->mem, object + (is_scoped ? t->place.scoped_hash : t->place.hash),
			 &out->hash, sizeof(out->hash));
}

/* Follows the path from the static field to the ThreadLocal. */
static int find_local(struct thread_locals *t, const struct vm_memory *j,
		      const struct wanted_path *w, struct local *out, struct str *why)
{
	const struct path_part *parts = w->path.parts;
	u64 handle, klass = w->klass;
	u32 offset, i = w->field;
	char type;
	int err = jdk_field_of(j, klass, parts[i].text, &offset, &type, why);

	err = err ?: vm_read(j, klass, KLASS_MIRROR, &handle);
	if (err)
		return err;
	u64 object = j->jdk < JDK_WITH_HANDLES ? handle : read_root(t, j, handle);
	for (u32 n = 0; object && n < LOCAL_FIELDS; n++) {
		object = read_reference(t, j, object + offset);
		klass = klass_of(t, j, object);
		if (!klass)
			break;
		if (is_local(t, j, object, klass, out)) {
			out->nr_parts = i + 1;
			return 0;
		}
		if (++i == w->path.nr_parts || parts[i].is_key)
			break;
		err = jdk_field_of(j, klass, parts[i].text, &offset, &type, why);
		if (err)
			return err;
		if (type != 'L')
			break;
	}
	str_addf(why, "field %.80s has no ThreadLocal (yet)", parts[w->field].text);
	return -EAGAIN;
}

static u64 symbol_of(const struct thread_locals *t, const struct vm_memory *j, u64 class)
{
	const struct java_objects *o = &t->jvm.objects;
	u64 symbol = 0;

	return vm_read(j, o->klass_base + (class << o->klass_shift), KLASS_NAME, &symbol) ? 0
											  : symbol;
}

/* Adds the shape of a class that was met. Returns whether the label has changed. */
static bool learn(struct thread_locals *t, const struct vm_memory *j, u32 i, u32 step, u64 class)
{
	struct wanted_label *l = &t->labels[i];
	struct java_label *label = &t->place.labels[i];
	auto_str struct str why = { 0 };

	for (u32 k = 0; k < l->nr_failed; k++)
		if (l->failed[k].class == class && l->failed[k].step == step)
			return false;
	for (u32 k = 0; k < label->nr_shapes; k++)
		if (label->shapes[k].class == class && label->shapes[k].step == step)
			return false;
	int err = shape_add(j, &t->jvm, &l->way, step, class, label, &why);
	if (err >= 0) {
		l->symbols[label->nr_shapes - 1] = symbol_of(t, j, class);
		return true;
	}
	explain(l, &why);
	if (l->nr_failed < FAILED_MAX)
		l->failed[l->nr_failed++] = (struct class_at){ class, step };
	return false;
}

/* Explains why a thread that has set the ThreadLocal has no value. */
static void explain_null(struct wanted_label *l, u32 step)
{
	const struct path_part *part = step ? &l->way.parts[step - 1] : NULL;

	if (!part)
		snprintf(l->why, sizeof(l->why), "no thread has set it (yet)");
	else if (part->is_key)
		snprintf(l->why, sizeof(l->why), "no map has the key %.80s (yet)", part->text);
	else
		snprintf(l->why, sizeof(l->why), "field %.60s is null (yet)", part->text);
}

/* Reads the label in one thread, and learns the classes on the way. Returns its progress. */
static u32 ask(struct thread_locals *t, const struct vm_memory *j, u32 i, u64 java_thread)
{
	struct wanted_label *l = &t->labels[i];
	struct java_value value;

	for (int n = 0; n <= JAVA_SHAPES; n++) {
		u64 class;
		value_read(j->mem, &t->place, java_thread, i, &value);
		memcpy(&class, value.text, sizeof(class));
		if (value.kind != JAVA_OTHER_CLASS || !learn(t, j, i, value.step, class))
			break;
	}
	l->is_found =
		value.kind == JAVA_LATIN1 || value.kind == JAVA_UTF16 || value.kind == JAVA_NUMBER;
	return value.kind == JAVA_OTHER_CLASS ? PATH_PARTS : value.step;
}

/* Reads the label in some threads, until one has a value. */
static void ask_threads(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	struct wanted_label *l = &t->labels[i];
	struct java_threads list = { 0 };
	u32 farthest = 0;

	if (hotspot_list_threads(j, &list))
		return;
	auto_free u64 *addresses = list.at;
	for (size_t k = 0; !l->is_found && k < list.nr && k < THREADS_ASKED; k++) {
		u32 step = ask(t, j, i, addresses[(t->next_thread + k) % list.nr]);
		farthest = step > farthest ? step : farthest;
	}
	t->next_thread += l->is_found ? 0 : THREADS_ASKED;
	if (!l->is_found && farthest < PATH_PARTS)
		explain_null(l, farthest);
}

/* Forgets the label; its class is searched again, as it may have been unloaded. */
static void forget(struct thread_locals *t, u32 i)
{
	struct wanted_label *l = &t->labels[i];

	for (u32 k = 0; k < l->nr_paths; k++) {
		l->paths[k].klass = 0;
		for (u32 c = 0; c < l->paths[k].path.most; c++)
			l->paths[k].candidates[c].klass = 0;
	}
	l->taken = NULL;
	l->is_found = false;
	l->nr_failed = l->nr_unknown = 0;
	t->place.labels[i] = (struct java_label){ 0 };
}

/* Finds the label's ThreadLocal by one of its paths. */
static int resolve(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	struct wanted_label *l = &t->labels[i];
	struct java_label *label = &t->place.labels[i];
	auto_str struct str why = { 0 };
	struct local local;
	int err = -EAGAIN;

	for (u32 k = 0; err && k < l->nr_paths; k++) {
		struct wanted_path *w = &l->paths[k];
		str_clear(&why);
		err = w->klass ? find_local(t, j, w, &local, &why) : -EAGAIN;
		explain(l, &why);
		if (err)
			continue;
		l->taken = w;
		l->way = (struct label_way){ w->path.parts + local.nr_parts,
					     w->path.nr_parts - local.nr_parts, l->is_preset };
		err = shape_keys(&l->way, label, &why);
		explain(l, &why);
	}
	if (!err) {
		label->hash = local.hash;
		label->source = local.source;
	}
	return err;
}

/* The longest of the path's classes that the JVM has loaded. */
static void take_class(struct wanted_label *l, struct wanted_path *w)
{
	char name[200];

	for (u32 i = w->path.most; i-- > 0 && i + 1 >= w->path.least && !w->klass;) {
		w->klass = w->candidates[i].klass;
		w->field = i + 1;
	}
	if (w->klass)
		return;
	copy_text(name, sizeof(name), w->names[w->path.most - 1]);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
	snprintf(l->why, sizeof(l->why), "class %s is not loaded (yet)", name);
}

/* Looks for the classes of all labels in one walk. */
static int find_classes(struct thread_locals *t, const struct vm_memory *j)
{
	struct boot_class all[JAVA_LABELS * PATH_WAYS * PATH_PARTS];
	struct wanted_path *of[ARRAY_SIZE(all)];
	size_t nr = 0, at = 0;

	for (u32 i = 0; i < t->nr; i++)
		for (u32 k = 0; !t->labels[i].taken && k < t->labels[i].nr_paths; k++) {
			struct wanted_path *w = &t->labels[i].paths[k];
			for (u32 c = 0; !w->klass && c < w->path.most; c++) {
				of[nr] = w;
				all[nr++] = w->candidates[c];
			}
		}
	int err = nr ? loaded_classes_find(j, &t->loaded, all, nr, LIMIT_NS) : 0;
	while (at < nr) {
		struct wanted_path *w = of[at];
		for (u32 c = 0; c < w->path.most; c++)
			w->candidates[c] = all[at++];
	}
	for (u32 i = 0; !err && i < t->nr; i++)
		for (u32 k = t->labels[i].nr_paths; !t->labels[i].taken && k-- > 0;)
			if (!t->labels[i].paths[k].klass)
				take_class(&t->labels[i], &t->labels[i].paths[k]);
	return err;
}

/*
 * Whether the label is as it was found. An application may put another ThreadLocal in the field, or
 * unload a class; the address of an unloaded one may become that of another class.
 */
static bool is_same(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	const struct wanted_label *l = &t->labels[i];
	const struct java_label *label = &t->place.labels[i];
	auto_str struct str why = { 0 };
	struct local local;

	if (find_local(t, j, l->taken, &local, &why) || local.hash != label->hash ||
	    local.source != label->source)
		return false;
	for (u32 k = 0; k < label->nr_shapes; k++)
		if (symbol_of(t, j, label->shapes[k].class) != l->symbols[k])
			return false;
	return true;
}

/* Learns the classes that samples have met. */
static bool learn_unknown(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	struct wanted_label *l = &t->labels[i];
	bool is_changed = false;

	for (u32 k = 0; k < l->nr_unknown; k++)
		is_changed |= learn(t, j, i, l->unknown[k].step, l->unknown[k].class);
	l->nr_unknown = 0;
	return is_changed;
}

/* Returns whether the label has changed. */
static bool update(struct thread_locals *t, const struct vm_memory *j, u32 i)
{
	struct wanted_label *l = &t->labels[i];
	u32 nr_shapes = t->place.labels[i].nr_shapes;
	bool is_new = !l->taken;

	if (is_new && resolve(t, j, i)) {
		forget(t, i);
		return false;
	}
	if (!l->is_found)
		ask_threads(t, j, i);
	return is_new || t->place.labels[i].nr_shapes != nr_shapes;
}

static void explain_all(struct thread_locals *t, const char *why)
{
	for (u32 i = 0; i < t->nr; i++)
		snprintf(t->labels[i].why, sizeof(t->labels[i].why), "%s", why);
}

/* A look at everything that is missing, and whether the rest is as it was. */
static bool look(struct thread_locals *t, struct hotspot *h, u64 now)
{
	const struct vm_memory *j = &h->jvm;
	bool is_changed = false, has_all = true;

	t->next_ns = now + t->pause_ns;
	int err = t->has_place ? find_jdk_classes(t, j) : find_place(t, h);
	if (err == -ENOENT)
		explain_all(t, "this JVM does not export what is needed");
	for (u32 i = 0; !err && i < t->nr; i++)
		if (t->labels[i].taken && !is_same(t, j, i)) {
			forget(t, i);
			is_changed = true;
		}
	err = err ?: find_classes(t, j);
	bool goes_on = t->jdk.next || t->loaded.pages;
	if (goes_on)
		t->next_ns = now;
	for (u32 i = 0; !err && i < t->nr; i++) {
		is_changed |= update(t, j, i);
		has_all &= t->labels[i].is_found;
	}
	if (!err && has_all)
		t->next_ns = now + CHECK_NS;
	else if (!goes_on)
		t->pause_ns = t->pause_ns < LOOK_MAX_NS ? t->pause_ns * 3 / 2 : t->pause_ns;
	if (is_changed)
		t->pause_ns = LOOK_NS;
	return is_changed;
}

struct java_place *thread_locals_update(struct thread_locals *t, struct hotspot *h)
{
	u64 now = time_mono_ns();
	bool is_changed = false;

	for (u32 i = 0; i < t->nr; i++)
		is_changed |= learn_unknown(t, &h->jvm, i);
	if (now >= t->next_ns)
		is_changed |= look(t, h, now);
	return is_changed ? &t->place : NULL;
}

struct java_place *thread_locals_place(struct thread_locals *t)
{
	return &t->place;
}

void thread_locals_learn(struct thread_locals *t, u32 i, const struct java_value *value)
{
	struct wanted_label *l = &t->labels[i];
	struct class_at met = { .step = value->step };

	memcpy(&met.class, value->text, sizeof(met.class));
	for (u32 k = 0; k < l->nr_unknown; k++)
		if (l->unknown[k].class == met.class && l->unknown[k].step == met.step)
			return;
	if (l->taken && l->nr_unknown < UNKNOWN_MAX && l->nr_failed < FAILED_MAX)
		l->unknown[l->nr_unknown++] = met;
}

const char *thread_locals_why(const struct thread_locals *t, u32 i)
{
	return t->labels[i].is_found ? NULL : t->labels[i].why;
}
