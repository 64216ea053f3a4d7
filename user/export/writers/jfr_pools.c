/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a JFR recording. Part of export/writers/jfr_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/interchange/jfr.h"
#include "export/interchange/label_frame.h"
#include "export/writers/jfr_parts.h"
#include "export/writers/jfr_words.h"
#include "profile/frames/java_signature.h"
#include "profile/frames/method.h"

/* Readers take a method without a descriptor for damaged. */
#define NO_DESCRIPTOR "()V"

/* PIDs and TIDs are smaller. */
#define KEYS_BEYOND_TIDS (1u << 23)

void jfr_pools_init(struct jfr_pools *all, const struct profile *p)
{
	*all = (struct jfr_pools){ .p = p };
	texts_init(&all->symbols);
	all->frames = xcalloc(frames_nr(p->frames) + 1, sizeof(all->frames[0]));
	all->stack_of = xcalloc(p->nodes.nr + 1, sizeof(all->stack_of[0]));
	all->thread_of = xcalloc(p->labels.nr + 1, sizeof(all->thread_of[0]));
	all->labels_of = xcalloc(p->labels.nr + 1, sizeof(all->labels_of[0]));
	vec_each(w, &p->weights)
		all->has_labels = all->has_labels || jfr_labels(all, w->labels);
}

void jfr_pools_fini(struct jfr_pools *all)
{
	texts_fini(&all->symbols);
	vec_fini(&all->classes);
	vec_fini(&all->methods);
	vec_fini(&all->threads);
	vec_fini(&all->stacks);
	free(all->frames);
	free(all->stack_of);
	free(all->thread_of);
	free(all->labels_of);
	dict_fini(&all->packages);
	dict_fini(&all->class_of);
	dict_fini(&all->method_of);
	dict_fini(&all->thread_of_name);
	dict_fini(&all->pairs);
	dict_fini(&all->thread_keys);
}

static u32 symbol(struct jfr_pools *all, const char *text)
{
	return texts_add(&all->symbols, text) + 1;
}

/* A number that stands for two others. */
static u32 pair(struct jfr_pools *all, u32 a, u32 b)
{
	u64 *number = dict_add(&all->pairs, (u64)a << 32 | b);

	if (!*number)
		*number = all->pairs.nr;
	return (u32)*number;
}

/* "a.b" of "a.b.C", 0 if the name has no package. */
static u32 package_of(struct jfr_pools *all, const char *class_name)
{
	const char *dot = strrchr(class_name, '.') ?: strrchr(class_name, '/');

	if (!dot || dot == class_name || *class_name == '[')
		return 0;
	auto_free char *name = xasprintf("%.*s", (int)(dot - class_name), class_name);
	u32 package = symbol(all, name);
	*dict_add(&all->packages, package) = 1;
	return package;
}

static u32 class_named(struct jfr_pools *all, const char *name, u32 kind)
{
	u32 number = symbol(all, name);
	u64 *key = dict_add(&all->class_of, (u64)number << 32 | kind);

	if (!*key) {
		u32 package = kind ? 0 : package_of(all, name);
		vec_push(&all->classes, (struct jfr_class_entry){ number, package, kind });
		*key = all->classes.nr;
	}
	return (u32)*key;
}

u32 jfr_class(struct jfr_pools *all, frame_id frame)
{
	auto_str struct str name = { 0 };

	jfr_add_descriptor(&name, frames_get(all->p->frames, frame)->name);
	return class_named(all, name.at, 0);
}

static u32 method_named(struct jfr_pools *all, u32 class, const char *name, const char *descriptor)
{
	struct jfr_method_entry m = { class, symbol(all, name), symbol(all, descriptor) };
	u64 *key = dict_add(&all->method_of, (u64)pair(all, m.class, m.name) << 32 | m.descriptor);

	if (!*key) {
		vec_push(&all->methods, m);
		*key = all->methods.nr;
	}
	return (u32)*key;
}

static enum jfr_frame_type frame_type(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return JFR_FRAME_KERNEL;
	case FRAME_JVM:
		return JFR_FRAME_CPP;
	case FRAME_INTERPRETED:
		return JFR_FRAME_INTERPRETED;
	case FRAME_C1:
		return JFR_FRAME_C1;
	case FRAME_C2:
		return JFR_FRAME_COMPILED;
	case FRAME_INLINED:
		return JFR_FRAME_INLINED;
	default:
		return JFR_FRAME_NATIVE;
	}
}

