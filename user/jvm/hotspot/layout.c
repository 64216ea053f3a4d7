/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a JVM for the BPF unwinder, and the lists of its blobs. Part of
 * jvm/hotspot/hotspot.h.
 */
#include <string.h>

#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/compiled.h"

#define EACH_LIMIT_NS (30 * NS_PER_SEC)
#define SCAN_LIMIT_NS (250 * NS_PER_MS)
#define SCAN_PAUSE_NS (10 * NS_PER_SEC)

/* No table exports the interpreter frame's slots (runtime/frame_x86.hpp, frame_aarch64.hpp). */
#define METHOD_SLOT (-3)
#if defined(__aarch64__)
#define BCP_SLOT_8 (-7)
#define BCP_SLOT   (-9)
#else
#define BCP_SLOT_8 (-7)
#define BCP_SLOT   (-8) /* JDK 9 added the class's mirror above it */
#endif
#define SENDER_SP_SLOT (-1)

static u16 offset(const struct jvm_build *b, enum jvm_slot slot)
{
	return vm_has(b, slot) && b->fields[slot].at < HOTSPOT_NO_FIELD ? (u16)b->fields[slot].at
									: HOTSPOT_NO_FIELD;
}

/* An offset within the part of a blob that one read gets. */
static u16 header_offset(const struct jvm_build *b, enum jvm_slot slot)
{
	u16 at = offset(b, slot);

	return at <= HOTSPOT_HEADER_MAX - 8 ? at : HOTSPOT_NO_FIELD;
}

static u16 either(u16 first, u16 second)
{
	return first != HOTSPOT_NO_FIELD ? first : second;
}

static void fill_blob(const struct jvm_build *b, struct hotspot_layout *out)
{
	out->block_size = (u16)b->sizes[SIZE_HEAP_BLOCK];
	out->block_used = offset(b, BLOCK_USED);
	out->block_length = offset(b, BLOCK_LENGTH);
	out->name = header_offset(b, BLOB_NAME);
	out->kind = header_offset(b, BLOB_KIND);
	out->size = header_offset(b, BLOB_SIZE);
	out->frame_size = header_offset(b, BLOB_FRAME_SIZE);
	out->frame_complete = header_offset(b, BLOB_FRAME_COMPLETE);
	if (vm_has(b, BLOB_CODE_BEGIN) && vm_has(b, BLOB_CODE_END)) {
		out->code_begin = header_offset(b, BLOB_CODE_BEGIN);
		out->code_end = header_offset(b, BLOB_CODE_END);
	} else {
		out->flags |= HOTSPOT_CODE_IS_OFFSET;
		out->code_begin = header_offset(b, BLOB_CODE_OFFSET);
		out->code_end = header_offset(b, BLOB_DATA_OFFSET);
	}
	if (b->fields[BLOB_FRAME_COMPLETE].width == 2)
		out->flags |= HOTSPOT_FRAME_COMPLETE_IS_16;
	if (b->fields[BLOCK_LENGTH].width == 4)
		out->flags |= HOTSPOT_USED_LENGTH_IS_32;
	memcpy(out->kind_class, b->kinds, sizeof(out->kind_class));
}

static void fill_nmethod(const struct jvm_build *b, struct hotspot_layout *out)
{
	out->method = header_offset(b, NM_METHOD);
	out->compile_id = header_offset(b, NM_COMPILE_ID);
	out->comp_level = header_offset(b, NM_COMP_LEVEL);
	out->orig_pc = header_offset(b, NM_ORIG_PC);
	out->stub_offset = header_offset(b, NM_STUB_OFFSET);
	if (!vm_has(b, NM_DEOPT_BEGIN))
		out->flags |= HOTSPOT_DEOPT_IS_OFFSET;
	out->deopt = either(header_offset(b, NM_DEOPT_BEGIN), header_offset(b, NM_DEOPT_OFFSET));
	out->deopt_mh =
		either(header_offset(b, NM_DEOPT_MH_BEGIN), header_offset(b, NM_DEOPT_MH_OFFSET));
}

static u16 header_bytes(const struct hotspot_layout *l)
{
	const u16 fields[] = { l->name,           l->kind,       l->size,     l->frame_size,
			       l->frame_complete, l->code_begin, l->code_end, l->method,
			       l->compile_id,     l->orig_pc,    l->deopt,    l->deopt_mh };
	u16 bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i] != HOTSPOT_NO_FIELD && fields[i] + 8 > bytes)
			bytes = fields[i] + 8;
	return bytes;
}

