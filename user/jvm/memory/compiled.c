/* SPDX-License-Identifier: Apache-2.0 */
/* The Java frames at a pc of compiled code. */
#include "jvm/memory/compiled.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/memory/scopes.h"

#define TABLE_MAX     (1u << 20) /* bytes of PcDescs or scopes data */
#define SCOPES_MAX    64         /* per pc; HotSpot's MaxInlineLevel is 9 or 15 */
#define METADATA_MAX  65536      /* entries */
#define LEVEL_C1_LAST 3          /* CompLevel_full_profile */

/* The addresses of an nmethod's tables. */
struct tables {
	u64 descs, descs_end;
	u64 scopes, scopes_end;
	u64 metadata;
};

static u64 get(const struct vm_memory *j, const struct blob *b, enum jvm_slot slot)
{
	return (u64)jvm_get(&j->build, slot, b->header, b->header_len);
}

u32 compiled_id(const struct vm_memory *j, const struct blob *b)
{
	return (u32)get(j, b, NM_COMPILE_ID);
}

static u64 find_metadata(const struct vm_memory *j, const struct blob *b)
{
	if (vm_has(&j->build, NM_METADATA_OFFSET)) /* JDK 8..22; 23 and 24: in the blob's data */
		return b->addr + get(j, b, NM_METADATA_OFFSET) +
		       (vm_has(&j->build, NM_IMMUTABLE_DATA) ? get(j, b, BLOB_DATA_OFFSET) : 0);
	return get(j, b, BLOB_MUTABLE_DATA) + get(j, b, BLOB_RELOCATION_SIZE);
}

/*
 * -EBADMSG if they cannot be where the nmethod points, -ENOENT if this build does not export the
 * fields.
 */
static int find_tables(const struct vm_memory *j, const struct blob *b, struct tables *t)
{
	const struct jvm_build *build = &j->build;
	u64 base = b->addr;

	if (!vm_has(build, NM_SCOPES_PCS_OFFSET))
		return -ENOENT;
	if (vm_has(build, NM_IMMUTABLE_DATA)) { /* JDK 23 and later: outside the code heap */
		base = get(j, b, NM_IMMUTABLE_DATA);
		t->descs = base + get(j, b, NM_SCOPES_PCS_OFFSET);
		t->scopes = base + get(j, b, NM_SCOPES_DATA_OFFSET);
		t->descs_end = t->scopes;
		t->scopes_end = base + get(j, b, NM_IMMUTABLE_DATA_SIZE);
	} else {
		t->descs = base + get(j, b, NM_SCOPES_PCS_OFFSET);
		t->descs_end = base + get(j, b, NM_DEPENDENCIES_OFFSET);
		t->scopes = vm_has(build, NM_SCOPES_DATA_BEGIN)
				    ? get(j, b, NM_SCOPES_DATA_BEGIN)
				    : base + get(j, b, NM_SCOPES_DATA_OFFSET);
		t->scopes_end = t->descs;
	}
	t->metadata = find_metadata(j, b);
	if (!base || t->descs > t->descs_end || t->descs_end - t->descs > TABLE_MAX ||
	    t->scopes > t->scopes_end || t->scopes_end - t->scopes > TABLE_MAX)
		return -EBADMSG;
	return 0;
}

/*
 * Whether the compiler also recorded debug information between safepoints, as with
 * -XX:+DebugNonSafepoints or while an agent has CompiledMethodLoad enabled. Each safepoint has an
 * oop map and a descriptor (DebugInformationRecorder::add_safepoint); other places have only a
 * descriptor.
 */
static bool has_non_safepoints(const struct pc_desc *descs, size_t nr, u64 nr_maps)
{
	u64 nr_descs = 0;

	for (size_t i = 0; i < nr; i++)
		nr_descs += descs[i].scope_offset > 0;
	return nr_descs > nr_maps;
}

/*
 * The scopes at the pc, innermost first; 0 if there is no debug information for it. They are exact
 * for a descriptor of this pc, and for a leaf in code with debug information between safepoints.
 */
static int find_scopes(const struct vm_memory *j, const struct blob *b, const struct tables *t,
		       const struct code_pc *at, struct scope scopes[], bool *is_exact)
{
	const struct jvm_field *count = &j->build.fields[OOP_MAPS_COUNT];
	s32 pc_offset = (s32)(at->pc - b->code_start);
	u64 maps = get(j, b, BLOB_OOP_MAPS), nr_maps = 0;
	u32 descs_len = (u32)(t->descs_end - t->descs), data_len = (u32)(t->scopes_end - t->scopes);
	auto_free struct pc_desc *descs = xmalloc(descs_len);
	auto_free u8 *data = xmalloc(data_len);
	struct mem_request requests[] = {
		{ t->descs, descs, descs_len, false },
		{ t->scopes, data, data_len, false },
		{ maps + count->at, &nr_maps, count->width, false },
	};
	int nr = mem_read_batch(j->mem, requests, at->is_leaf && maps && count->width ? 3 : 2);

	if (!requests[0].ok || !requests[1].ok)
		return nr < 0 ? nr : -EFAULT;

	const struct pc_desc *d = scopes_find(descs, descs_len / sizeof(*descs), pc_offset);
	if (!d)
		return 0;
	*is_exact =
		d->pc_offset == pc_offset ||
		(requests[2].ok && has_non_safepoints(descs, descs_len / sizeof(*descs), nr_maps));
	return scopes_decode(data, data_len, (u32)d->scope_offset, j->jdk >= 20, scopes,
			     SCOPES_MAX);
}

