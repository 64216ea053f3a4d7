/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads each BPF program of a recording, also the one for skipped samples, alone, with few and with
 * all settings. Prints the compiler, and a line "PROGRAM INSTRUCTIONS" each: the most that the
 * verifier follows; "refused" if it does not accept the program. With an argument, loads one that
 * no verifier accepts as a recording does.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "base/types.h"
#include "capture/programs/load.h"
#include "filter_abi.h"
#include "hotspot_abi.h"
#include "knobs.h"

#include "skipped.skel.h" /* needs the types above */

#define RING_BYTES  4096
#define MAP_ENTRIES 64

enum settings {
	FEW,
	ALL,
	ALL_SAMPLED, /* hits by period and weight, no filter */
	NR_SETTINGS,
};

static void set_knobs(struct knobs *k, enum settings settings)
{
	*k = (struct knobs){ .nr_cpus = 2 };
	if (settings == FEW)
		return;
	*k = (struct knobs){ .include = ~0u,
			     .exclude = ~0u,
			     .nr_hierarchies = KNOBS_HIERARCHIES,
			     .window = WINDOW_CLOSED,
			     .measure = 1,
			     .nr_cpus = 2,
			     .has_cpus = 1,
			     .wait_for = "x",
			     .alloc_is_live = 1,
			     .alloc_interval = 524287,
			     .memory = { .interval = 524287 } };
	for (u32 i = 0; i < ABI_EVENTS; i++) {
		k->events[i].period = 97;
		k->events[i].weight = settings == ALL_SAMPLED ? 1000 : 0;
		k->events[i].has_filter = settings == ALL;
		k->methods[i] = i + 1;
		k->method_min_ns[i] = settings == ALL ? 1000 : 0;
	}
	for (u32 i = 0; i < KNOBS_WAITS; i++)
		k->waits[i] = (struct wait_knobs){ .min_ns = 1000003, .event = i };
}

/* User space sizes these maps by the node. */
static void size_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		enum bpf_map_type type = bpf_map__type(map);
		if (type == BPF_MAP_TYPE_RINGBUF)
			bpf_map__set_max_entries(map, RING_BYTES);
		else if (!bpf_map__max_entries(map) && type != BPF_MAP_TYPE_TASK_STORAGE)
			bpf_map__set_max_entries(map, MAP_ENTRIES);
	}
}

static int load_one(struct skipped_skel *skel, const char *name, enum settings settings, u32 *out)
{
	struct bpf_program *program;
	struct bpf_prog_info info = { 0 };
	u32 len = sizeof(info);

	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	size_maps(skel->obj);
	set_knobs(&skel->rodata->knobs, settings);
	int err = skipped_skel__load(skel);
	if (err)
		return err;
	program = bpf_object__find_program_by_name(skel->obj, name);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return -errno;
	*out = info.verified_insns;
	return 0;
}

static int print_most(const char *name)
{
	u32 most = 0;

	for (enum settings s = FEW; s < NR_SETTINGS; s++) {
		u32 insns = 0;
		struct skipped_skel *skel = skipped_skel__open();
		int err = skel ? load_one(skel, name, s, &insns) : -errno;
		skipped_skel__destroy(skel);
		if (err) {
			printf("%s refused: %s\n", name, strerror(-err));
			return err;
		}
		most = insns > most ? insns : most;
	}
	printf("%s %u\n", name, most);
	return 0;
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return 0;
}

/* Returns from a program whose result is undefined. */
static int spoil(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	static struct bpf_insn insns[] = { { .code = BPF_JMP | BPF_EXIT } };

	return bpf_program__set_insns(program, insns, 1);
}

static int explain_refusal(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = spoil);
	struct load_refusal refusal = { 0 };
	u32 insns;

	if (load_begin() ||
	    libbpf_register_prog_handler("perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, &opts) < 0)
		return 2;
	struct skipped_skel *skel = skipped_skel__open();
	if (!skel)
		return 2;
	load_watch(&refusal);
	int err = load_one(skel, "perf_sample", FEW, &insns);
	load_watch(NULL);
	load_explain(err, &refusal, (const char *)skel->rodata->bpf_compiler);
	skipped_skel__destroy(skel);
	return err ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return explain_refusal();

	struct bpf_program *program;
	int failed = 0;

	libbpf_set_print(silent);
	struct skipped_skel *skel = skipped_skel__open();
	if (!skel) {
		fprintf(stderr, "verified: cannot open the programs: %s\n", strerror(errno));
		return 1;
	}
	printf("compiler %s\n", (const char *)skel->rodata->bpf_compiler);
	bpf_object__for_each_program(program, skel->obj) failed |=
		print_most(bpf_program__name(program)) != 0;
	skipped_skel__destroy(skel);
	return failed;
}
