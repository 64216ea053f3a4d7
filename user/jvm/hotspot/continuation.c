/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a JVM's code for virtual threads in its code heaps. Part of jvm/hotspot/hotspot_private.h.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/java_objects.h"

#define JDK_WITH_VTHREADS 19
#define CODE_BYTES_MAX    65536
#define CALL_REL32        0xe8
#define PUSH_RAX          0x50
#define VM_CLASSES        192 /* from Thread on; StackChunk follows within 60 (JDK 21 to 28) */
#define POPPED_BYTES_MAX  80  /* size of the code between these instructions; JDK 21 has 43 */

/* The code of a blob, NULL if it cannot be read. */
static u8 *read_code(const struct hotspot *h, const struct blob *b, size_t *len)
{
	*len = b->code_end - b->code_start;
	if (*len > CODE_BYTES_MAX)
		return NULL;
	auto_free u8 *code = xmalloc(*len + 1);
	return mem_read(h->jvm.mem, b->code_start, code, *len) ? NULL : take(code);
}

/*
 * After freezing a continuation, code drops its frames with `mov rsp,[r15+_cont_entry]` and the
 * entry with `add rsp,imm8`. This is in doYield, and since JDK 24 also in the preemption stub.
 */
static void find_popped(struct hotspot *h, u64 start, const u8 *code, size_t len,
			struct hotspot_code *out)
{
	u32 displacement;

	for (size_t i = 0; i + 8 <= len; i++) {
		memcpy(&displacement, code + i + 3, sizeof(displacement));
		if (memcmp(code + i, "\x49\x8b\xa7", 3) != 0 || displacement != h->cont_entry ||
		    code[i + 7] == PUSH_RAX)
			continue;
		for (size_t k = i + 7; k + 4 <= len && k < i + POPPED_BYTES_MAX; k++) {
			if (memcmp(code + k, "\x48\x83\xc4", 3) != 0)
				continue;
			*out = (struct hotspot_code){ start + i + 7, start + k + 1 };
			return;
		}
	}
}

/*
 * The return barrier begins with `mov rsp,[r15+_cont_entry]; push rax`. The first such place in the
 * continuation stubs is the barrier, the second its variant for exceptions (checked in JDK 21 and
 * 25, all builds).
 */
static void find_barrier(struct hotspot *h, const struct blob *b)
{
	size_t len;
	auto_free u8 *code = read_code(h, b, &len);
	u32 displacement;

	if (!code)
		return;
	h->cont_stubs_start = b->code_start;
	h->cont_stubs_end = b->code_end;
	for (size_t i = 0; i + 8 <= len; i++) {
		if (memcmp(code + i, "\x49\x8b\xa7", 3) != 0 || code[i + 7] != PUSH_RAX)
			continue;
		memcpy(&displacement, code + i + 3, sizeof(displacement));
		if (!h->barrier)
			h->barrier = b->code_start + i;
		if (!h->cont_entry && displacement < HOTSPOT_NO_FIELD)
			h->cont_entry = displacement;
		break;
	}
	find_popped(h, b->code_start, code, len, &h->popped[0]);
}

/* Finds Continuation.enterSpecial and doYield, native methods with their own code. */
static void learn_intrinsic(struct hotspot *h, const struct blob *b)
{
	const struct method_name *m;
	u64 method = (u64)jvm_get(&h->jvm.build, NM_METHOD, b->header, b->header_len);

	if (methods_find(h->methods, method, 0, &m) ||
	    strcmp(m->class_name, "jdk.internal.vm.Continuation") != 0)
		return;
	if (!strcmp(m->name, "enterSpecial"))
		h->enter_special = b->addr;
	else if (!strcmp(m->name, "doYield"))
		h->do_yield = b->addr;
}

void hotspot_learn_continuation_blob(struct hotspot *h, const struct blob *b,
				     const struct blob_name *name)
{
	if (h->jvm.jdk < JDK_WITH_VTHREADS)
		return;
	if (!h->cont_stubs_start && strstr(name->text, "continuation") &&
	    strstr(name->text, "stubs"))
		find_barrier(h, b);
	if (name->class == HOTSPOT_CLASS_NATIVE && (!h->enter_special || !h->do_yield))
		learn_intrinsic(h, b);
}

static void find_popped_in_yield(struct hotspot *h)
{
	struct blob b;

	if (blob_read(&h->jvm, &h->heaps, h->do_yield, &b))
		return;

	size_t len;
	auto_free u8 *code = read_code(h, &b, &len);
	if (code)
		find_popped(h, b.code_start, code, len, &h->popped[1]);
}

/*
 * enterSpecial calls the thaw stub, and a continuation's bottom frame returns after that call. JDK
 * 21 to 24 do not export the address (ContinuationEntry::_return_pc).
 */
