/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a JVM's frames, and a cache of them. Part of jvm/hotspot/hotspot.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/hotspot/hotspot_private.h"

#define FRAMES_MAX      32768 /* cached: 2 MB */
#define CLASSES_MAX     32768
#define METHODS_BYTES   (8u << 20)
#define NAMES_MAX       (4u << 20)   /* cached bytes of text */
#define COMPILED_BYTES  (1u << 20)   /* of tables of compiled code, all together */
#define COMPILED_MAX    (128u << 10) /* of one nmethod; larger ones are not kept */
#define COMPILE_ID_MASK 0x0fffffff   /* the part of a compile id that samples keep */
#define CONTAINERS_MAX  32           /* JDK 8..28 have two to five, and chunks of vtable stubs */
/* a value up to this is an index, no pointer: no memory is mapped below vm.mmap_min_addr */
#define BCI_MAX 0xffff

static void forget_compiled(struct hotspot *h)
{
	vec_each(c, &h->compiled)
		compiled_free(*c);
	vec_fini(&h->compiled);
	dict_fini(&h->nmethods);
	h->nmethods = (struct dict){ 0 };
	h->compiled_bytes = 0;
}

void hotspot_forget_names(struct hotspot *h)
{
	forget_compiled(h);
	dict_fini(&h->by_pc);
	vec_fini(&h->named_pcs);
	vec_fini(&h->frames);
	dict_fini(&h->by_klass);
	vec_fini(&h->classes);
	h->by_pc = h->by_klass = (struct dict){ 0 };
}

/* Drops the whole cache at once: frequent names return at some us each. */
static void forget_if_full(struct hotspot *h)
{
	if (h->compiled_bytes > COMPILED_BYTES)
		forget_compiled(h);
	if (h->frames.nr < FRAMES_MAX && h->classes.nr < CLASSES_MAX &&
	    methods_bytes(h->methods) < METHODS_BYTES && java_names_bytes(h->names) < NAMES_MAX)
		return;
	hotspot_forget_names(h);
	methods_clear(h->methods);
	java_names_free(h->names);
	h->names = java_names_new();
	methods_free(h->methods);
	h->methods = methods_new(&h->jvm, h->names);
}

static u64 pc_key(const struct code_pc *at)
{
	return hash_u64(at->pc ^ hash_u64((u64)at->compile_id << 1 | at->is_leaf));
}

static int recall(const struct hotspot *h, const struct code_pc *at, struct java_frame out[],
		  int max)
{
	const u64 *index = dict_find(&h->by_pc, pc_key(at));

	if (!index)
		return -ENOENT;

	const struct named_pc *n = &h->named_pcs.at[*index - 1];
	if (n->pc != at->pc || n->compile_id != at->compile_id || n->is_leaf != at->is_leaf)
		return -ENOENT;

	int nr = (int)n->nr < max ? (int)n->nr : max; /* keep the outermost */
	memcpy(out, h->frames.at + n->first + (n->nr - (u32)nr), (size_t)nr * sizeof(out[0]));
	return nr;
}

static void remember(struct hotspot *h, const struct code_pc *at, const struct java_frame frames[],
		     int nr)
{
	vec_push(&h->named_pcs, (struct named_pc){ at->pc, at->compile_id, at->is_leaf,
						   (u32)h->frames.nr, (u32)nr });
	*dict_add(&h->by_pc, pc_key(at)) = h->named_pcs.nr;
	for (int i = 0; i < nr; i++)
		vec_push(&h->frames, frames[i]);
}

static int stub_frame(const char *name, struct java_frame *out)
{
	*out = (struct java_frame){ .class_name = "",
				    .method = name,
				    .signature = "",
				    .file = "",
				    .bci = -1,
				    .kind = FRAME_STUB };
	return 1;
}

