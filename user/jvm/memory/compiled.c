/* SPDX-License-Identifier: Apache-2.0 */
/* The Java frames at a pc of compiled code. */
#include "jvm/memory/compiled.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/memory/scopes.h"

#define TABLE_MAX     (1u << 20) /* bytes of PcDescs or scopes data */
#define SCOPES_MAX    64         /* per pc; HotSpot's MaxInlineLevel is 9 or 15 */
#define METADATA_MAX  65536      /* entries */
#define LEVEL_C1_LAST 3          /* CompLevel_full_profile */
/*
 * How long a kept nmethod is used without a look at the JVM. Its id is not used again within this
 * time, although samples have only a part of it (COMPILE_ID_MASK).
 */
#define TRUSTED_NS (60ull * 1000 * 1000 * 1000)

/* The addresses of an nmethod's tables. */
struct tables {
	u64 descs, descs_end;
	u64 scopes, scopes_end;
	u64 metadata;
};

enum copies {
	COPIES_UNREAD,
	COPIES_MISSING, /* this build does not export them */
	COPIES_READ,
};

/* An entry of the nmethod's metadata. */
struct metadata {
	u32 index;     /* 1-based */
	bool is_named; /* its Method was named for this nmethod */
	u64 method;
};

struct compiled {
	struct blob blob;
	enum copies copies;
	struct tables t;
	struct pc_desc *descs;
	size_t nr_descs;
	u8 *scopes; /* scopes data */
	size_t scopes_len;
	bool has_non_safepoints;
	VEC(struct metadata) metadata; /* entries that were needed so far */
	bool is_named;                 /* its own Method was named */
	u64 checked_ns;                /* when the nmethod was last seen alive */
	bool has_read;                 /* this call of compiled_frames has read the JVM's memory */
};

struct compiled *compiled_new(const struct blob *b)
{
	struct compiled *c = xcalloc(1, sizeof(*c));

	c->blob = *b;
	return c;
}

void compiled_free(struct compiled *c)
{
	if (!c)
		return;
	free(c->descs);
	free(c->scopes);
	vec_fini(&c->metadata);
	free(c);
}

size_t compiled_bytes(const struct compiled *c)
{
	return sizeof(*c) + c->nr_descs * sizeof(c->descs[0]) + c->scopes_len +
	       c->metadata.cap * sizeof(c->metadata.at[0]);
}

const struct blob *compiled_blob(const struct compiled *c)
{
	return &c->blob;
}

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

/* Reads the tables, once. */
static int read_tables(const struct vm_memory *j, struct compiled *c)
{
	const struct jvm_field *count = &j->build.fields[OOP_MAPS_COUNT];
	u64 maps = get(j, &c->blob, BLOB_OOP_MAPS), nr_maps = 0;

	c->copies = COPIES_MISSING;
	if (find_tables(j, &c->blob, &c->t))
		return 0;
	u32 descs_len = (u32)(c->t.descs_end - c->t.descs);
	c->scopes_len = c->t.scopes_end - c->t.scopes;
	c->nr_descs = descs_len / sizeof(*c->descs);
	c->descs = xmalloc(descs_len);
	c->scopes = xmalloc(c->scopes_len);
	struct mem_request requests[] = {
		{ c->t.descs, c->descs, descs_len, false },
		{ c->t.scopes, c->scopes, (u32)c->scopes_len, false },
		{ maps + count->at, &nr_maps, count->width, false },
	};
	int nr = mem_read_batch(j->mem, requests, maps && count->width ? 3 : 2);
	c->has_read = true;
	if (!requests[0].ok || !requests[1].ok) {
		free(take(c->descs));
		free(take(c->scopes));
		c->nr_descs = c->scopes_len = 0;
		c->copies = COPIES_UNREAD;
		return nr < 0 ? nr : -EFAULT;
	}
	c->has_non_safepoints =
		requests[2].ok && has_non_safepoints(c->descs, c->nr_descs, nr_maps);
	c->copies = COPIES_READ;
	return 0;
}

/*
 * The scopes at the pc, innermost first; 0 if there is no debug information for it. They are exact
 * for a descriptor of this pc, and for a leaf in code with debug information between safepoints.
 */
static int find_scopes(const struct vm_memory *j, struct compiled *c, const struct code_pc *at,
		       struct scope scopes[], bool *is_exact)
{
	s32 pc_offset = (s32)(at->pc - c->blob.code_start);
	int err = c->copies ? 0 : read_tables(j, c);

	if (err || c->copies == COPIES_MISSING)
		return err;
	const struct pc_desc *d = scopes_find(c->descs, c->nr_descs, pc_offset);
	if (!d)
		return 0;
	*is_exact = d->pc_offset == pc_offset || (at->is_leaf && c->has_non_safepoints);
	return scopes_decode(c->scopes, c->scopes_len, (u32)d->scope_offset, j->jdk >= 20, scopes,
			     SCOPES_MAX);
}

static struct metadata *find_entry(struct compiled *c, u32 index)
{
	vec_each(m, &c->metadata)
		if (m->index == index)
			return m;
	return NULL;
}

