/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names of a JVM's code for perf(1). */
#include "jvm/perf_map_writer.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "jvm/agent/agents.h"
#include "jvm/agent/agents_debug.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/perf_map_file.h"

#define READ_MAX_NS (5 * NS_PER_SEC)

struct text {
	struct str lines;
	size_t nr;
	struct hotspot *h; /* source of names without an agent */
};

static void add_line(struct text *t, u64 start, u64 end, const struct java_frame *name)
{
	str_addf(&t->lines, "%llx %llx %s%s%s\n", (unsigned long long)start,
		 (unsigned long long)(end - start), name->class_name, *name->class_name ? "." : "",
		 name->method);
	t->nr++;
}

static void take_code(u64 start, u64 end, const struct java_frame *name, void *ctx)
{
	add_line(ctx, start, end, name);
}

static int take_blob(void *ctx, const struct hotspot_blob *b)
{
	struct text *t = ctx;
	struct java_frame frames[1] = { { .class_name = "", .method = b->name } };

	if (b->code_end > b->code_start &&
	    (!b->is_nmethod || hotspot_name_pc(t->h,
					       (struct code_pc){ .pc = b->code_start,
								 .compile_id = b->compile_id,
								 .is_leaf = true },
					       frames, 1) > 0))
		add_line(t, b->code_start, b->code_end, &frames[0]);
	return 0;
}

static void take_routine(void *ctx, u64 start, u64 end, const char *name)
{
	const struct java_frame frame = { .class_name = "", .method = name };

	if (end > start)
		add_line(ctx, start, end, &frame);
}

static void keep_reason(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	*(char **)ctx = xstrdup(reason);
}

/* Returns NULL, or the reason for which there is no agent. */
static char *ask_agent(const char *path, struct process_id id, struct text *out)
{
	struct agents *a = agents_new(path, AGENT_ALWAYS);
	struct agent_figures figures;
	char *reason = NULL;

	agents_request(a, id, id.start_ns, NULL);
	while (agents_is_undecided(a, id)) {
		agents_poll(a);
		usleep(1000);
	}
	/* The replay of a large program does not fit in its ring. */
	u64 end = time_mono_ns() + READ_MAX_NS;
	do {
		agents_poll(a);
	} while (!agents_are_read(a, id) && time_mono_ns() < end && !usleep(1000));
	bool is_whole = agents_are_read(a, id);
	const struct codemap *map = agents_codemap(a, id, &figures);
	if (map && is_whole)
		codemap_each(map, take_code, out);
	else if (map)
		reason = xstrdup("its agent reports code faster than it can be read; try again");
	else
		agents_each(a, keep_reason, &reason);
	agents_free(a);
	return reason;
}

static int ask_tables(struct process_id id, struct text *out)
{
	int err = hotspot_open(id, &out->h);

	if (err)
		return err;
	err = hotspot_each_blob(out->h, take_blob, out);
	hotspot_each_routine(out->h, take_routine, out);
	hotspot_free(out->h);
	return err;
}

char *perf_map_write(const char *agent_path, struct process_id id, struct perf_map_done *out)
{
	struct text text = { 0 };
	auto_free char *no_agent = ask_agent(agent_path, id, &text);

	if (no_agent && ask_tables(id, &text))
		return take(no_agent);
	char *why = perf_map_put(id, &text.lines);
	str_fini(&text.lines);
	if (!why)
		*out = (struct perf_map_done){ text.nr, take(no_agent) };
	return why;
}

char *perf_map_remove(struct process_id id)
{
	return perf_map_put(id, NULL);
}