/* The blob of routines that holds `pc`, if it was read before. Each Java stack has one. */
static const struct blob *find_container(const struct hotspot *h, u64 pc)
{
	for (size_t i = 0; i < h->containers.nr; i++)
		if (pc >= h->containers.at[i].addr && pc < h->containers.at[i].end)
			return &h->containers.at[i];
	return NULL;
}

/* Names a blob that is not an nmethod. `pc` lies in it. */
static int name_stub(struct hotspot *h, const struct blob *b, u64 pc, struct java_frame *out)
{
	const char *blob = hotspot_blob_name(h, b)->text, *routine = stubs_find(h, b, blob, pc);
	bool is_container = stubs_is_container(blob);

	if (is_container && h->containers.nr < CONTAINERS_MAX && !find_container(h, pc))
		vec_push(&h->containers, *b);
	stub_frame(routine ?: blob, out);
	out->is_blob = !routine && is_container;
	return 1;
}

/* Takes over the nmethod and its tables, for further pcs. */
static void keep_compiled(struct hotspot *h, u32 id, struct compiled *c)
{
	if (compiled_bytes(c) > COMPILED_MAX) {
		compiled_free(c);
		return;
	}
	h->compiled_bytes += compiled_bytes(c);
	vec_push(&h->compiled, c);
	*dict_add(&h->nmethods, id) = h->compiled.nr;
}

/* `at.unloads` is the count of unloaded classes when the sample found the nmethod. */
static int name_nmethod(struct hotspot *h, const struct blob *b, struct code_pc at,
			struct java_frame out[], int max)
{
	u32 id = compiled_id(&h->jvm, b) & COMPILE_ID_MASK;
	bool is_stale = at.compile_id && at.compile_id != id;
	struct compiled *c = compiled_new(b);

	if (is_stale || !at.compile_id)
		at.unloads = 0;
	at.compile_id = id;
	int nr = compiled_frames(&h->jvm, h->methods, c, &at, out, max);
	if (nr > 0 && id && !dict_find(&h->nmethods, id))
		keep_compiled(h, id, c);
	else
		compiled_free(c);
	/* Do not cache a truncated list: a later caller may have a longer buffer. */
	if (nr > 0 && nr < max && !is_stale && id)
		remember(h, &at, out, nr);
	for (int i = 0; i < nr; i++)
		out[i].is_stale = is_stale;
	return nr;
}

/* Names a further pc of an nmethod that was read before. */
static int name_known_nmethod(struct hotspot *h, const struct code_pc *at, struct java_frame out[],
			      int max)
{
	const u64 *index = at->compile_id ? dict_find(&h->nmethods, at->compile_id) : NULL;
	struct compiled **c = index ? &h->compiled.at[*index - 1] : NULL;

	if (!c || !*c || at->pc < compiled_blob(*c)->code_start ||
	    at->pc > compiled_blob(*c)->code_end)
		return -ENOENT;
	size_t bytes = compiled_bytes(*c);
	int nr = compiled_frames(&h->jvm, h->methods, *c, at, out, max);
	h->compiled_bytes += compiled_bytes(*c) - bytes;
	if (nr > 0 && nr < max)
		remember(h, at, out, nr);
	if (nr <= 0 && nr != -ESRCH) {
		h->compiled_bytes -= compiled_bytes(*c);
		compiled_free(take(*c));
		dict_remove(&h->nmethods, at->compile_id);
	}
	return nr;
}

int hotspot_name_pc(struct hotspot *h, struct code_pc at, struct java_frame out[], int max)
{
	u64 inside = at.is_leaf ? at.pc : at.pc - 1; /* a call may be its blob's last instruction */
	struct blob b;

	at.compile_id &= COMPILE_ID_MASK;
	if (at.pc >= h->interpreter_start && at.pc < h->interpreter_end)
		return stub_frame("Interpreter", out);
	if (at.compile_id) {
		int nr = recall(h, &at, out, max);
		if (nr > 0)
			return nr;
	}
	const struct blob *known = find_container(h, inside);
	if (known)
		return name_stub(h, known, inside, out);
	forget_if_full(h);
	int nr = name_known_nmethod(h, &at, out, max);
	if (nr > 0 || nr == -ESRCH)
		return nr;
	for (int tries = 0;; tries++) { /* an nmethod may be replaced while it is read */
		int err = blob_find(&h->jvm, &h->heaps, inside, &b);
		if (err)
			return err;
		if (!hotspot_is_nmethod(h, &b))
			return name_stub(h, &b, inside, out);
		err = name_nmethod(h, &b, at, out, max);
		if (err != -ESTALE || tries)
			return err;
	}
}