/* Reads the Methods of the scopes that are not known yet. */
static int read_methods(const struct vm_memory *j, struct compiled *c, const struct scope scopes[],
			int nr)
{
	struct mem_request requests[SCOPES_MAX];
	u64 methods[SCOPES_MAX];
	u32 indexes[SCOPES_MAX];
	size_t nr_unknown = 0;

	for (int i = 0; i < nr; i++) {
		u32 index = scopes[i].method_index;
		if (!index || index > METADATA_MAX)
			return -EBADMSG;
		if (find_entry(c, index))
			continue;
		indexes[nr_unknown] = index;
		requests[nr_unknown] = (struct mem_request){ c->t.metadata + 8ull * (index - 1),
							     &methods[nr_unknown], 8, false };
		nr_unknown++;
	}
	if (!nr_unknown)
		return 0;
	int nr_ok = mem_read_batch(j->mem, requests, nr_unknown);
	c->has_read = true;
	if (nr_ok != (int)nr_unknown)
		return nr_ok < 0 ? nr_ok : -EFAULT;
	for (size_t i = 0; i < nr_unknown; i++)
		vec_push(&c->metadata,
			 (struct metadata){ .index = indexes[i], .method = methods[i] });
	return 0;
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
static int find_name(struct methods *methods, u64 method, u64 unloads,
		     const struct method_name **out)
{
	int err = methods_find(methods, method, unloads, out);

	return err == -ESTALE ? methods_find(methods, method, 0, out) : err;
}

static void set_frame(struct methods *methods, const struct method_name *m, s32 bci,
		      struct java_frame *out)
{
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
}

/*
 * An nmethod keeps its Methods: as long as it lives, neither unloading nor a redefinition frees
 * them (MetadataOnStackMark, share/classfile/metadataOnStackMark.cpp). A Method that was once named
 * for this nmethod keeps its name at every count of unloaded classes at which it was named.
 * compiled_frames checks that the nmethod is alive.
 */
static int add_frame(struct methods *methods, struct compiled *c, const struct scope *scope,
		     u64 unloads, struct java_frame *out)
{
	struct metadata *entry = find_entry(c, scope->method_index);
	const struct method_name *m =
		entry->is_named ? methods_recall(methods, entry->method, unloads) : NULL;
	int err = m ? 0 : find_name(methods, entry->method, unloads, &m);

	if (err)
		return err;
	entry->is_named = true;
	set_frame(methods, m, scope->bci, out);
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
static int physical_frame(const struct vm_memory *j, struct methods *methods, struct compiled *c,
			  u64 unloads, bool is_exact, struct java_frame *out)
{
	u64 method = get(j, &c->blob, NM_METHOD);
	const struct method_name *m = c->is_named ? methods_recall(methods, method, unloads) : NULL;
	int err = m ? 0 : find_name(methods, method, unloads, &m);

	if (err)
		return err;
	c->is_named = true;
	set_frame(methods, m, -1, out);
	out->kind = physical_kind(j, &c->blob, out->is_native);
	out->line = 0;
	out->is_approximate = !is_exact && !out->is_native;
	return 1;
}

/* As compiled_frames, for an nmethod that may be removed during the read. */
static int read_frames(const struct vm_memory *j, struct methods *methods, struct compiled *c,
		       const struct code_pc *at, struct java_frame out[], int max)
{
	const struct blob *b = &c->blob;
	struct scope scopes[SCOPES_MAX];
	bool is_exact = true;
	int nr = 0;

	/* The prologue has no inlined calls; the next descriptor is for later code. */
	bool in_prologue = at->is_leaf && b->frame_complete > 0 &&
			   at->pc < b->code_start + (u64)b->frame_complete;
	if (!in_prologue && at->pc >= b->code_start && at->pc <= b->code_end)
		nr = find_scopes(j, c, at, scopes, &is_exact);
	int err = nr > 0 ? read_methods(j, c, scopes, nr) : nr;
	if (err == -ESRCH)
		return err;
	if (nr <= 0 || err)
		return physical_frame(j, methods, c, at->unloads, in_prologue, out);

	int skip = nr > max ? nr - max : 0; /* keep the outermost */
	for (int i = skip; i < nr; i++) {
		struct java_frame *f = &out[i - skip];
		err = add_frame(methods, c, &scopes[i], at->unloads, f);
		if (err == -ESRCH)
			return err;
		if (err)
			return physical_frame(j, methods, c, at->unloads, in_prologue, out);
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

/*
 * Without any read, names and tables are those that were checked before: the sample found the
 * nmethod alive, and at its count of unloaded classes all Methods of this nmethod were alive.
 */
int compiled_frames(const struct vm_memory *j, struct methods *methods, struct compiled *c,
		    const struct code_pc *at, struct java_frame out[], int max)
{
	u64 nr_looks = methods_nr_looks(methods), now_ns = time_mono_ns();

	if (is_unused(j, &c->blob))
		return -ENOENT;
	c->has_read = false;
	int nr = read_frames(j, methods, c, at, out, max);
	bool is_new = c->has_read || methods_nr_looks(methods) != nr_looks;
	if (nr == -ESRCH || (at->unloads && !is_new && now_ns - c->checked_ns < TRUSTED_NS))
		return nr;
	int err = check_alive(j, &c->blob);
	if (err)
		return err;
	c->checked_ns = now_ns;
	return nr;
}
