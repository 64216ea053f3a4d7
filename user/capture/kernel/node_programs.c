/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of the node. */
#include "capture/kernel/node_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "base/alloc.h"
#include "capture/kernel/core_types.h"
#include "capture/kernel/load.h"
#include "capture/kernel/privilege.h"

#include "node.skel.h" /* needs the types above */

struct node_programs {
	struct node_skel *skel; /* from gen/node.skel.h */
	struct load_refusal refusal;
	struct ring *ring;
};

static int configure(struct node_skel *skel, const struct node_programs_options *o)
{
	const struct {
		struct bpf_map *map;
		size_t nr;
	} sizes[] = {
		{ skel->maps.records, o->ring_bytes },
		{ skel->maps.unwind_rows, o->tables.nr_words / 2 },
		{ skel->maps.unwind_ranges, o->tables.nr_ranges },
		{ skel->maps.jvms, o->tables.nr_jvms },
		{ skel->maps.remote_copies, o->remote_reads ? ABI_COPIES : 1 },
	};

	bpf_program__set_autoload(skel->progs.remote_read, o->remote_reads);
	bpf_program__set_autoload(skel->progs.facts_list, o->only_facts);
	bpf_program__set_autoload(skel->progs.proc_fork, !o->only_facts);
	bpf_program__set_autoload(skel->progs.proc_exec, !o->only_facts);
	bpf_program__set_autoload(skel->progs.proc_exit, !o->only_facts);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int err = bpf_map__set_max_entries(sizes[i].map, (u32)sizes[i].nr);
		if (err)
			return err;
	}
	return 0;
}

static int load(struct node_programs *n, const struct node_programs_options *o)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_types_path());
	n->skel = node_skel__open_opts(&opts);
	if (!n->skel)
		return -errno;

	load_watch(&n->refusal);
	int err = configure(n->skel, o) ?: node_skel__load(n->skel);
	load_watch(NULL);
	const struct ring_place place = { .fd = bpf_map__fd(n->skel->maps.records),
					  .is_called = &n->skel->bss->receiver_is_called };
	return err ?: ring_new(&place, &n->ring);
}

int node_programs_load(const struct node_programs_options *options, struct node_programs **out)
{
	struct node_programs *n = xcalloc(1, sizeof(*n));
	int err = load_begin() ?: load(n, options);

	if (err) {
		load_explain(err, &n->refusal,
			     n->skel ? (const char *)n->skel->rodata->bpf_compiler : NULL);
		node_programs_free(n);
		return err;
	}
	*out = n;
	return 0;
}

void node_programs_free(struct node_programs *n)
{
	if (!n)
		return;
	ring_free(n->ring);
	node_skel__destroy(n->skel);
	free(n);
}

int node_programs_attach(struct node_programs *n)
{
	struct node_skel *skel = n->skel;

	skel->links.proc_fork = bpf_program__attach(skel->progs.proc_fork);
	skel->links.proc_exec = bpf_program__attach(skel->progs.proc_exec);
	skel->links.proc_exit = bpf_program__attach(skel->progs.proc_exit);
	if (skel->links.proc_fork && skel->links.proc_exec && skel->links.proc_exit)
		return 0;
	int err = -errno;
	privilege_explain("following processes", err);
	return err;
}

struct ring *node_programs_ring(const struct node_programs *n)
{
	return n->ring;
}

struct tables_fds node_programs_tables(const struct node_programs *n)
{
	return (struct tables_fds){
		.rows = bpf_map__fd(n->skel->maps.unwind_rows),
		.ranges = bpf_map__fd(n->skel->maps.unwind_ranges),
		.procs = bpf_map__fd(n->skel->maps.unwind_procs),
		.jvms = bpf_map__fd(n->skel->maps.jvms),
	};
}

struct remote_fds node_programs_remote(const struct node_programs *n)
{
	return (struct remote_fds){
		.program = bpf_program__fd(n->skel->progs.remote_read),
		.copies = bpf_map__fd(n->skel->maps.remote_copies),
	};
}

int node_programs_facts(struct node_programs *n)
{
	struct node_skel *skel = n->skel;

	if (!skel->links.facts_list)
		skel->links.facts_list = bpf_program__attach(skel->progs.facts_list);
	if (!skel->links.facts_list)
		return -errno;
	int fd = bpf_iter_create(bpf_link__fd(skel->links.facts_list));
	return fd < 0 ? -errno : fd;
}

u64 node_programs_nr_lost(const struct node_programs *n)
{
	u64 nr;

	load_sum_counters(n->skel->maps.stats, STAT_EVENT_LOST, &nr, 1);
	return nr;
}

u64 node_programs_run_ns(const struct node_programs *n)
{
	return load_run_ns(n->skel->obj);
}