/*
 * -1 if `bcp` lies outside the method's bytecode. In JDK 8 an interpreter frame holds the index
 * while a collector moves Methods (frame::gc_prologue, share/vm/runtime/frame.cpp).
 */
static s32 bytecode_index(const struct hotspot *h, const struct method_name *m, u64 bcp)
{
	u64 code = m->const_method + h->jvm.build.sizes[SIZE_CONST_METHOD];
	u64 bci = bcp <= BCI_MAX ? bcp : bcp - code;

	return bcp && bci < m->code_size ? (s32)bci : -1;
}

int hotspot_name_method(struct hotspot *h, u64 method, u64 bcp, u64 unloads, struct java_frame *out)
{
	const struct method_name *m;

	forget_if_full(h);
	int err = methods_find(h->methods, method, unloads, &m);
	if (err)
		return err;

	s32 bci = bytecode_index(h, m, bcp);
	*out = (struct java_frame){
		.class_name = m->class_name,
		.method = m->name,
		.signature = m->signature,
		.file = m->file,
		.line = bci >= 0 ? methods_line(h->methods, m, bci) : 0,
		.bci = bci,
		.kind = FRAME_INTERPRETED,
		.is_native = m->is_native,
		.is_stale = bcp && bci < 0 && !m->is_native,
	};
	return 0;
}

bool hotspot_owns(const struct hotspot *h, u64 pc)
{
	return code_heaps_find(&h->heaps, pc) ||
	       (pc >= h->interpreter_start && pc < h->interpreter_end);
}

static int read_class(struct hotspot *h, u64 klass, const char **out)
{
	auto_free char *text = NULL;
	u64 symbol;
	size_t len;
	int err = vm_read(&h->jvm, klass, KLASS_NAME, &symbol);

	err = err ? err : method_symbol(&h->jvm, symbol, &text, &len);
	if (err)
		return err;
	if (!len)
		return -EBADMSG;
	*out = java_names_intern_type(h->names, text, len);
	return 0;
}

/* Reads the class once, with the checks of methods_find. */
static int find_class(struct hotspot *h, struct known_class *known, u64 klass, u64 unloads)
{
	u64 now = unloads_read(&h->jvm);
	const char *name;

	if (era_has(&known->era, now))
		return 0;
	int err = read_class(h, klass, &name);
	if (!err && unloads_read(&h->jvm) != now)
		err = -EAGAIN;
	if (era_has(&known->era, unloads) && (err || name != known->name))
		return 0; /* its memory has been freed since */
	if (err)
		return err;
	if (name != known->name && unloads && unloads != now)
		return -ESTALE;
	if (name != known->name)
		*known = (struct known_class){ .name = name };
	era_extend(&known->era, unloads, now);
	return 0;
}

int hotspot_name_class(struct hotspot *h, u64 klass, u64 unloads, const char **out)
{
	forget_if_full(h);

	u64 *index = dict_add(&h->by_klass, klass);
	if (!*index) {
		vec_push(&h->classes, (struct known_class){ 0 });
		*index = h->classes.nr;
	}
	struct known_class *known = &h->classes.at[*index - 1];
	int err = find_class(h, known, klass, unloads);
	if (err)
		return err;
	if (unloads && !era_has(&known->era, unloads))
		return -ESTALE;
	*out = known->name;
	return 0;
}
