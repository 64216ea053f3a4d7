/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about compiled code from HotSpot's tables, which the agent cannot report. */
#include "jvm/agent/code_details.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/dict.h"

#define WALK_MIN 128 /* from that many methods on, one walk of the code heaps is less work */

struct fact_search {
	struct hotspot *h;
	struct dict wanted; /* code start -> 1 */
	struct codemap *map;
};

static void report_facts(struct fact_search *s, const struct hotspot_blob *b)
{
	struct java_frame name;

	if (hotspot_name_method(s->h, b->method, 0, 0, &name))
		return;
	const struct code_facts facts = { b->compile_id, b->level, name.class_name, name.method,
					  name.signature };
	codemap_report(s->map, b->code_start, &facts);
}

static int report_if_wanted(void *ctx, const struct hotspot_blob *b)
{
	struct fact_search *s = ctx;

	if (b->is_nmethod && dict_find(&s->wanted, b->code_start))
		report_facts(s, b);
	return 0;
}

static void find_each(struct fact_search *s, const u64 *addrs, size_t nr)
{
	struct hotspot_blob b;

	for (size_t i = 0; i < nr; i++)
		if (!hotspot_find_nmethod(s->h, addrs[i], &b))
			report_facts(s, &b);
}

static void find_all(struct hotspot *h, struct codemap *map, const u64 *addrs, size_t nr)
{
	struct fact_search s = { .h = h, .map = map };

	if (nr < WALK_MIN) {
		find_each(&s, addrs, nr);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		*dict_add(&s.wanted, addrs[i]) = 1;
	/* A scan fails on a hostile JVM's endless code heaps: look up the newest code only. */
	if (hotspot_scan_blobs(h, report_if_wanted, &s) < 0)
		find_each(&s, addrs + nr - WALK_MIN, WALK_MIN);
	dict_fini(&s.wanted);
}

void code_details_find(struct hotspot *h, struct codemap *map)
{
	auto_free u64 *addrs = NULL;
	size_t nr = h ? codemap_take_new(map, &addrs) : 0;

	find_all(h, map, addrs, nr);
}

void code_details_find_unread(struct hotspot *h, struct codemap *map)
{
	auto_free u64 *addrs = NULL;
	struct fact_search s = { .h = h, .map = map };
	size_t nr = h ? codemap_take_unread(map, &addrs) : 0;

	for (size_t i = 0; i < nr; i++)
		*dict_add(&s.wanted, addrs[i]) = 1;
	if (nr)
		hotspot_each_blob(h, report_if_wanted, &s);
	dict_fini(&s.wanted);
}

void code_details_find_at(struct hotspot *h, struct codemap *map, u64 pc, u64 time_ns,
			  u32 compile_id)
{
	u64 addr = h ? codemap_take_unread_at(map, pc, time_ns, compile_id) : 0;

	if (addr)
		find_each(&(struct fact_search){ .h = h, .map = map }, &addr, 1);
}
