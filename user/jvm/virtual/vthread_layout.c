/* SPDX-License-Identifier: Apache-2.0 */
/* The JDK's classes of virtual threads in one JVM. */
#include "jvm/virtual/vthread_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

#define JDK_WITH_VTHREADS 21
#define SEARCH_NS         (200 * NS_PER_MS) /* for classes that are missing */
#define SEARCH_LATER_NS   NS_PER_SEC        /* for those that are needed rarely */
#define SEARCH_LIMIT_NS   (20 * NS_PER_MS)  /* of work in one look */
#define THREAD_BYTES_MAX  512
#define CHUNK_BYTES_MAX   96 /* of a StackChunk before its stack */

static const char *const class_names[NR_CLASSES] = {
#define X(slot, name) [slot] = name,
	CLASSES(X)
#undef X
};

struct field_name {
	enum vthread_class class;
	const char *name;
};

static const struct field_name field_names[NR_FIELDS] = {
#define X(slot, class, name) [F_##slot] = { class, name },
	FIELDS(X)
#undef X
};

/* The offsets of a class's fields; a missing one stays 0. */
static int learn_fields(struct vthread_layout *l, const struct vm_memory *j, enum vthread_class c,
			struct java_fields *fields)
{
	int err = java_fields_read(j, l->classes[c].klass, fields);

	if (err)
		return err;
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (field_names[i].class == c)
			java_field_find(fields, field_names[i].name, &l->fields[i]);
	if (c == OF_CHUNK) {
		java_field_find(fields, "bottom", &l->chunk_end);
		java_field_find(fields, "argsize", &l->chunk_arguments);
	}
	for (size_t i = 0; c == OF_VIRTUAL && i < LOCK_WAITERS && i < fields->injected.nr; i++)
		l->waiters[i] = fields->injected.at[i] & 7 ? 0 : fields->injected.at[i];
	l->has_fields[c] = true;
	return 0;
}

/* The address of the mirror of a class; 0 if it cannot be read. */
static u64 read_mirror(const struct vthread_layout *l, const struct vm_memory *j, u64 handle)
{
	u64 reference = 0;

	return handle && !mem_read_u64(j->mem, handle, &reference)
		       ? java_root(&l->objects, reference)
		       : 0;
}

/* The numbers of the states: constants in the mirror of VirtualThread. */
static int learn_states(struct vthread_layout *l, const struct vm_memory *j,
			const struct java_fields *fields, const struct vthread_state *states,
			size_t nr_states)
{
	u64 handle;
	int err = vm_read(j, l->classes[OF_VIRTUAL].klass, KLASS_MIRROR, &handle);
	u64 mirror = err ? 0 : read_mirror(l, j, handle);
	u32 at, value;

	if (!mirror)
		return err ?: -EFAULT;
	memset(l->states, 0, sizeof(l->states));
	for (size_t i = 0; i < nr_states; i++) {
		if (java_field_find(fields, states[i].name, &at))
			continue;
		err = mem_read(j->mem, mirror + at, &value, sizeof(value));
		if (err)
			return err;
		if (value < VTHREAD_STATES)
			l->states[value] = states[i].meaning;
	}
	l->suspended = 0;
	if (!java_field_find(fields, "SUSPENDED", &at))
		mem_read(j->mem, mirror + at, &l->suspended, sizeof(l->suspended));
	return 0;
}

/* A StackChunk's stack begins behind its fields (InstanceStackChunkKlass::offset_of_stack). */
static int learn_chunk(struct vthread_layout *l, const struct vm_memory *j)
{
	u64 layout;
	int err = vm_read(j, l->classes[OF_CHUNK].klass, KLASS_LAYOUT, &layout);

	if (err)
		return err;
	l->chunk_stack = (u32)layout & ~7u; /* the lowest bit only means that it is not plain */
	return l->chunk_stack >= 16 && l->chunk_stack <= CHUNK_BYTES_MAX ? 0 : -EBADMSG;
}

