/* SPDX-License-Identifier: Apache-2.0 */
/* Uprobes in the files that recorded processes map. */
#include "capture/events/probes.h"

#include <unistd.h>

#include "base/auto.h"
#include "proc/mapped_file.h"
#include "proc/status.h"

/* The probes of one process; of all of them if every process is recorded. */
struct holder {
	u64 key;
	probe_links links;
	struct dict met; /* files already looked at */
};

struct probes {
	bool by_process;
	bool is_known; /* the file is known; `ctx` describes it and is ours */
	probes_place_fn place;
	void *ctx;
	struct dict files; /* by device and inode: the number + 1, 0 for a file without probes */
	u32 nr_numbers;
	VEC(struct holder) holders;
};

static u64 key_of_file(const struct mapping *m)
{
	return hash_u64(m->inode ^ hash_u64((u64)m->dev_major << 32 | m->dev_minor));
}

static u64 key_of_process(const struct process *p)
{
	return process_id_hash(p->id);
}

struct probes *probes_new(bool by_process, probes_place_fn place, void *ctx)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	p->by_process = by_process;
	p->place = place;
	p->ctx = ctx;
	return p;
}

struct probes *probes_new_known(probes_place_fn place, void *ctx)
{
	struct probes *p = probes_new(true, place, ctx);

	p->is_known = true;
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
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	vec_fini(&p->holders);
	dict_fini(&p->files);
	if (p->is_known)
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

static void add_file(struct probes *p, struct holder *h, const struct process *process,
		     const struct mapping *m)
{
	u64 key = key_of_file(m);
	const u64 *known = dict_find(&p->files, key);

	if (!m->inode || dict_find(&h->met, key) || (known && !*known))
		return;
	auto_close int fd = mapped_file_open(process->id.pid, m);
	if (fd < 0)
		return; /* another process that maps it may have more luck */
	dict_add(&h->met, key);
	u32 number = known ? (u32)*known - 1 : p->nr_numbers;
	bool has = p->place(fd, number, p->by_process ? process->id.pid : -1, &h->links, p->ctx);
	if (known)
		return;
	*dict_add(&p->files, key) = has ? number + 1 : 0;
	p->nr_numbers += has;
}

void probes_add_process(struct probes *p, const struct process *process)
{
	u64 key = p->by_process ? key_of_process(process) : 0;
	struct holder *h = find_holder(p, key);

	if (!h) {
		vec_push(&p->holders, (struct holder){ .key = key });
		h = &p->holders.at[p->holders.nr - 1];
		if (p->is_known)
			p->place(-1, 0, process->id.pid, &h->links, p->ctx);
	}
	for (size_t i = 0; !p->is_known && i < process->mappings.nr; i++)
		add_file(p, h, process, &process->mappings.at[i]);
}

void probes_remove_process(struct probes *p, const struct process *process,
			   struct detacher *detacher)
{
	struct holder *h = p->by_process ? find_holder(p, key_of_process(process)) : NULL;

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
	return p->nr_numbers;
}

bool probes_find_file(const struct probes *p, const struct process *process, u64 addr, u32 *number,
		      u64 *file_off)
{
	const struct mapping *m = mappings_find(&process->mappings, addr);
	const u64 *known = m ? dict_find(&p->files, key_of_file(m)) : NULL;

	if (!known || !*known)
		return false;
	*number = (u32)*known - 1;
	*file_off = addr - m->start + m->file_off;
	return true;
}
