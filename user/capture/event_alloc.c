/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc: what Java code allocates, by class. The JVM picks points at random along the bytes that a
 * thread allocates, --alloc-interval apart in the mean, and tells the agent of every object that
 * one falls into.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/event_kind.h"
#include "capture/inbox.h"
#include "elf/functions.h"

/* The functions that tell of an allocation, and the programs that take the sample there. */
struct teller {
	const char *function, *program;
};

static const struct teller tellers[] = {
	{ "jvmmap_hook_alloc", "alloc_hook" },
};

int parse_alloc(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	if (strcmp(text, "alloc"))
		return -ENOENT;
	auto_free char *why_uprobe = why_not_uprobe();
	if (!why_uprobe)
		return 0;
	str_addf(why, "-e alloc: %s", why_uprobe);
	return -ENOTSUP;
}

void configure_alloc(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs)
{
	knobs->alloc_event = number;
}

void hook_alloc(const struct event_options *o, struct agent_hooks *hooks)
{
	hooks->alloc_interval = o->alloc_interval;
}

/*
 * Whether a file may be libjvm or our agent, which may have been put into the process under a name
 * of its own, or be the root of a mount that is no more.
 */
static bool may_tell(const char *fd_path)
{
	char path[PATH_MAX];
	ssize_t len = readlink(fd_path, path, sizeof(path) - 1);

	path[len > 0 ? len : 0] = '\0';
	const char *base = strrchr(path, '/');
	return base && (!base[1] || !strncmp(base, "/libjvm", 7) || !strncmp(base, "/.jvmmap", 8));
}

static bool place(int fd, u32 number, pid_t pid, probe_links *out, void *ctx)
{
	struct sources *s = ctx;
	const char *names[ARRAY_SIZE(tellers)];
	struct function found[ARRAY_SIZE(tellers)];
	bool any = false;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < ARRAY_SIZE(tellers); i++)
		names[i] = tellers[i].function;
	if (!may_tell(path) || functions_find_all(fd, names, ARRAY_SIZE(tellers), found))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tellers); i++) {
		const struct bpf_uprobe at = {
			.program = tellers[i].program,
			.path = path,
			.file_off = found[i].file_off,
			.pid = pid,
		};
		struct bpf_link *link;
		if (!found[i].file_off)
			continue;
		any = true;
		int err = bpf_attach_program(sources_bpf(s), &at, &link);
		if (!err)
			vec_push(out, link);
		else
			log_warn("alloc: %s cannot have a probe: %s", names[i], strerror(-err));
	}
	return any;
}

int open_alloc(struct sources *s, const struct event *e, u32 number)
{
	sources_describe(s, "allocations, one in %llu KiB",
			 (unsigned long long)sources_options(s)->alloc_interval >> 10);
	sources_add_probes(s, number, probes_new(sources_options(s)->only_targets, place, s));
	return 0;
}

/* An object of so many bytes is hit with the probability 1 - exp(-size / interval). */
u64 weigh_alloc(const struct sample *sample)
{
	const struct user_frame *class =
		(const struct user_frame *)(sample_words(sample) + sample->nr_kernel);
	u64 interval = sample->nr_user ? class->info & USER_FRAME_INTERVAL_MASK : 0;

	if (!interval || sample->weight > 64 * interval)
		return sample->weight;
	double size = (double)sample->weight;
	return (u64)(size / -expm1(-size / (double)interval) + 0.5);
}