static int learn_handles(struct vthread_layout *l, const struct vm_memory *j)
{
	if (l->classes[OF_ROOT].klass && !l->root_handle)
		vm_read(j, l->classes[OF_ROOT].klass, KLASS_MIRROR, &l->root_handle);
	return l->containers_handle ? 0
				    : vm_read(j, l->classes[OF_CONTAINERS].klass, KLASS_MIRROR,
					      &l->containers_handle);
}

/* The field that this JDK lacks, NULL if it has all of them. */
static const char *missing_field(const struct vthread_layout *l)
{
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (field_names[i].class < NR_NEEDED && !l->fields[i] && i != F_TRACKS &&
		    i != F_THREAD_BLOCKER && i != F_THREAD_SCOPES)
			return field_names[i].name;
	return l->chunk_end || l->chunk_arguments ? NULL : "bottom";
}

static int learn(struct vthread_layout *l, const struct vm_memory *j,
		 const struct vthread_state *states, size_t nr_states)
{
	struct java_fields fields = { 0 };
	int err = 0;

	for (size_t c = 0; !err && c < NR_CLASSES; c++) {
		if (!l->classes[c].klass || l->has_fields[c])
			continue;
		err = learn_fields(l, j, (enum vthread_class)c, &fields);
		if (!err && c == OF_VIRTUAL)
			err = learn_states(l, j, &fields, states, nr_states);
		if (!err && c == OF_CHUNK)
			err = learn_chunk(l, j);
		if (err)
			l->has_fields[c] = false;
	}
	java_fields_fini(&fields);
	return err;
}

static bool has_needed(const struct vthread_layout *l)
{
	for (size_t c = 0; c < NR_NEEDED; c++)
		if (!l->has_fields[c])
			return false;
	return true;
}

static bool has_all(const struct vthread_layout *l)
{
	for (size_t c = 0; c < NR_CLASSES; c++)
		if (!l->has_fields[c])
			return false;
	return true;
}

/* Asks once whether the JVM lists the threads that no executor has started. */
static void ask_tracking(struct vthread_layout *l, const struct vm_memory *j)
{
	u64 mirror = read_mirror(l, j, l->containers_handle);
	u8 tracks;

	if (l->has_asked || !l->fields[F_TRACKS] || !mirror ||
	    mem_read(j->mem, mirror + l->fields[F_TRACKS], &tracks, 1))
		return;
	l->has_asked = true;
	if (!tracks)
		snprintf(l->why, sizeof(l->why),
			 "-Djdk.trackAllThreads=false: threads that no executor has started are "
			 "not listed");
}

int vthread_layout_update(struct vthread_layout *l, const struct vm_memory *j,
			  const struct vthread_state *states, size_t nr_states)
{
	u64 now = time_mono_ns();

	if (j->jdk < JDK_WITH_VTHREADS)
		return -EAGAIN;
	if (now < l->search_ns || (l->is_ready && has_all(l)))
		return l->is_ready ? 0 : *l->why ? -ENOENT : -EAGAIN;
	for (size_t i = 0; i < NR_CLASSES; i++)
		l->classes[i].name = class_names[i];
	int err = l->objects.reference_bytes ? 0 : java_objects_find(j, &l->objects);
	err = err ?: boot_classes_find(j, &l->search, l->classes, NR_CLASSES, SEARCH_LIMIT_NS);
	l->search_ns = err == -EAGAIN ? 0 : now + (l->is_ready ? SEARCH_LATER_NS : SEARCH_NS);
	if (err == -ENOENT)
		snprintf(l->why, sizeof(l->why), "its classes cannot be listed: %s",
			 jvm_slot_missing(KLASS_NEXT_LINK));
	err = err ?: learn(l, j, states, nr_states);
	if (!err && !has_needed(l))
		err = -EAGAIN;
	err = err ?: learn_handles(l, j);
	if (!err && missing_field(l)) {
		snprintf(l->why, sizeof(l->why), "this JDK has no field %s", missing_field(l));
		err = -ENOENT;
	}
	l->is_ready |= !err;
	if (l->is_ready)
		ask_tracking(l, j);
	return l->is_ready && err != -ESRCH ? 0 : err;
}