static int read_methods(const struct vm_memory *j, const struct tables *t,
			const struct scope scopes[], int nr, u64 methods[])
{
	struct mem_request requests[SCOPES_MAX];

	for (int i = 0; i < nr; i++) {
		if (!scopes[i].method_index || scopes[i].method_index > METADATA_MAX)
			return -EBADMSG;
		requests[i] =
			(struct mem_request){ t->metadata + 8ull * (scopes[i].method_index - 1),
					      &methods[i], 8, false };
	}
	int nr_ok = mem_read_batch(j->mem, requests, (size_t)nr);
	return nr_ok == nr ? 0 : nr_ok < 0 ? nr_ok : -EFAULT;
}

/*
 * Whether the blob is still the same nmethod; its Methods were then alive when they were named.
 * Unloading first clears an nmethod's Method, and freeing releases its block.
 */
static int check_alive(const struct vm_memory *j, const struct blob *b)
{
	const struct jvm_field *f = j->build.fields;
	u64 method = 0;
	u32 id = 0;
	u8 used = 1;
	struct mem_request requests[] = {
		{ b->addr + f[NM_METHOD].at, &method, sizeof(method), false },
		{ b->addr + f[NM_COMPILE_ID].at, &id, sizeof(id), false },
		{ b->addr - j->build.sizes[SIZE_HEAP_BLOCK] + f[BLOCK_USED].at, &used, 1, false },
	};
	int nr_ok = mem_read_batch(j->mem, requests, ARRAY_SIZE(requests));

	if (nr_ok != ARRAY_SIZE(requests))
		return nr_ok < 0 ? nr_ok : -EFAULT;
	if (!vm_has(&j->build, NM_COMPILE_ID))
		id = 0;
	return method == get(j, b, NM_METHOD) && id == compiled_id(j, b) && used ? 0 : -ESTALE;
}

/* If classes were unloaded since the sample, the Method's present name is the best there is. */
static int add_frame(struct methods *methods, u64 method, s32 bci, u64 unloads,
		     struct java_frame *out)
{
	const struct method_name *m;
	int err = methods_find(methods, method, unloads, &m);

	if (err == -ESTALE)
		err = methods_find(methods, method, 0, &m);
	if (err)
		return err;
	*out = (struct java_frame){
		.class_name = m->class_name,
		.method = m->name,
		.signature = m->signature,
		.file = m->file,
		.bci = bci,
		.line = methods_line(methods, m, bci),
		.kind = FRAME_INLINED,
		.is_native = m->is_native,
	};
	return 0;
}

static enum frame_kind physical_kind(const struct vm_memory *j, const struct blob *b,
				     bool is_native)
{
	u64 level = get(j, b, NM_COMP_LEVEL);

	if (is_native)
		return FRAME_STUB;
	return level <= LEVEL_C1_LAST ? FRAME_C1 : FRAME_C2;
}

/* The physical method alone; the inlining at this pc is unknown. */
static int physical_frame(const struct vm_memory *j, struct methods *methods, const struct blob *b,
			  u64 unloads, bool is_exact, struct java_frame *out)
{
	u64 method = get(j, b, NM_METHOD);
	int err = add_frame(methods, method, -1, unloads, out);

	if (err)
		return err;
	out->kind = physical_kind(j, b, out->is_native);
	out->line = 0;
	out->is_approximate = !is_exact && !out->is_native;
	return 1;
}

/* The same as compiled_frames, for an nmethod that may be removed meanwhile. */
static int read_frames(const struct vm_memory *j, struct methods *methods, const struct blob *b,
		       const struct code_pc *at, struct java_frame out[], int max)
{
	struct scope scopes[SCOPES_MAX];
	u64 addrs[SCOPES_MAX];
	struct tables t = { 0 };
	bool is_exact = true;
	int nr = 0;

	/* The prologue has no inlined calls; the next descriptor is for later code. */
	bool in_prologue = at->is_leaf && b->frame_complete > 0 &&
			   at->pc < b->code_start + (u64)b->frame_complete;
	if (!in_prologue && at->pc >= b->code_start && at->pc <= b->code_end &&
	    !find_tables(j, b, &t))
		nr = find_scopes(j, b, &t, at, scopes, &is_exact);
	int err = nr > 0 ? read_methods(j, &t, scopes, nr, addrs) : nr;
	if (err == -ESRCH)
		return err;
	if (nr <= 0 || err)
		return physical_frame(j, methods, b, at->unloads, in_prologue, out);

	int skip = nr > max ? nr - max : 0; /* keep the outermost */
	for (int i = skip; i < nr; i++) {
		struct java_frame *f = &out[i - skip];
		err = add_frame(methods, addrs[i], scopes[i].bci, at->unloads, f);
		if (err == -ESRCH)
			return err;
		if (err)
			return physical_frame(j, methods, b, at->unloads, in_prologue, out);
		f->is_approximate = !is_exact;
	}
	struct java_frame *last = &out[nr - skip - 1];
	last->kind = physical_kind(j, b, last->is_native);
	return nr - skip;
}

/*
 * Whether the nmethod cannot be running and its tables are not valid. Either the JVM is still
 * writing it: not_installed, -1 in JDK 9 and later (JDK 8 has only states from 0). Or its class is
 * unloaded and the memory of its Methods freed: its own Method is then NULL.
 */
static bool is_unused(const struct vm_memory *j, const struct blob *b)
{
	return (s8)get(j, b, NM_STATE) < 0 || !get(j, b, NM_METHOD);
}

int compiled_frames(const struct vm_memory *j, struct methods *methods, const struct blob *b,
		    const struct code_pc *at, struct java_frame out[], int max)
{
	if (is_unused(j, b))
		return -ENOENT;

	int nr = read_frames(j, methods, b, at, out, max);
	int err = nr == -ESRCH ? nr : check_alive(j, b);

	return err ? err : nr;
}
