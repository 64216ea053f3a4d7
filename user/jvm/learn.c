/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only a walk of the code heaps tells: which pointer stands for which blob name, and where the
 * code for virtual threads is.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/compiled.h"
#include "jvm/vm.h"

#define NAME_MAX_LEN      128
#define BLOB_NAMES_MAX    1024 /* JDK 8..28 have at most 110; a hostile heap must not fill us */
#define WALK_FIRST_NS     (20 * NS_PER_MS)
#define CALL_REL32        0xe8
#define WALK_LAST_NS      (2 * NS_PER_SEC)
#define CONT_STUBS_MAX    65536
#define JDK_WITH_VTHREADS 19

static const struct blob_name unknown = { 0, "?", HOTSPOT_CLASS_UNKNOWN };

static enum hotspot_class class_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum hotspot_class class;
	} names[] = {
		{ "nmethod", HOTSPOT_CLASS_NMETHOD },
		{ "native nmethod", HOTSPOT_CLASS_NATIVE },
		{ "vtable chunks", HOTSPOT_CLASS_BARE },
		{ "I2C/C2I adapters", HOTSPOT_CLASS_BARE },
		{ "adapters", HOTSPOT_CLASS_BARE },
		{ "MethodHandles adapters", HOTSPOT_CLASS_BARE },
		{ "Interpreter", HOTSPOT_CLASS_INTERPRETER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].class;
	return HOTSPOT_CLASS_STUB;
}

static void remember_pointer(struct hotspot *h, const char *name, u64 pointer)
{
	const struct {
		const char *name;
		u64 *pointer;
	} wanted[] = {
		{ "nmethod", &h->name_nmethod },
		{ "native nmethod", &h->name_native },
		{ "vtable chunks", &h->name_vtable },
		{ "I2C/C2I adapters", &h->name_adapter },
		{ "MethodHandles adapters", &h->name_mh_adapter },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(wanted[i].name, name))
			*wanted[i].pointer = pointer;
}

const struct blob_name *hotspot_blob_name(struct hotspot *h, const struct blob *b)
{
	char text[NAME_MAX_LEN];

	vec_each(n, &h->blob_names)
		if (n->pointer == b->name)
			return n;
	if (h->blob_names.nr >= BLOB_NAMES_MAX ||
	    mem_read_string(h->jvm.mem, b->name, text, sizeof(text)) != 0)
		return &unknown;

	const char *clean = java_names_intern(h->names, text, strlen(text));
	vec_push(&h->blob_names,
		 (struct blob_name){ b->name, xstrdup(clean), class_of_name(text) });
	remember_pointer(h, text, b->name);
	return &h->blob_names.at[h->blob_names.nr - 1];
}

bool hotspot_is_nmethod(struct hotspot *h, const struct blob *b)
{
	enum hotspot_class class = hotspot_blob_name(h, b)->class;

	return class == HOTSPOT_CLASS_NMETHOD || class == HOTSPOT_CLASS_NATIVE;
}

/*
 * The return barrier begins with `mov rsp,[r15+_cont_entry]; push rax`; the first such place in the
 * continuation stubs is it, the second its variant for exceptions (JDK 21 and 25, all builds read).
 */
static void find_barrier(struct hotspot *h, const struct blob *b)
{
	size_t len = b->code_end - b->code_start;
	auto_free u8 *code = xmalloc(len + 1);
	u32 displacement;

	if (len > CONT_STUBS_MAX || mem_read(h->jvm.mem, b->code_start, code, len))
		return;
	h->cont_stubs_start = b->code_start;
	h->cont_stubs_end = b->code_end;
	for (size_t i = 0; i + 8 <= len; i++) {
		if (memcmp(code + i, "\x49\x8b\xa7", 3) != 0 || code[i + 7] != 0x50)
			continue;
		memcpy(&displacement, code + i + 3, sizeof(displacement));
		if (!h->barrier)
			h->barrier = b->code_start + i;
		if (!h->cont_entry && displacement < HOTSPOT_NO_FIELD)
			h->cont_entry = displacement;
		return;
	}
}

/* Continuation.enterSpecial and doYield are native methods with code of their own. */
static void learn_intrinsic(struct hotspot *h, const struct blob *b)
{
	const struct method_name *m;
	u64 method = (u64)jvm_get(&h->jvm.build, NM_METHOD, b->header, b->header_len);

	if (methods_find(h->methods, method, &m) ||
	    strcmp(m->class_name, "jdk.internal.vm.Continuation") != 0)
		return;
	if (!strcmp(m->name, "enterSpecial"))
		h->enter_special = b->addr;
	else if (!strcmp(m->name, "doYield"))
		h->do_yield = b->addr;
}

static int learn_blob(void *ctx, const struct blob *b)
{
	struct hotspot *h = ctx;
	const struct blob_name *name = hotspot_blob_name(h, b);

	if (h->jvm.jdk < JDK_WITH_VTHREADS)
		return 0;
	if (!h->cont_stubs_start && strstr(name->text, "continuation") &&
	    strstr(name->text, "stubs"))
		find_barrier(h, b);
	if (name->class == HOTSPOT_CLASS_NATIVE && (!h->enter_special || !h->do_yield))
		learn_intrinsic(h, b);
	return 0;
}

/*
 * enterSpecial calls the thawing stub, and a continuation's bottom frame returns behind that call.
 * JDK 21 to 24 do not export the address (ContinuationEntry::_return_pc).
 */
static void find_enter_special_return(struct hotspot *h)
{
	struct blob b;
	s32 displacement;

	if (blob_read(&h->jvm, &h->heaps, h->enter_special, &b))
		return;

	size_t len = b.code_end - b.code_start;
	auto_free u8 *code = xmalloc(len);
	if (len > CONT_STUBS_MAX || mem_read(h->jvm.mem, b.code_start, code, len))
		return;
	for (size_t i = 0; i + 5 <= len; i++) {
		memcpy(&displacement, code + i + 1, sizeof(displacement));
		u64 next = b.code_start + i + 5, target = next + (u64)(s64)displacement;
		if (code[i] != CALL_REL32 || target < h->cont_stubs_start ||
		    target >= h->cont_stubs_end)
			continue;
		h->enter_special_return = next;
		return;
	}
}

static bool knows_all(const struct hotspot *h)
{
	return h->name_nmethod && h->name_native && h->name_vtable && h->name_adapter &&
	       (h->jvm.jdk < JDK_WITH_VTHREADS || (h->enter_special && h->do_yield));
}

bool hotspot_is_walk_due(const struct hotspot *h)
{
	return time_mono_ns() >= h->next_walk_ns;
}

int hotspot_learn(struct hotspot *h)
{
	int err = 0;

	h->walk_interval_ns = h->walk_interval_ns ? h->walk_interval_ns * 2 : WALK_FIRST_NS;
	if (h->walk_interval_ns > WALK_LAST_NS)
		h->walk_interval_ns = WALK_LAST_NS;
	h->next_walk_ns = time_mono_ns() + h->walk_interval_ns;
	if (!knows_all(h))
		err = code_heaps_walk(&h->jvm, &h->heaps, learn_blob, h);
	if (h->enter_special && h->cont_stubs_start && !h->enter_special_return)
		find_enter_special_return(h);
	return err == -ESRCH ? err : 0;
}
