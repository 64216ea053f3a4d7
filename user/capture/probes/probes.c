/* SPDX-License-Identifier: Apache-2.0 */
/* Uprobes in the files that recorded processes map. */
#include "capture/probes/probes.h"

#include "capture/probes/probe_files.h"

/* The probes of one process; if every process is recorded, one holder has the probes of all. */
struct holder {
	u64 key;
	probe_links links;
	struct dict met; /* files whose probes the holder has */
};

struct probes {
	bool by_process;
	struct probe_files *files; /* NULL: the file is known */
	probes_place_known_fn place_known;
	void *ctx;           /* of place_known; owned */
	struct dict waiting; /* processes with files to be searched: key -> PID */
	VEC(struct holder) holders;
};

static u64 key_of_process(const struct process *p)
{
	return process_id_hash(p->id);
}

struct probes *probes_new(struct workers *workers, bool by_process,
			  const struct probe_placing *placing, void *ctx)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	p->by_process = by_process;
	p->files = probe_files_new(workers, placing, ctx);
	return p;
}

struct probes *probes_new_known(probes_place_known_fn place, void *ctx)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	p->by_process = true;
	p->place_known = place;
	p->ctx = ctx;
	return p;
}

static void holder_fini(struct holder *h, struct detacher *detacher)
{
	vec_each(link, &h->links)
		detacher_add(detacher, *link);
	vec_fini(&h->links);
	dict_fini(&h->met);
}

void probes_take_off(struct probes *p, struct detacher *detacher)
{
	vec_each(h, &p->holders)
		holder_fini(h, detacher);
	p->holders.nr = 0;
	dict_fini(&p->waiting);
	if (p->files)
		probe_files_stop(p->files);
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	vec_fini(&p->holders);
	dict_fini(&p->waiting);
	probe_files_free(p->files);
	free(p->ctx);
	free(p);
}

static struct holder *find_holder(struct probes *p, u64 key)
{
	vec_each(h, &p->holders)
		if (h->key == key)
			return h;
	return NULL;
}

/* Begins all searches before it waits for one. Returns whether files are left to be searched. */
static bool place_in_files(struct probes *p, struct holder *h, const struct process *process)
{
	const struct mappings *all = &process->mappings;
	pid_t pid = p->by_process ? process->id.pid : -1;
	bool waits = false;

	for (size_t i = 0; i < all->nr; i++)
		waits |= !probe_files_begin(p->files, process, &all->at[i], pid);
	for (size_t i = 0; i < all->nr; i++) {
		u64 key = probe_files_key(&all->at[i]);
		if (dict_find(&h->met, key))
			continue;
		enum probe_state state =
			probe_files_place(p->files, process, &all->at[i], pid, &h->links);
		if (state == PROBES_KNOWN)
			dict_add(&h->met, key);
		waits |= state == PROBES_WAITING;
	}
	return waits;
}

void probes_add_process(struct probes *p, const struct process *process)
{
	u64 key = p->by_process ? key_of_process(process) : 0;
	struct holder *h = find_holder(p, key);

	if (!h) {
		vec_push(&p->holders, (struct holder){ .key = key });
		h = &p->holders.at[p->holders.nr - 1];
		if (!p->files)
			p->place_known(process->id.pid, &h->links, p->ctx);
	}
	if (p->files && place_in_files(p, h, process))
		*dict_add(&p->waiting, key_of_process(process)) = (u64)process->id.pid;
}

void probes_poll(struct probes *p, const struct processes *all)
{
	if (!p->files || !probe_files_take_news(p->files))
		return;
	struct dict waiting = p->waiting;
	p->waiting = (struct dict){ 0 };
	dict_each(slot, &waiting) {
		const struct process *process = processes_newest(all, (pid_t)slot->value);
		if (process && !process->exit_ns && key_of_process(process) == slot->key)
			probes_add_process(p, process);
	}
	dict_fini(&waiting);
}

void probes_turn(struct probes *p)
{
	if (p->files)
		probe_files_turn(p->files);
}

bool probes_are_searching(const struct probes *p)
{
	return p->files && probe_files_nr_searching(p->files);
}

void probes_remove_process(struct probes *p, const struct process *process,
			   struct detacher *detacher)
{
	struct holder *h = p->by_process ? find_holder(p, key_of_process(process)) : NULL;

	dict_remove(&p->waiting, key_of_process(process));
	if (!h)
		return;
	holder_fini(h, detacher);
	*h = p->holders.at[--p->holders.nr];
}

bool probes_has(struct probes *p, const struct process *process)
{
	const struct holder *h = p->by_process ? find_holder(p, key_of_process(process)) : NULL;

	return h && h->links.nr;
}

u32 probes_nr_files(const struct probes *p)
{
	return p->files ? probe_files_nr(p->files) : 0;
}

bool probes_find_file(const struct probes *p, const struct process *process, u64 addr, u32 *number,
		      u64 *file_off)
{
	const struct mapping *m = mappings_find(&process->mappings, addr);

	if (!m || !p->files || !probe_files_number(p->files, probe_files_key(m), number))
		return false;
	*file_off = addr - m->start + m->file_off;
	return true;
}
