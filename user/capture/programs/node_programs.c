/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of the node, and the readers of memory and facts that use them. */
#include "capture/programs/node_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/kernel_types.h"
#include "capture/programs/load.h"
#include "capture/programs/programs.h"
#include "jvm/attach/readiness.h"
#include "proc/mem.h"
#include "sandbox/rights.h"

#include "node.skel.h" /* needs the types above */
#include "remote.skel.h"

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
	};

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

	skel->links.proc_fork = load_attach(skel->progs.proc_fork);
	skel->links.proc_exec = load_attach(skel->progs.proc_exec);
	skel->links.proc_exit = load_attach(skel->progs.proc_exit);
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
		.context_places = bpf_map__fd(n->skel->maps.context_places),
		.java_places = bpf_map__fd(n->skel->maps.java_places),
	};
}

int node_programs_facts(struct node_programs *n)
{
	struct node_skel *skel = n->skel;

	if (!skel->links.facts_list)
		skel->links.facts_list = load_attach(skel->progs.facts_list);
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

struct remote {
	struct remote_skel *skel;   /* from gen/remote.skel.h */
	struct remote_copy *copies; /* mapped: ABI_COPIES of them */
};

#define COPIES_BYTES (ABI_COPIES * sizeof(struct remote_copy))

_Static_assert(MEM_HELPER_REQUESTS <= ABI_COPIES, "a call of the helper is one of the program");
_Static_assert(sizeof(struct remote_copy) % 8 == 0, "elements of arrays lie 8 bytes apart");

bool remote_is_wanted(void)
{
	return !capability_has(CAP_SYS_PTRACE) && programs_can_read_remote();
}

static int run(const struct remote *r, struct process_id id, size_t nr)
{
	struct remote_args args = { .pid = id.pid, .nr = (u32)nr, .start_ns = id.start_ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(bpf_program__fd(r->skel->progs.remote_read), &opts))
		return -errno;
	return (int)opts.retval;
}

static int read_memory(struct process_id id, struct mem_request *requests, size_t nr, void *ctx)
{
	const struct remote *r = ctx;

	for (size_t i = 0; i < nr; i++) {
		r->copies[i].addr = requests[i].addr;
		r->copies[i].len = requests[i].len;
		r->copies[i].is_done = 0;
	}
	int err = run(r, id, nr);
	for (size_t i = 0; i < nr; i++) {
		requests[i].ok = !err && r->copies[i].is_done;
		if (requests[i].ok)
			memcpy(requests[i].buf, r->copies[i].bytes, requests[i].len);
	}
	return err;
}

static int load_remote(struct remote *r, struct load_refusal *refusal)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_types_path());
	r->skel = remote_skel__open_opts(&opts);
	if (!r->skel)
		return -errno;
	load_watch(refusal);
	int err = remote_skel__load(r->skel);
	load_watch(NULL);
	if (err)
		return err;
	r->copies = mmap(NULL, COPIES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(r->skel->maps.remote_copies), 0);
	return r->copies == MAP_FAILED ? -errno : 0;
}

int remote_open(struct remote **out)
{
	struct remote *r = xcalloc(1, sizeof(*r));
	struct load_refusal refusal = { 0 };
	int err = load_begin() ?: load_remote(r, &refusal);

	if (err) {
		load_explain(err, &refusal, NULL);
		remote_skel__destroy(r->skel);
		free(r);
		return err;
	}
	mem_set_helper(read_memory, r);
	*out = r;
	return 0;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	mem_set_helper(NULL, NULL);
	munmap(r->copies, COPIES_BYTES);
	remote_skel__destroy(r->skel);
	free(r);
}

struct remote *remote_alone(void)
{
	struct remote *r = NULL;

	return remote_is_wanted() && !privilege_check() && !remote_open(&r) ? r : NULL;
}

static int open_iterator(void)
{
	/* Loaded once and kept to the end. */
	static struct node_programs *loaded;
	const struct node_programs_options options = { .tables = { 2, 1, 1 },
						       .ring_bytes = 4096,
						       .only_facts = true };
	int err = loaded ? 0 : privilege_check() ?: node_programs_load(&options, &loaded);

	if (err)
		return err;
	int fd = node_programs_facts(loaded);
	if (fd < 0)
		log_debug("the facts of threads: error %d", -fd);
	return fd;
}

void facts_provide(void)
{
	task_facts_use(open_iterator);
}