/* Splits "a.B.m(int)void" into the class a.B, the method m and the descriptor (I)V. */
static u32 java_method(struct jfr_pools *all, char *name)
{
	auto_str struct str descriptor = { 0 };
	size_t len = java_signature_hide(name, &descriptor);

	name[len] = '\0';
	char *dot = strrchr(name, '.');
	bool has_class = dot && dot > name && dot[1];
	if (has_class)
		*dot = '\0';
	return method_named(all, class_named(all, has_class ? name : "", 0),
			    has_class ? dot + 1 : name,
			    descriptor.len ? descriptor.at : NO_DESCRIPTOR);
}

static const struct jfr_frame_entry *frame_entry(struct jfr_pools *all, frame_id id)
{
	const struct frame *f = frames_get(all->p->frames, id);
	struct jfr_frame_entry *e = &all->frames[id];

	if (e->method)
		return e;
	auto_free char *name = frame_function(f);
	e->type = frame_type(f->kind);
	e->method = frame_kind_is_java(f->kind)
			    ? java_method(all, name)
			    : method_named(all, class_named(all, f->module, (u32)f->kind + 1), name,
					   NO_DESCRIPTOR);
	return e;
}

u32 jfr_stack(struct jfr_pools *all, node_id leaf)
{
	if (leaf && !all->stack_of[leaf]) {
		vec_push(&all->stacks, leaf);
		all->stack_of[leaf] = (u32)all->stacks.nr;
		for (node_id n = leaf; n; n = all->p->nodes.at[n].parent)
			frame_entry(all, all->p->nodes.at[n].frame);
	}
	return all->stack_of[leaf];
}

/* async-profiler's converter shows the key as the thread's number. */
static u32 thread_key(struct jfr_pools *all, u32 tid)
{
	u32 key = tid && tid < KEYS_BEYOND_TIDS && !dict_find(&all->thread_keys, tid)
			  ? tid
			  : KEYS_BEYOND_TIDS + (u32)all->threads.nr;

	*dict_add(&all->thread_keys, key) = 1;
	return key;
}

static u32 find_thread(struct jfr_pools *all, const struct labels *l)
{
	const char *name = l->thread ?: "", *comm = l->comm ?: "";

	if (!l->pid && !l->tid && !*name && !*comm)
		return 0;
	struct jfr_thread_entry t = { 0, l->pid, l->tid, symbol(all, name), symbol(all, comm) };
	u64 *known = dict_add(&all->thread_of_name,
			      (u64)pair(all, t.pid, t.tid) << 32 | pair(all, t.name, t.comm));
	if (!*known) {
		t.key = thread_key(all, t.tid);
		*known = t.key;
		vec_push(&all->threads, t);
	}
	return (u32)*known;
}

u32 jfr_thread(struct jfr_pools *all, labels_id labels)
{
	if (!all->thread_of[labels])
		all->thread_of[labels] = find_thread(all, &all->p->labels.at[labels]) + 1;
	return all->thread_of[labels] - 1;
}

u32 jfr_labels(struct jfr_pools *all, labels_id labels)
{
	if (!all->labels_of[labels]) {
		auto_free char *text = label_text_make(&all->p->labels.at[labels]);
		all->labels_of[labels] = 1 + (*text ? symbol(all, text) : 0);
	}
	return all->labels_of[labels] - 1;
}

static void add_texts(struct str *out, enum jfr_type type, const char *const *texts, size_t nr)
{
	jfr_add_number(out, type);
	jfr_add_number(out, nr);
	for (size_t i = 0; i < nr; i++) {
		jfr_add_number(out, i);
		jfr_add_text(out, texts[i]);
	}
}

static void add_words(struct str *out)
{
	static const char *const frame_types[] = {
		[JFR_FRAME_INTERPRETED] = "Interpreted",
		[JFR_FRAME_COMPILED] = "JIT compiled",
		[JFR_FRAME_INLINED] = "Inlined",
		[JFR_FRAME_NATIVE] = "Native",
		[JFR_FRAME_CPP] = "C++",
		[JFR_FRAME_KERNEL] = "Kernel",
		[JFR_FRAME_C1] = "C1 compiled",
	};
	static const char *const states[] = {
		[JFR_STATE_DEFAULT] = "STATE_DEFAULT",
		[JFR_STATE_RUNNABLE] = "STATE_RUNNABLE",
		[JFR_STATE_SLEEPING] = "STATE_SLEEPING",
	};

	add_texts(out, JFR_FRAME_TYPE, frame_types, ARRAY_SIZE(frame_types));
	add_texts(out, JFR_THREAD_STATE, states, ARRAY_SIZE(states));
}