static void find_enter_special_return(struct hotspot *h)
{
	struct blob b;
	s32 displacement;

	if (blob_read(&h->jvm, &h->heaps, h->enter_special, &b))
		return;

	size_t len;
	auto_free u8 *code = read_code(h, &b, &len);
	if (!code)
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

bool hotspot_knows_continuations(const struct hotspot *h)
{
	return h->jvm.jdk < JDK_WITH_VTHREADS || (h->enter_special && h->do_yield);
}

/*
 * The Klass of a class that the VM has a pointer to, beside that of Thread: vmClasses::_klasses is
 * an array, of which only some elements are exported.
 */
static u64 find_vm_class(const struct vm_memory *j, const char *name)
{
	u64 klasses[VM_CLASSES], symbols[VM_CLASSES];
	u64 at = vm_static(j, THREAD_CLASS);

	if (!at || mem_read(j->mem, at, klasses, sizeof(klasses)))
		return 0;
	for (u32 i = 0; i < VM_CLASSES; i++)
		klasses[i] = klasses[i] & 7 ? 0 : klasses[i];
	u64 names[VM_CLASSES];
	for (u32 i = 0; i < VM_CLASSES; i++)
		names[i] = klasses[i] ? klasses[i] + j->build.fields[KLASS_NAME].at : 0;
	if (java_read_each(j->mem, names, VM_CLASSES, symbols, sizeof(symbols[0])))
		return 0;
	for (u32 i = 0; i < VM_CLASSES; i++) {
		auto_free char *text = NULL;
		size_t len;
		if (symbols[i] && !method_symbol(j, symbols[i], &text, &len) &&
		    len == strlen(name) && !memcmp(text, name, len))
			return klasses[i];
	}
	return 0;
}

static u16 field_at(const struct java_fields *fields, const char *name)
{
	u32 at = HOTSPOT_NO_FIELD;

	java_field_find(fields, name, &at);
	return (u16)at;
}

/* Injected fields of StackChunk, in the order of their declaration (classfile/javaClasses.hpp). */
enum {
	INJECTED_CONT,
	INJECTED_FLAGS,
	INJECTED_PC,
	INJECTED_MAX_THAWING
};

static u16 injected_at(const struct java_fields *fields, size_t i)
{
	return i < fields->injected.nr ? (u16)fields->injected.at[i] : HOTSPOT_NO_FIELD;
}

static bool has_chunk_fields(const struct hotspot_chunk *c)
{
	return c->tail != HOTSPOT_NO_FIELD && c->parent != HOTSPOT_NO_FIELD &&
	       c->size != HOTSPOT_NO_FIELD && c->sp != HOTSPOT_NO_FIELD &&
	       (c->end != HOTSPOT_NO_FIELD || c->arguments != HOTSPOT_NO_FIELD);
}

static int read_chunk_layout(const struct vm_memory *j, struct hotspot_chunk *out)
{
	struct java_fields cont = { 0 }, chunk = { 0 };
	struct java_objects o;
	u64 klass = find_vm_class(j, "jdk/internal/vm/StackChunk"), layout = 0;
	int err = klass ? java_objects_find(j, &o) : -ENOENT;

	err = err ?: java_fields_read(j, klass, &chunk);
	err = err ?: vm_read(j, klass, KLASS_LAYOUT, &layout);
	err = err ?: java_fields_read(j, find_vm_class(j, "jdk/internal/vm/Continuation"), &cont);
	if (!err)
		*out = (struct hotspot_chunk){
			.narrow_base = o.narrow_base,
			.narrow_shift = (u8)o.narrow_shift,
			.reference_bytes = (u8)o.reference_bytes,
			.class = java_class_value(&o, klass),
			.class_at = (u16)o.class_off,
			.class_bytes = (u8)o.class_bytes,
			.class_shift = (u8)o.class_shift,
			.tail = field_at(&cont, "tail"),
			.parent = field_at(&chunk, "parent"),
			.size = field_at(&chunk, "size"),
			.sp = field_at(&chunk, "sp"),
			.end = field_at(&chunk, "bottom"),
			.arguments = field_at(&chunk, "argsize"),
			.pc = injected_at(&chunk, INJECTED_PC),
			.max_thawing = injected_at(&chunk, INJECTED_MAX_THAWING),
			.stack = (u16)(layout & ~7u),
		};
	if (err || !has_chunk_fields(out))
		*out = (struct hotspot_chunk){ 0 };
	java_fields_fini(&cont);
	java_fields_fini(&chunk);
	return err;
}

/*
 * The address of ZGC's mask of the colors that are stale in its current phase. Without generations
 * (before JDK 24) the colors are bits of the address, which is mapped once for each color. -ENOENT:
 * this build does not export the mask.
 */
static int find_bad_colors(const struct vm_memory *j, u64 *out, bool *is_viewed)
{
	struct java_objects o;
	u64 globals;
	int err = java_objects_find(j, &o);

	if (err)
		return err;
	*is_viewed = !o.is_colored;
	err = vm_read_static(j, *is_viewed ? Z_SINGLE_GLOBALS : Z_GLOBALS, &globals);
	return err ?: vm_read(j, globals, *is_viewed ? Z_SINGLE_BAD_COLORS : Z_BAD_COLORS, out);
}

/*
 * ZGC and Shenandoah move objects while threads run. A walk follows only references that are not
 * stale (ZGC), or follows them to the new copy (Shenandoah).
 */
static void learn_chunks(struct hotspot *h)
{
	bool is_shenandoah = false, is_z = false, is_viewed = false;
	u64 bad_colors = 0;

	if (h->has_asked_chunks || !h->barrier)
		return;
	hotspot_flag(h, "UseShenandoahGC", &is_shenandoah);
	hotspot_flag(h, "UseZGC", &is_z);
	int err = is_z ? find_bad_colors(&h->jvm, &bad_colors, &is_viewed) : 0;
	h->has_asked_chunks = err == -ENOENT;
	if (err || read_chunk_layout(&h->jvm, &h->chunk))
		return;
	h->has_asked_chunks = true;
	h->chunk.bad_colors = bad_colors;
	h->chunk.is_forwarded = is_shenandoah;
	h->chunk.is_viewed = is_viewed;
}

void hotspot_learn_continuations(struct hotspot *h)
{
	learn_chunks(h);
	if (h->enter_special && h->cont_stubs_start && !h->enter_special_return)
		find_enter_special_return(h);
	if (h->do_yield && h->cont_entry && !h->popped[1].end)
		find_popped_in_yield(h);
	if (!h->tls_module)
		hotspot_find_tls(h);
}