static void fill_objects(const struct hotspot *h, struct hotspot_layout *out)
{
	const struct jvm_build *b = &h->jvm.build;

	out->const_method = offset(b, METHOD_CONST_METHOD);
	out->bytecode = (u16)b->sizes[SIZE_CONST_METHOD];
	out->code_size = offset(b, CM_CODE_SIZE);
	out->access_flags = offset(b, METHOD_ACCESS_FLAGS);
	out->stack_base = offset(b, THREAD_STACK_BASE);
	out->stack_size = offset(b, THREAD_STACK_SIZE);
	out->anchor = offset(b, THREAD_ANCHOR);
	out->cont_entry = h->cont_entry ? (u16)h->cont_entry : HOTSPOT_NO_FIELD;
	out->tls_module = h->tls_module;
	out->tls_offset = h->tls_offset;
}

void hotspot_layout(const struct hotspot *h, struct hotspot_layout *out)
{
	bool preserves_fp = false;

	memset(out, 0, sizeof(*out)); /* including padding, because layouts are compared */
	out->bounds_start = h->heaps.start;
	out->bounds_end = h->heaps.end;
	out->interpreter_start = h->interpreter_start;
	out->interpreter_end = h->interpreter_end;
	out->call_stub_return = h->call_stub_return;
	out->unloads = h->jvm.unloads;
	out->name_nmethod = h->name_nmethod;
	out->name_native = h->name_native;
	out->name_vtable = h->name_vtable;
	out->name_adapter = h->name_adapter;
	out->name_mh_adapter = h->name_mh_adapter;
	out->name_signature = h->name_signature;
	out->barrier = h->barrier;
	out->enter_special_return = h->enter_special_return;
	out->cont_stubs_start = h->cont_stubs_start;
	out->cont_stubs_end = h->cont_stubs_end;
	out->enter_special = h->enter_special;
	out->do_yield = h->do_yield;
	out->chunk = h->chunk;
	memcpy(out->popped, h->popped, sizeof(out->popped));
	memcpy(out->heaps, h->heaps.at, h->heaps.nr * sizeof(out->heaps[0]));
	out->nr_heaps = (u16)h->heaps.nr;
	out->jdk = (u8)h->jvm.jdk;
	out->method_slot = METHOD_SLOT;
	out->bcp_slot = h->jvm.jdk && h->jvm.jdk < 9 ? BCP_SLOT_8 : BCP_SLOT;
	out->sender_sp_slot = SENDER_SP_SLOT;
	if (!hotspot_flag(h, "PreserveFramePointer", &preserves_fp) && preserves_fp)
		out->flags |= HOTSPOT_PRESERVES_FP;
	fill_blob(&h->jvm.build, out);
	fill_nmethod(&h->jvm.build, out);
	fill_objects(h, out);
	out->header_bytes = header_bytes(out);
}

struct visitor {
	struct hotspot *h;
	int (*visit)(void *ctx, const struct hotspot_blob *b);
	void *ctx;
};

static struct hotspot_blob describe(struct hotspot *h, const struct blob *b)
{
	const struct jvm_build *build = &h->jvm.build;
	struct hotspot_blob out = {
		.addr = b->addr,
		.code_start = b->code_start,
		.code_end = b->code_end,
		.name = hotspot_blob_name(h, b)->text,
		.is_nmethod = hotspot_is_nmethod(h, b),
		.frame_size = b->frame_size,
	};

	if (out.is_nmethod) {
		out.compile_id = compiled_id(&h->jvm, b);
		out.method = (u64)jvm_get(build, NM_METHOD, b->header, b->header_len);
		out.level = (int)jvm_get(build, NM_COMP_LEVEL, b->header, b->header_len);
	}
	return out;
}

static int visit_blob(void *ctx, const struct blob *b)
{
	struct visitor *v = ctx;
	const struct hotspot_blob out = describe(v->h, b);

	return v->visit(v->ctx, &out);
}

int hotspot_find_nmethod(struct hotspot *h, u64 code_start, struct hotspot_blob *out)
{
	struct blob b;
	int err = blob_find(&h->jvm, &h->heaps, code_start, &b);

	if (err)
		return err;
	*out = describe(h, &b);
	return out->is_nmethod && b.code_start == code_start ? 0 : -ENOENT;
}

static int each_blob(struct hotspot *h, u64 limit_ns,
		     int (*visit)(void *ctx, const struct hotspot_blob *b), void *ctx)
{
	struct code_walk walk = { .deadline_ns = time_worked_ns() + limit_ns };
	struct visitor v = { h, visit, ctx };
	struct code_heaps heaps;

	if (!code_heaps_read(&h->jvm, &heaps)) /* they have grown since the last look */
		h->heaps = heaps;
	return code_heaps_walk(&h->jvm, &h->heaps, &walk, visit_blob, &v);
}

int hotspot_each_blob(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		      void *ctx)
{
	return each_blob(h, EACH_LIMIT_NS, visit, ctx);
}

int hotspot_scan_blobs(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		       void *ctx)
{
	if (time_mono_ns() < h->next_scan_ns)
		return -EAGAIN;
	int err = each_blob(h, SCAN_LIMIT_NS, visit, ctx);
	if (err == -ETIMEDOUT)
		h->next_scan_ns = time_mono_ns() + SCAN_PAUSE_NS;
	return err;
}
