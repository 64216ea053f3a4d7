/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the samples for which the kernel did not run the recording's program. Part of
 * capture/programs/other_programs.h.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/signals.h"
#include "capture/programs/kernel_types.h"
#include "capture/programs/load.h"
#include "capture/programs/other_programs.h"
#include "capture/programs/programs.h"

#include "skipped.skel.h" /* needs the types above */

#define TRACEPOINT "hrtimer_expire_exit"

struct skipped {
	struct skipped_skel *skel; /* from gen/skipped.skel.h */
	pthread_t loading;
	atomic_bool is_loaded; /* or failed */
	bool is_joined;
	int err;
};

static int read_info(int fd, struct bpf_prog_info *out)
{
	u32 len = sizeof(*out);

	*out = (struct bpf_prog_info){ 0 };
	return fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, out, &len);
}

static bool is_of(struct bpf_object *o, u32 id)
{
	struct bpf_program *program;
	struct bpf_prog_info info;

	bpf_object__for_each_program(program, o) if (!read_info(bpf_program__fd(program), &info) &&
						     info.id == id) return true;
	return false;
}

/*
 * Programs of these types run with bpf_prog_active held (trace_call_bpf in
 * kernel/trace/bpf_trace.c).
 */
static bool holds_others_up(const struct bpf_prog_info *info)
{
	return info->type == BPF_PROG_TYPE_KPROBE || info->type == BPF_PROG_TYPE_TRACEPOINT;
}

/*
 * Only CAP_SYS_ADMIN may list programs. Without that right, the program for skipped samples is
 * loaded after the first loss.
 */
bool skipped_is_likely(const struct programs *bpf)
{
	struct bpf_prog_info info;
	u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		auto_close int fd = bpf_prog_get_fd_by_id(id);
		if (!read_info(fd, &info) && holds_others_up(&info) &&
		    !is_of(programs_object(bpf), id))
			return true;
	}
	return false;
}

/* ".bss" for "recordin.bss": libbpf puts the object's name before those of variables. */
static const char *name_of(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map), *dot = strchr(name, '.');

	return bpf_map__is_internal(map) && dot ? dot : name;
}

static const struct bpf_map *find_map(const struct bpf_object *in, const char *name)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, in) if (!strcmp(name_of(map), name)) return map;
	return NULL;
}

/* The maps and variables of both objects are the same: skipped.bpf.c has none of its own. */
static int share_maps(struct bpf_object *to, const struct bpf_object *from)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, to)
	{
		const struct bpf_map *own = find_map(from, name_of(map));
		int err = own && bpf_map__value_size(own) == bpf_map__value_size(map)
				  ? bpf_map__reuse_fd(map, bpf_map__fd(own))
				  : -ENOENT;
		if (err)
			return err;
	}
	return 0;
}

static int configure(struct skipped *s, const struct programs *bpf)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_types_path());
	struct bpf_program *program;

	s->skel = skipped_skel__open_opts(&opts);
	if (!s->skel)
		return -errno;
	bpf_object__for_each_program(program, s->skel->obj)
		bpf_program__set_autoload(program, program == s->skel->progs.perf_skipped);
	return share_maps(s->skel->obj, programs_object(bpf));
}

static void *load(void *skipped)
{
	struct skipped *s = skipped;

	s->err = skipped_skel__load(s->skel);
	s->is_loaded = true;
	return NULL;
}

int skipped_load(struct programs *bpf, struct skipped **out)
{
	if (!programs_kernel_has(TRACEPOINT))
		return -ENOTSUP;

	struct skipped *s = xcalloc(1, sizeof(*s));
	int err = configure(s, bpf);
	if (!err)
		err = thread_start(0, load, s, &s->loading);
	if (err) {
		s->is_joined = true;
		skipped_free(s);
		return err;
	}
	*out = s;
	return 0;
}

static void join(struct skipped *s)
{
	if (!s->is_joined)
		pthread_join(s->loading, NULL);
	s->is_joined = true;
}

int skipped_poll(struct skipped *s)
{
	if (!s->is_loaded)
		return -EAGAIN;
	join(s);
	if (!s->err && !s->skel->links.perf_skipped) {
		s->skel->links.perf_skipped = load_attach(s->skel->progs.perf_skipped);
		if (!s->skel->links.perf_skipped)
			s->err = -errno;
	}
	return s->err;
}

void skipped_free(struct skipped *s)
{
	if (!s)
		return;
	join(s);
	skipped_skel__destroy(s->skel);
	free(s);
}
