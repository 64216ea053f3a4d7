/* SPDX-License-Identifier: Apache-2.0 */
/* What perf(1) needs to name the code of a JVM. */
#include "jvm/perf_map.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "jvm/agents.h"
#include "jvm/hotspot.h"
#include "jvm/perf_map_file.h"

#define READ_MAX_NS (5 * NS_PER_SEC)

struct text {
	struct str lines;
	size_t nr;
	struct hotspot *h; /* of names from outside */
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
	struct java_frame frames[1];

	if (b->code_end > b->code_start &&
	    hotspot_name_pc(t->h, b->code_start, b->compile_id, true, frames, 1) > 0)
		add_line(t, b->code_start, b->code_end, &frames[0]);
	return 0;
}

static void keep_reason(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	*(char **)ctx = xstrdup(reason);
}

/* NULL, or why there is no agent. */
static char *ask_agent(const char *path, pid_t pid, u64 start_ns, struct text *out)
{
	struct agents *a = agents_new(path, AGENT_ALWAYS);
	struct agent_figures figures;
	char *reason = NULL;

	agents_request(a, pid, start_ns, start_ns);
	while (agents_state(a, pid, start_ns) == AGENT_PENDING) {
		agents_poll(a);
		usleep(1000);
	}
	/* The replay of a large program is more than its ring holds. */
	u64 end = time_mono_ns() + READ_MAX_NS;
	do {
		agents_poll(a);
	} while (!agents_are_read(a, pid, start_ns) && time_mono_ns() < end && !usleep(1000));
	bool is_whole = agents_are_read(a, pid, start_ns);
	const struct codemap *map = agents_codemap(a, pid, start_ns, &figures);
	if (map && is_whole)
		codemap_each(map, take_code, out);
	else if (map)
		reason = xstrdup("its agent tells of code faster than it can be read; try again");
	else
		agents_each(a, keep_reason, &reason);
	agents_free(a);
	return reason;
}

static int ask_tables(pid_t pid, u64 start_ns, struct text *out)
{
	int err = hotspot_open(pid, start_ns, &out->h);

	if (err)
		return err;
	err = hotspot_each_blob(out->h, take_blob, out);
	hotspot_free(out->h);
	return err;
}

char *perf_map_write(const char *agent_path, pid_t pid, u64 start_ns, struct perf_map_done *out)
{
	struct text text = { 0 };
	auto_free char *no_agent = ask_agent(agent_path, pid, start_ns, &text);

	if (no_agent && ask_tables(pid, start_ns, &text))
		return take(no_agent);
	char *why = perf_map_put(pid, start_ns, &text.lines);
	str_fini(&text.lines);
	if (!why)
		*out = (struct perf_map_done){ text.nr, take(no_agent) };
	return why;
}

char *perf_map_remove(pid_t pid, u64 start_ns)
{
	return perf_map_put(pid, start_ns, NULL);
}
