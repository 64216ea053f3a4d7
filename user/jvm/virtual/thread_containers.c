/* SPDX-License-Identifier: Apache-2.0 */
/* The sets in which a JVM keeps its virtual threads. Part of jvm/virtual/vthread_layout.h. */
#include "jvm/virtual/vthread_layout.h"

#include "base/alloc.h"
#include "base/auto.h"

#define CONTAINERS_MAX  512 /* looked at at once */
#define CONTAINER_BYTES 96
#define SCOPES_MAX      8 /* of one thread */

/*
 * The address of the set of a container of which the first bytes were read; 0: it has none. Fills
 * in the rest of *out.
 */
static u64 set_of(const struct vthread_layout *l, const u8 *bytes, struct thread_set *out)
{
	const struct java_objects *o = &l->objects;
	u64 class = java_part_class(o, bytes, CONTAINER_BYTES);
	const struct {
		enum vthread_class class;
		enum vthread_field set, name;
		const char *container;
	} kinds[] = {
		{ OF_EXECUTOR, F_EXECUTOR_THREADS, NR_FIELDS,
		  "java.util.concurrent.ThreadPerTaskExecutor" },
		{ OF_SHARED, F_SHARED_THREADS, F_SHARED_NAME,
		  "jdk.internal.vm.SharedThreadContainer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		u32 name = kinds[i].name < NR_FIELDS ? l->fields[kinds[i].name] : 0;
		if (!l->fields[kinds[i].set] || class != vthread_class_value(l, kinds[i].class))
			continue;
		out->container = kinds[i].container;
		out->name = name ? java_part_reference(o, bytes, CONTAINER_BYTES, name) : 0;
		return java_part_reference(o, bytes, CONTAINER_BYTES, l->fields[kinds[i].set]);
	}
	return 0;
}

/* Appends the sets of the containers in the registry, whose table is given. */
static int list_registered(const struct vm_memory *j, const struct vthread_layout *l,
			   struct java_table table, thread_set_list *out, u64 *nr_left_out)
{
	const struct java_objects *o = &l->objects;
	const struct set_fields f = vthread_sets(l);
	struct set_slot slots[CONTAINERS_MAX];
	set_key_list keys = { 0 };
	struct slot_choice c = slots_choose(table.length, CONTAINERS_MAX);

	for (u32 i = 0; i < c.nr; i++)
		slots[i] = (struct set_slot){ table.at, (u32)slots_chosen(&c, i), table.length, 0 };
	int err = java_slots_read(j, o, &f, slots, c.nr, &keys, nr_left_out);
	auto_free u64 *at = xcalloc(keys.nr + 1, sizeof(*at));
	auto_free u8 *bytes = xcalloc(keys.nr + 1, CONTAINER_BYTES);
	auto_free struct java_table *tables = xcalloc(keys.nr + 1, sizeof(*tables));
	auto_free struct thread_set *sets = xcalloc(keys.nr + 1, sizeof(*sets));
	for (size_t i = 0; i < keys.nr; i++)
		at[i] = keys.at[i].object;
	err = err ?: java_follow(j, o, at, keys.nr, l->fields[F_REFERENT]);
	err = err ?: java_read_each(j->mem, at, keys.nr, bytes, CONTAINER_BYTES);
	for (size_t i = 0; i < keys.nr; i++)
		at[i] = set_of(l, bytes + i * CONTAINER_BYTES, &sets[i]);
	err = err ?: java_set_tables(j, o, &f, at, keys.nr, tables);
	for (size_t i = 0; !err && i < keys.nr; i++) {
		sets[i].table = tables[i];
		sets[i].share = c.stride;
		if (tables[i].at)
			vec_push(out, sets[i]);
	}
	vec_fini(&keys);
	return err;
}

int thread_sets_list(const struct vm_memory *j, const struct vthread_layout *l,
		     thread_set_list *out, u64 *nr_left_out)
{
	const struct java_objects *o = &l->objects;
	const struct set_fields f = vthread_sets(l);
	const u64 handles[2] = { l->containers_handle,
				 l->fields[F_ROOT_THREADS] ? l->root_handle : 0 };
	struct java_table tables[2];
	u64 mirrors[2], at[2];
	int err = java_read_each(j->mem, handles, 2, mirrors, sizeof(u64));

	if (err || !mirrors[0])
		return err ?: -EFAULT;
	at[0] = java_root(o, mirrors[0]) + l->fields[F_REGISTRY];
	at[1] = mirrors[1] ? java_root(o, mirrors[1]) + l->fields[F_ROOT_THREADS] : 0;
	err = java_follow(j, o, at, 2, 0);
	err = err ?: java_set_tables(j, o, &f, at, 2, tables);
	if (!err && tables[1].at)
		vec_push(out, (struct thread_set){ .table = tables[1], .share = 1 });
	return err ?: tables[0].at ? list_registered(j, l, tables[0], out, nr_left_out) : 0;
}

bool thread_scopes_exist(const struct vthread_layout *l)
{
	return l->fields[F_THREAD_SCOPES] && l->fields[F_SCOPE_PREVIOUS] &&
	       l->fields[F_FLOCK_THREADS] && l->fields[F_CONTAINER_FLOCK];
}

/* Appends the sets of the flocks at these addresses (0: none). */
static int list_flocks(const struct vm_memory *j, const struct vthread_layout *l, u64 *flocks,
		       const struct scope_head *heads, size_t nr, thread_set_list *out)
{
	const struct set_fields f = vthread_sets(l);
	auto_free struct java_table *tables = xcalloc(nr + 1, sizeof(*tables));
	auto_free u64 *names = xmemdup(flocks, nr * sizeof(*names) + !nr);
	int err = java_follow(j, &l->objects, flocks, nr, l->fields[F_FLOCK_THREADS]);

	if (!err && l->fields[F_FLOCK_NAME])
		err = java_follow(j, &l->objects, names, nr, l->fields[F_FLOCK_NAME]);
	err = err ?: java_set_tables(j, &l->objects, &f, flocks, nr, tables);
	for (size_t i = 0; !err && i < nr; i++)
		if (tables[i].at)
			vec_push(out,
				 (struct thread_set){ tables[i], heads[i].share,
						      "java.util.concurrent.StructuredTaskScope",
						      l->fields[F_FLOCK_NAME] ? names[i] : 0 });
	return err;
}

int thread_scopes_list(const struct vm_memory *j, const struct vthread_layout *l,
		       const struct scope_head *heads, size_t nr, thread_set_list *out,
		       u64 *nr_left_out)
{
	const struct java_objects *o = &l->objects;
	u64 container = vthread_class_value(l, OF_FLOCK_CONTAINER);
	auto_free u64 *scopes = xcalloc(nr + 1, sizeof(*scopes));
	auto_free u64 *flocks = xcalloc(nr + 1, sizeof(*flocks));
	auto_free u8 *bytes = xcalloc(nr + 1, CONTAINER_BYTES);
	size_t nr_open = nr;
	int err = 0;

	for (size_t i = 0; i < nr; i++)
		scopes[i] = heads[i].scope;
	for (int step = 0; !err && nr_open && step < SCOPES_MAX; step++) {
		err = java_read_each(j->mem, scopes, nr, bytes, CONTAINER_BYTES);
		nr_open = 0;
		for (size_t i = 0; i < nr; i++) {
			const u8 *scope = bytes + i * CONTAINER_BYTES;
			bool has_threads = scopes[i] &&
					   java_part_class(o, scope, CONTAINER_BYTES) == container;
			flocks[i] = has_threads ? java_part_reference(o, scope, CONTAINER_BYTES,
								      l->fields[F_CONTAINER_FLOCK])
						: 0;
			scopes[i] = java_part_reference(o, scope, CONTAINER_BYTES,
							l->fields[F_SCOPE_PREVIOUS]);
			nr_open += scopes[i] != 0;
		}
		err = err ?: list_flocks(j, l, flocks, heads, nr, out);
	}
	*nr_left_out += nr_open;
	return err;
}

struct slot_choice thread_sets_choose(const thread_set_list *sets, u32 most, double per_slot,
				      struct set_slot **out)
{
	u64 total = 0, before = 0;
	u32 set = 0;

	vec_each(s, sets)
		total += s->table.length;
	struct slot_choice c =
		slots_choose(total, (u32)(most / (per_slot > 0.01 ? per_slot : 0.01)));
	struct set_slot *slots = *out = xcalloc(c.nr + 1, sizeof(*slots));
	for (u32 i = 0; i < c.nr; i++) {
		u64 at = slots_chosen(&c, i);
		while (set + 1 < sets->nr && at - before >= sets->at[set].table.length)
			before += sets->at[set++].table.length;
		const struct java_table *t = &sets->at[set].table;
		slots[i] = (struct set_slot){ t->at, (u32)(at - before), t->length, set };
	}
	return c;
}

void thread_sets_take(const thread_set_list *wanted, thread_set_list *sets, thread_set_list *found)
{
	size_t at = 0;

	vec_each(p, wanted) {
		struct thread_set set = { 0 };
		for (size_t i = 0; i < sets->nr && !set.table.at; i++, at++) {
			struct thread_set *s = &sets->at[at % sets->nr];
			if (!s->table.at || s->table.at != p->table.at ||
			    s->table.length != p->table.length)
				continue;
			set = *s;
			s->table.at = 0;
		}
		vec_push(found, set);
	}
	size_t kept = 0;
	vec_each(s, sets)
		if (s->table.at)
			sets->at[kept++] = *s;
	sets->nr = kept;
}