_Static_assert(VIRTUAL_WAITERS == LOCK_WAITERS, "BPF finds the same");

void vthread_place(const struct vthread_layout *l, struct virtual_place *out)
{
	const struct java_objects *o = &l->objects;
	const u32 *f = l->fields;

	out->narrow_base = o->narrow_base;
	out->class = vthread_class_value(l, OF_VIRTUAL);
	out->class_at = (u16)o->class_off;
	out->class_bytes = (u8)o->class_bytes;
	out->class_shift = (u8)o->class_shift;
	out->narrow_shift = (u8)o->narrow_shift;
	out->reference_bytes = (u8)o->reference_bytes;
	out->is_colored = o->is_colored;
	out->state = (u16)f[F_VIRTUAL_STATE];
	out->carrier = (u16)f[F_VIRTUAL_CARRIER];
	out->id = (u16)f[F_THREAD_ID];
	out->blocker = (u16)f[F_THREAD_BLOCKER];
	for (size_t i = 0; i < VIRTUAL_WAITERS; i++)
		out->waiters[i] = (u16)l->waiters[i];
	out->cont = (u16)f[F_VIRTUAL_CONT];
	out->tail = (u16)f[F_CONT_TAIL];
	out->chunk = vthread_class_value(l, OF_CHUNK);
	out->parent = (u16)f[F_CHUNK_PARENT];
	out->size = (u16)f[F_CHUNK_SIZE];
	out->sp = (u16)f[F_CHUNK_SP];
	out->end = (u16)l->chunk_end;
	out->arguments = (u16)l->chunk_arguments;
	out->stack = (u16)l->chunk_stack;
	out->node_hash = (u16)f[F_NODE_HASH];
	out->node_key = (u16)f[F_NODE_KEY];
	out->node_next = (u16)f[F_NODE_NEXT];
}

struct set_fields vthread_sets(const struct vthread_layout *l)
{
	const u32 *f = l->fields;

	return (struct set_fields){ f[F_VIEW_MAP],  f[F_MAP_TABLE],  f[F_NODE_HASH],  f[F_NODE_KEY],
				    f[F_NODE_NEXT], f[F_TREE_FIRST], f[F_MOVED_TABLE] };
}

struct lock_layout vthread_locks(const struct vthread_layout *l)
{
	return (struct lock_layout){ .owner = l->fields[F_LOCK_OWNER],
				     .synchronizer = l->classes[OF_SYNCHRONIZER].klass,
				     .stamped = l->classes[OF_STAMPED].klass,
				     .class = l->classes[OF_CLASS].klass };
}

struct string_fields vthread_strings(const struct vthread_layout *l)
{
	return (struct string_fields){ l->classes[OF_STRING].klass, l->fields[F_STRING_VALUE],
				       l->fields[F_STRING_CODER] };
}

u64 vthread_class_value(const struct vthread_layout *l, enum vthread_class class)
{
	return java_class_value(&l->objects, l->classes[class].klass);
}

u32 vthread_bytes(const struct vthread_layout *l)
{
	u32 most = 0;

	for (size_t i = 0; i < NR_FIELDS; i++)
		if ((field_names[i].class == OF_VIRTUAL || field_names[i].class == OF_THREAD) &&
		    l->fields[i] + 8 > most)
			most = l->fields[i] + 8;
	for (size_t i = 0; i < LOCK_WAITERS; i++)
		most = l->waiters[i] + 8 > most ? l->waiters[i] + 8 : most;
	return most < THREAD_BYTES_MAX ? most : THREAD_BYTES_MAX;
}

void vthread_layout_fini(struct vthread_layout *l)
{
	boot_search_fini(&l->search);
}
