/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the states of JVMs' virtual threads at one moment. Part of
 * capture/programs/node_programs.h.
 */
#include "capture/programs/node_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/programs/kernel_types.h"
#include "capture/programs/load.h"

#include "virtual.skel.h"

#define PLACES_BYTES (VIRTUAL_PLACES * sizeof(struct virtual_place))
#define TRIES_MAX    3 /* to find the JVM: it may leave the CPU meanwhile */

struct virtual_states {
	struct virtual_skel *skel; /* from gen/virtual.skel.h */
	struct virtual_place *places;
	u64 nr_cpus;
};

static int run(const struct bpf_program *program, u32 cpu, u64 first, u64 second, int *out)
{
	u64 args[2] = { first, second };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
		    .flags = cpu == ~0u ? 0 : BPF_F_TEST_RUN_ON_CPU, .cpu = cpu == ~0u ? 0 : cpu);

	if (bpf_prog_test_run_opts(bpf_program__fd(program), &opts))
		return -errno;
	*out = (int)opts.retval;
	return 0;
}

/* A CPU that is offline now has no run queue: threads on it are not found if it comes online. */
static int learn_run_queues(struct virtual_states *v)
{
	int nr = libbpf_num_possible_cpus(), result = -ENOENT;

	if (nr < 0)
		return nr;
	v->nr_cpus = (u64)nr;
	for (u32 cpu = 0; cpu < (u32)nr; cpu++) {
		int err = run(v->skel->progs.virtual_learn, cpu, 0, 0, &result);
		if (err && err != -ENXIO)
			return err;
		if (!err && result)
			return result;
	}
	return 0;
}

static int load(struct virtual_states *v)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_types_path());
	v->skel = virtual_skel__open_opts(&opts);
	if (!v->skel)
		return -errno;
	int err = virtual_skel__load(v->skel);
	if (err)
		return err;
	v->places = mmap(NULL, PLACES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(v->skel->maps.virtual_places), 0);
	return v->places == MAP_FAILED ? -errno : learn_run_queues(v);
}

int virtual_states_open(struct virtual_states **out)
{
	struct virtual_states *v = xcalloc(1, sizeof(*v));
	struct load_refusal refusal = { 0 };

	v->places = MAP_FAILED;
	load_watch(&refusal);
	int err = load_begin() ?: load(v);
	load_watch(NULL);
	if (err) {
		log_debug("states of virtual threads cannot be read by BPF: error %d %s", -err,
			  refusal.reason);
		virtual_states_close(v);
		return err;
	}
	*out = v;
	return 0;
}

void virtual_states_close(struct virtual_states *v)
{
	if (!v)
		return;
	if (v->places != MAP_FAILED)
		munmap(v->places, PLACES_BYTES);
	virtual_skel__destroy(v->skel);
	free(v);
}

struct virtual_place *virtual_states_place(const struct virtual_states *v, u32 nr)
{
	return &v->places[nr % VIRTUAL_PLACES];
}

int virtual_states_arm(struct virtual_states *v, u32 nr, u64 ns)
{
	struct virtual_arm_args args = { .place = nr, .ns = ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));
	struct virtual_place *p = virtual_states_place(v, nr);

	p->is_taken = 0;
	__atomic_store_n(&p->is_armed, 1, __ATOMIC_SEQ_CST);
	if (bpf_prog_test_run_opts(bpf_program__fd(v->skel->progs.virtual_arm), &opts))
		return -errno;
	return (int)opts.retval;
}

int virtual_states_take(struct virtual_states *v, u32 nr)
{
	struct virtual_place *p = virtual_states_place(v, nr);

	__atomic_store_n(&p->is_armed, 0, __ATOMIC_SEQ_CST);
	p->is_taken = 0;
	for (u32 i = 0; i < TRIES_MAX && !p->is_taken; i++) {
		int cpu, ignored;
		int err = run(v->skel->progs.virtual_find, ~0u, p->pid, v->nr_cpus, &cpu);
		if (err || cpu < 0)
			return err ?: -ESRCH;
		err = run(v->skel->progs.virtual_take, (u32)cpu, nr, 0, &ignored);
		if (err)
			return err;
	}
	return p->is_taken ? 0 : -EAGAIN;
}