static void add_stack(struct jfr_pools *all, node_id leaf, struct str *out)
{
	const struct profile *p = all->p;
	u64 depth = 0;

	for (node_id n = leaf; n; n = p->nodes.at[n].parent)
		depth++;
	str_add_char(out, 0); /* "not truncated": notes have the number of truncated stacks */
	jfr_add_number(out, depth);
	for (node_id n = leaf; n; n = p->nodes.at[n].parent) {
		frame_id id = p->nodes.at[n].frame;
		jfr_add_number(out, all->frames[id].method);
		jfr_add_number(out, frames_get(p->frames, id)->line);
		jfr_add_number(out, 0);
		jfr_add_number(out, all->frames[id].type);
	}
}

/* A pool of `nr` constants; pools must not be empty. Returns whether there are any. */
static bool begin_pool(struct str *out, enum jfr_type type, size_t nr)
{
	if (!nr)
		return false;
	jfr_add_number(out, type);
	jfr_add_number(out, nr);
	return true;
}

static void add_methods(const struct jfr_pools *all, struct str *out)
{
	begin_pool(out, JFR_METHOD, all->methods.nr);
	for (size_t i = 0; i < all->methods.nr; i++) {
		const struct jfr_method_entry *m = &all->methods.at[i];
		jfr_add_number(out, i + 1);
		jfr_add_number(out, m->class);
		jfr_add_number(out, m->name);
		jfr_add_number(out, m->descriptor);
		jfr_add_number(out, 0);
		jfr_add_number(out, 0);
	}
}

static void add_classes(const struct jfr_pools *all, struct str *out)
{
	begin_pool(out, JFR_CLASS, all->classes.nr);
	for (size_t i = 0; i < all->classes.nr; i++) {
		const struct jfr_class_entry *c = &all->classes.at[i];
		jfr_add_number(out, i + 1);
		jfr_add_number(out, 0);
		jfr_add_number(out, c->name);
		jfr_add_number(out, c->package);
		jfr_add_number(out, 0);
		jfr_add_number(out, c->kind);
	}
	begin_pool(out, JFR_PACKAGE, all->packages.nr);
	dict_each(slot, &all->packages) {
		jfr_add_number(out, slot->key);
		jfr_add_number(out, slot->key);
	}
}

static void add_threads(const struct jfr_pools *all, struct str *out)
{
	begin_pool(out, JFR_THREAD, all->threads.nr);
	vec_each(t, &all->threads) {
		jfr_add_number(out, t->key);
		jfr_add_text(out, all->symbols.all.at[t->name - 1]);
		jfr_add_number(out, t->tid);
		str_add_char(out, 0); /* whether it is a thread of Java is not known */
		jfr_add_number(out, 0);
		jfr_add_number(out, t->pid);
		jfr_add_number(out, t->comm);
	}
}

static void add_symbols(const struct jfr_pools *all, struct str *out)
{
	begin_pool(out, JFR_SYMBOL, all->symbols.all.nr);
	for (size_t i = 0; i < all->symbols.all.nr; i++) {
		jfr_add_number(out, i + 1);
		jfr_add_text(out, all->symbols.all.at[i]);
	}
}

void jfr_add_pools(struct jfr_pools *all, struct str *out)
{
	auto_str struct str body = { 0 };
	size_t nr = 3 + (all->stacks.nr > 0) + (all->methods.nr > 0) + (all->classes.nr > 0) +
		    (all->packages.nr > 0) + (all->threads.nr > 0);

	jfr_add_number(&body, JFR_CHECKPOINT);
	jfr_add_number(&body, 0); /* start */
	jfr_add_number(&body, 0); /* duration */
	jfr_add_number(&body, 0); /* no other checkpoint */
	str_add_char(&body, 1);   /* a flush: all constants are here */
	jfr_add_number(&body, nr);
	add_words(&body);
	add_threads(all, &body);
	if (begin_pool(&body, JFR_STACK_TRACE, all->stacks.nr))
		for (size_t i = 0; i < all->stacks.nr; i++) {
			jfr_add_number(&body, i + 1);
			add_stack(all, all->stacks.at[i], &body);
		}
	add_methods(all, &body);
	add_classes(all, &body);
	add_symbols(all, &body);
	jfr_add_event(out, &body);
}
