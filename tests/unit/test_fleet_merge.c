/* SPDX-License-Identifier: Apache-2.0 */
/* The worker that merges results of nodes, also of nodes that lie. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/format/sflm.h"
#include "export/format/varint.h"
#include "export/merge.h"
#include "export/read.h"
#include "fleet/controller/combine.h"
#include "fleet/controller/merge.h"
#include "profile/tree.h"

struct merged {
	struct spool spool;
	u64 most_samples, most_ns; /* of a node */
	struct merge_order order;
	struct partial_result partial;
	struct profile *p;
};

static void begin(struct merged *m)
{
	*m = (struct merged){ .order = { .reach = 1 } };
	assert_int_equal(spool_open(&m->spool), 0);
}

static void add(struct merged *m, const char *node, const void *bytes, size_t len)
{
	const struct spool_result r = {
		node, "zone=a", 1000000, FLEET_PPB / 100, bytes, len, m->most_samples, m->most_ns,
	};

	assert_int_equal(spool_add(&m->spool, &r), 0);
}

static void add_text(struct merged *m, const char *node, const char *stacks)
{
	add(m, node, stacks, strlen(stacks));
}

static void run(struct merged *m)
{
	auto_str struct str bytes = { 0 }, why = { 0 };
	struct work *work = merge_begin_spool(NULL, &m->spool, &m->order);

	assert_int_equal(merge_result(work, &bytes, &why), 0);
	work_free(work);
	assert_int_equal(merge_parse(bytes.at, bytes.len, &m->partial), 0);
	m->p = profile_new();
	FILE *f = fmemopen(m->partial.profile.at, m->partial.profile.len, "r");
	assert_non_null(f);
	assert_int_equal(profile_read(f, m->p, &why), 0);
	fclose(f);
}

static void end(struct merged *m)
{
	spool_close(&m->spool);
	partial_result_fini(&m->partial);
	profile_free(m->p);
}

/* The sum of the values of the stack `wanted`, "root;..;leaf". */
static u64 value_of(const struct profile *p, const char *wanted)
{
	u64 sum = 0;

	vec_each(w, &p->weights) {
		auto_free char *text = xstrdup("");
		for (node_id n = w->node; n; n = p->nodes.at[n].parent) {
			char *longer = xasprintf("%s%s%s",
						 frames_get(p->frames, p->nodes.at[n].frame)->name,
						 *text ? ";" : "", text);
			free(text);
			text = longer;
		}
		sum += strcmp(text, wanted) == 0 ? w->value : 0;
	}
	return sum;
}

/* The second result has names of the first one, and new ones. */
static void results_add_up_under_the_names_that_all_nodes_share(void **state)
{
	struct merged m;

	begin(&m);
	add_text(&m, "n1",
		 "a/B.run_[j];app$f__12.invoke_[j];app$f__12.invokeStatic_[j] 3\n"
		 "a/B.run_[j];x/Y$$Lambda$7/0x00007f8b5c001200.m_[j] 5\n");
	add_text(&m, "n2",
		 "a/B.run_[j];app$f__99.invoke_[j];app$f__99.invokeStatic_[j] 11\n"
		 "a/B.run_[j];x/Y$$Lambda$31/0x00007f0000aa1200.m_[j] 13\n"
		 "app$f__12.invokeStatic_[j] 17\n");
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 49);
	assert_int_equal(value_of(m.p, "a.B.run;app/f--"), 14);
	assert_int_equal(value_of(m.p, "a.B.run;x.Y$$Lambda.m"), 18);
	assert_int_equal(value_of(m.p, "app/f--"), 17);
	assert_int_equal(m.partial.totals.nr, 2);
	assert_int_equal(m.partial.totals.at[1].raw, 41);
	end(&m);
}

static void a_result_that_exceeds_what_formats_hold_is_left_out(void **state)
{
	struct merged m;

	begin(&m);
	add_text(&m, "n1", "a 9007199254740992\n"); /* 2^53 */
	add_text(&m, "n2", "a 7\n");
	add_text(&m, "n3", "a 9007199254740991\n");
	add_text(&m, "n4", "b 9007199254740000\n");
	add_text(&m, "n5", "b 9007199254740000\n");
	run(&m);
	assert_int_not_equal(m.partial.totals.at[0].err, 0);
	assert_int_equal(m.partial.totals.at[1].err, 0);
	assert_int_equal(m.partial.totals.at[2].err, EOVERFLOW);
	assert_int_equal(m.partial.totals.at[3].err, 0);
	assert_int_equal(m.partial.totals.at[4].err, EOVERFLOW);
	assert_int_equal(profile_total(m.p, 0), 9007199254740007);
	assert_int_equal(profile_find_note(m.p, NOTE_INCOMPLETE "fleet-unreadable")->value, 3);
	end(&m);
}

/* 2 CPUs at 99 Hz give 396 in 2 s. */
static void a_result_that_its_cpus_cannot_give_is_left_out(void **state)
{
	struct merged m;

	begin(&m);
	m.most_samples = m.most_ns = 396;
	add_text(&m, "n1", "a 397\n");
	add_text(&m, "n2", "a 396\n");
	run(&m);
	assert_int_equal(m.partial.totals.at[0].err, ERANGE);
	assert_int_equal(m.partial.totals.at[1].err, 0);
	assert_int_equal(profile_total(m.p, 0), 396);
	end(&m);
}

/* As slices have them. */
static void values_in_ns_are_bounded_by_the_time(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str bytes = { 0 };

	profile_add_type(p, "cpu", "ns");
	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", "")),
		    profile_intern_labels(p, &(struct labels){ 0 }), 0, 4000000000);
	assert_int_equal(sflm_write(p, &bytes), 0);
	for (u64 most_ns = 4000000000; most_ns >= 3999999999; most_ns--) {
		struct merged m;
		begin(&m);
		m.most_samples = 396;
		m.most_ns = most_ns;
		add(&m, "n1", bytes.at, bytes.len);
		add_text(&m, "n2", "a 1\n");
		run(&m);
		assert_int_equal(m.partial.totals.at[0].err, most_ns < 4000000000 ? ERANGE : 0);
		end(&m);
	}
}

/* Estimates of a small share may exceed the limit though the values do not. */
static void an_estimate_beyond_the_limit_is_left_out(void **state)
{
	struct merged m;

	begin(&m);
	m.order.scales = true;
	add_text(&m, "n1", "a 9007199254740991\n");
	add_text(&m, "n2", "a 7\n");
	run(&m);
	assert_int_equal(m.partial.totals.at[0].err, EOVERFLOW);
	assert_int_equal(profile_total(m.p, 0), 700);
	end(&m);
}

/* The last merge of an estimate multiplies the sums of all nodes. */
static void an_estimate_that_ends_beyond_the_limit_is_an_error(void **state)
{
	static const char text[] = "a 9007199254740991\n";

	for (u32 i = 0; i < 2; i++) {
		auto_str struct str bytes = { 0 }, why = { 0 };
		struct merged m;
		begin(&m);
		m.order =
			(struct merge_order){ .reach = 1, .is_last = true, .factor = i ? 1 : 1.5 };
		assert_int_equal(spool_add_merged(&m.spool, text, strlen(text), 1), 0);
		struct work *work = merge_begin_spool(NULL, &m.spool, &m.order);
		assert_int_equal(merge_result(work, &bytes, &why), i ? 0 : -EOVERFLOW);
		work_free(work);
		assert_true(i || strstr(why.at, "the estimate exceeds 2^53"));
		end(&m);
	}
}

/* The weights of a body count, whatever its container claims. */
static void a_damaged_or_cut_result_is_left_out(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str bytes = { 0 };
	struct merged m;

	profile_add_type(p, "cpu", "samples");
	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", "")),
		    profile_intern_labels(p, &(struct labels){ 0 }), 0, 5);
	assert_int_equal(sflm_write(p, &bytes), 0);
	begin(&m);
	add(&m, "n1", bytes.at, bytes.len);
	add(&m, "n2", bytes.at, bytes.len / 2);
	bytes.at[bytes.len - 3] ^= 1;
	add(&m, "n3", bytes.at, bytes.len);
	add(&m, "n4", "", 0);
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 5);
	assert_int_equal(m.partial.totals.at[0].err, 0);
	for (int i = 1; i < 4; i++)
		assert_int_not_equal(m.partial.totals.at[i].err, 0);
	end(&m);
}

/* More than the cache of names holds: it is begun anew, and nothing is lost. */
/* A recording without NATS comes whole, and is filtered here. */
static void a_result_without_wanted_samples_is_left_out(void **state)
{
	struct merged m;

	begin(&m);
	add_text(&m, "n1", "main;a 3\n");
	strcpy(m.order.wanted[SELECTOR_NAMESPACE], "shop");
	run(&m);
	assert_int_equal(m.partial.totals.nr, 1);
	assert_int_equal(m.partial.totals.at[0].err, ENODATA);
	assert_null(profile_find_note(m.p, NOTE_INCOMPLETE "fleet-unreadable"));
	end(&m);
}

static void only_samples_with_the_selected_label_are_merged(void **state)
{
	struct merged m;

	begin(&m);
	add_text(&m, "n1", "{http.route=/cart};main;a 3\n{http.route=/pay};main;a 5\nmain;b 7\n");
	add_text(&m, "n2", "{http.route=/pay};main;a 11\n");
	strcpy(m.order.wanted[SELECTOR_LABEL], "http.route=/cart");
	run(&m);
	assert_int_equal(value_of(m.p, "main;a"), 3);
	assert_int_equal(profile_total(m.p, 0), 3);
	assert_int_equal(m.partial.totals.at[1].err, ENODATA);
	end(&m);
}

static void a_hundred_thousand_lambdas_become_one_frame(void **state)
{
	struct merged m;

	begin(&m);
	for (u32 node = 0; node < 5; node++) {
		auto_free char *name = xasprintf("n%u", node);
		auto_str struct str text = { 0 };
		for (u32 i = 0; i < 20000; i++)
			str_addf(&text, "a/B.run_[j];com/example/Long$$Lambda$%u/0x%016x.m_[j] 1\n",
				 node * 20000 + i, node * 20000 + i);
		add(&m, name, text.at, text.len);
	}
	run(&m);
	assert_int_equal(value_of(m.p, "a.B.run;com.example.Long$$Lambda.m"), 100000);
	assert_int_equal(frames_nr(m.p->frames), 2);
	end(&m);
}

/* The self value of a method: of all stacks that it ends. */
static u64 self_of(const struct profile *p, const char *method)
{
	u64 sum = 0;

	vec_each(w, &p->weights) {
		const struct frame *f = frames_get(p->frames, p->nodes.at[w->node].frame);
		sum += w->node && !w->type && !strcmp(f->name, method) ? w->value : 0;
	}
	return sum;
}

/* Neither the tree of the worker nor the partial result grows with what hostile nodes invent. */
static void stacks_that_no_two_nodes_share_are_cut(void **state)
{
	struct merged m;

	begin(&m);
	m.order.is_last = true;
	for (u32 node = 0; node < 4; node++) {
		auto_free char *name = xasprintf("n%u", node);
		auto_str struct str text = { 0 };
		for (u32 i = 0; i < 10000; i++)
			str_addf(&text, "main;f%u_%u;a;b;c;d;e;f;g;h;i;j;k;l;m;n 1\n", node, i);
		add(&m, name, text.at, text.len);
	}
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 40000);
	assert_int_equal(self_of(m.p, "n"), 40000);
	assert_int_equal(value_of(m.p, "main;" PRUNE_FRAME ";n"), 40000 - MERGE_STACKS);
	const struct note *cut = profile_find_note(m.p, "cut-stacks");
	assert_int_equal(cut->value, 1);
	end(&m);
}

/* 10 % of the samples end in one method that very many stacks call, each of them light. */
static void a_method_with_many_callers_keeps_its_self(void **state)
{
	struct str partial = { 0 };
	struct merged m;

	for (u32 merge = 0; merge < 3; merge++) {
		auto_str struct str text = { 0 };
		begin(&m);
		m.order.is_last = merge == 2;
		for (u32 i = 0; i < 25000; i++)
			str_addf(&text, "main;service;caller%u;x;hot 1\nmain;service;own%u 9\n",
				 merge * 20000 + i, i % 15000);
		add(&m, "n1", text.at, text.len);
		if (partial.len)
			assert_int_equal(spool_add_merged(&m.spool, partial.at, partial.len, 1), 0);
		run(&m);
		str_fini(&partial);
		str_add_bytes(&partial, m.partial.profile.at, m.partial.profile.len);
		assert_int_equal(profile_total(m.p, 0), 250000 * (merge + 1));
		assert_int_equal(self_of(m.p, "hot"), 25000 * (merge + 1));
		assert_int_equal(self_of(m.p, "own14999"), 9 * (merge + 1));
		const struct note *cut = profile_find_note(m.p, "cut-stacks");
		assert_true(merge < 2 || (cut && cut->value <= 6));
		end(&m);
	}
	str_fini(&partial);
}

/* Self and total of each of 40 methods, m0 to m39. */
struct sums {
	u64 self[40], total[40];
};

static struct sums sums_of(const struct profile *p, u32 type)
{
	struct sums sums = { 0 };
	auto_tree struct tree t = { 0 };
	auto_hot_methods struct hot_methods hot;

	tree_make(p, type, &t);
	hot_methods_make(p, &t, &hot);
	vec_each(m, &hot.all) {
		u32 nr;
		if (sscanf(frames_get(p->frames, m->frame)->name, "m%u", &nr) != 1)
			continue;
		sums.self[nr] = m->self;
		sums.total[nr] = m->total;
	}
	return sums;
}

/* Random stacks of 40 methods, with recursion, in two services and two value types. */
static void add_random_stacks(struct profile *p, u64 *seed, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		const struct labels labels = { .service = i % 3 ? "shop" : "cart" };
		node_id n = 0;
		for (u32 depth = 0; depth < 12; depth++) {
			char name[8];
			*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
			snprintf(name, sizeof(name), "m%u", (u32)(*seed >> 40) % (4 + 3 * depth));
			n = profile_child(p, n, frames_intern(p->frames, FRAME_NATIVE, name, ""));
		}
		profile_add(p, n, profile_intern_labels(p, &labels), i % 2, 1 + i % 7);
	}
}

/* However often a profile is cut, merged and written. */
static void cut_profiles_keep_self_and_total_of_methods(void **state)
{
	auto_profile struct profile *whole = profile_new(), *cut = profile_new();
	u64 seed = 7;

	profile_add_type(whole, "cpu", "samples");
	profile_add_type(whole, "alloc", "bytes");
	for (u32 round = 0; round < 4; round++) {
		auto_profile struct profile *more = profile_new(), *read = profile_new();
		auto_str struct str bytes = { 0 }, why = { 0 };
		profile_add_type(more, "cpu", "samples");
		profile_add_type(more, "alloc", "bytes");
		add_random_stacks(more, &seed, 5000);
		merge_stacks(whole, more, NULL, NULL, NULL);
		merge_stacks(cut, more, NULL, NULL, NULL);
		assert_true(prune_stacks(cut, 300) > 0);
		assert_int_equal(sflm_write(cut, &bytes), 0);
		auto_fclose FILE *f = fmemopen(bytes.at, bytes.len, "r");
		assert_int_equal(profile_read(f, read, &why), 0);
		for (u32 type = 0; type < 2; type++) {
			const struct sums sums = sums_of(whole, type), kept = sums_of(cut, type),
					  again = sums_of(read, type);
			assert_memory_equal(&kept, &sums, sizeof(sums));
			assert_memory_equal(&again, &sums, sizeof(sums));
		}
	}
	assert_true(cut->nodes.nr < whole->nodes.nr / 4);
	assert_null(profile_find_note(cut, NOTE_INCOMPLETE "totals"));
}

/* Leaves that differ too: in the end only the totals stay. */
static void a_cut_profile_is_bounded(void **state)
{
	auto_profile struct profile *p = profile_new();
	u64 seed = 1;

	profile_add_type(p, "cpu", "samples");
	for (u32 i = 0; i < 20000; i++) {
		node_id n = 0;
		for (u32 depth = 0; depth < 3; depth++) {
			char name[32];
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			snprintf(name, sizeof(name), "f%llu", (unsigned long long)(seed >> 40));
			n = profile_child(p, n, frames_intern(p->frames, FRAME_NATIVE, name, ""));
		}
		profile_add(p, n, profile_intern_labels(p, &(struct labels){ 0 }), 0, 1);
	}
	assert_int_equal(prune_stacks(p, 100), 1);
	assert_int_equal(profile_total(p, 0), 20000);
	assert_in_range(p->nodes.nr, 300, 700);
	prune_stacks(p, 100);
	assert_int_equal(profile_total(p, 0), 20000);
	assert_in_range(p->nodes.nr, 300, 700);
}

/* Whatever its labels, its samples and its notes say. */
static void a_node_delivers_under_its_own_name_only(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str bytes = { 0 };
	struct merged m;

	profile_add_type(p, "cpu", "samples");
	profile_note(p, "fleet-node/n2", "heavy", 99);
	profile_note(p, NOTE_INCOMPLETE "fleet-silent", "nodes left out", 7);
	profile_note(p, NOTE_INCOMPLETE "slices", "damaged", 3);
	const struct labels labels = { .tags = "job=a, node=n2, node:3" };
	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", "")),
		    profile_intern_labels(p, &labels), 0, 5);
	profile_hide(p, frames_get(p->frames, 0), 0, 1000000);
	assert_int_equal(sflm_write(p, &bytes), 0);
	begin(&m);
	m.order.tags_nodes = true;
	const struct spool_result r = { "n1",     "zone=x,node=n2", 1000000, FLEET_PPB,
					bytes.at, bytes.len,        0 };
	assert_int_equal(spool_add(&m.spool, &r), 0);
	run(&m);
	assert_string_equal(m.p->labels.at[m.p->weights.at[0].labels].tags,
			    "job=a, node=n1, zone=x");
	assert_int_equal(m.p->hidden.nr, 0); /* totals beside the stacks */
	assert_null(profile_find_note(m.p, "fleet-node/n2"));
	assert_null(profile_find_note(m.p, NOTE_INCOMPLETE "fleet-silent"));
	assert_int_equal(profile_find_note(m.p, NOTE_INCOMPLETE "slices")->value, 3);
	end(&m);
}

/* Label sets that differ in trace and span only become one. */
static void traces_of_nodes_are_dropped(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str bytes = { 0 };
	u32 type = profile_find_type(p, "samples", "samples");
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	struct merged m;

	for (u32 i = 0; i < 10; i++) {
		char trace[40];
		snprintf(trace, sizeof(trace), "%032x", i + 1);
		const struct labels l = { .comm = "c", .trace = trace, .span = "0000000000000001" };
		profile_add(p, node, profile_intern_labels(p, &l), type, 3);
	}
	assert_int_equal(sflm_write(p, &bytes), 0);
	begin(&m);
	add(&m, "n1", bytes.at, bytes.len);
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 30);
	assert_int_equal(m.p->weights.nr, 1);
	assert_string_equal(m.p->labels.at[m.p->weights.at[0].labels].trace, "");
	assert_string_equal(m.p->labels.at[m.p->weights.at[0].labels].span, "");
	end(&m);
}

/* Merges everything that was added, and reads the profile. */
static struct profile *combined(struct combine *c)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	for (int i = 0; i < 10 && !combine_is_done(c); i++)
		combine_step(c, true);
	assert_true(combine_is_done(c));
	assert_null(c->error);
	auto_fclose FILE *f = fmemopen(c->profile.at, c->profile.len, "r");
	assert_non_null(f);
	assert_int_equal(profile_read(f, p, &why), 0);
	return p;
}

static u64 row_of(const struct node_table *t, u32 node, enum node_row_kind kind, const char *name)
{
	u64 sum = 0;

	vec_each(r, &t->rows)
		if (r->node == node && r->kind == kind && !strcmp(t->texts.at[r->name], name))
			sum += r->value;
	return sum;
}

/* As recorded, under the names that the merged profile has. The second merge has the third node. */
static void each_node_has_its_services_and_methods(void **state)
{
	static const char *const results[] = {
		"web;a/B.run_[j];app$f__12.invoke_[j];app$f__12.invokeStatic_[j] 30\nweb;idle 10\n",
		"web;a/B.run_[j];app$f__99.invoke_[j];app$f__99.invokeStatic_[j] 5\n",
		"web;idle 7\n",
	};
	auto_str struct str heaviest = { 0 };
	struct combine c;

	assert_int_equal(combine_init(&c, NULL), 0);
	c.order.scales = true;
	c.order.tags_nodes = false;
	for (u32 i = 0; i < ARRAY_SIZE(results); i++) {
		auto_free char *node = xasprintf("n%u", i);
		const struct spool_result r = {
			node, "zone=a", 1000000, FLEET_PPB / 100, results[i], strlen(results[i]), 0
		};
		assert_int_equal(combine_add(&c, &r), 0);
		combine_step(&c, i > 0);
	}
	auto_profile struct profile *p = combined(&c);
	assert_int_equal(profile_total(p, 0), 5200);
	assert_int_equal(c.totals.nr, 3);
	assert_int_equal(row_of(&c.table, 0, NODE_ROW_METHOD, "app/f--"), 30);
	assert_int_equal(row_of(&c.table, 0, NODE_ROW_METHOD, "idle"), 10);
	assert_int_equal(row_of(&c.table, 1, NODE_ROW_METHOD, "app/f--"), 5);
	assert_int_equal(row_of(&c.table, 1, NODE_ROW_METHOD, "idle"), 0);
	assert_int_equal(row_of(&c.table, 2, NODE_ROW_METHOD, "idle"), 7);
	assert_int_equal(row_of(&c.table, 0, NODE_ROW_SERVICE, "(no name)"), 40);
	node_table_name(&c.table, 0, &heaviest);
	assert_string_equal(heaviest.at, "app/f-- 75.0 %, idle 25.0 %");
	assert_string_equal(p->labels.at[p->weights.at[0].labels].tags, "zone=a");
	combine_fini(&c);
}

static u64 preview_total(const struct combine *c)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	auto_fclose FILE *f = fmemopen(c->preview->shown.at, c->preview->shown.len, "r");

	assert_int_equal(profile_read(f, p, &why), 0);
	return profile_total(p, 0);
}

/* While the shares are not final, nothing else is merged. */
static void a_preview_grows_at_most_once_a_second_and_changes_nothing(void **state)
{
	static const char *const results[] = { "web;a 5\n", "web;b 7\n", "no profile",
					       "web;c 11\n" };
	struct combine c;

	assert_int_equal(combine_init(&c, NULL), 0);
	assert_int_equal(combine_start_preview(&c), 0);
	c.holds = true;
	for (u64 i = 0; i < ARRAY_SIZE(results); i++) {
		auto_free char *node = xasprintf("n%u", (u32)i);
		const struct spool_result r = {
			node, "zone=a", 1000000, FLEET_PPB / 2, results[i], strlen(results[i]), 0
		};
		assert_int_equal(combine_add(&c, &r), 0);
		/* The first step begins a merge, the second one takes its result. */
		for (int k = 0; k < 3; k++)
			combine_step_preview(&c, NS_PER_SEC * (i + 2) + (u64)k);
	}
	assert_int_equal(c.preview->nr, 4);
	assert_int_equal(c.preview->nr_nodes, 3);
	assert_int_equal(preview_total(&c), 23);
	/* Not within the same second. */
	const struct spool_result late = { "n9", "", 1000000, FLEET_PPB / 2, "web;d 13\n", 9, 0 };
	assert_int_equal(combine_add(&c, &late), 0);
	combine_step_preview(&c, NS_PER_SEC * 5 + 900);
	combine_step_preview(&c, NS_PER_SEC * 5 + 901);
	assert_int_equal(preview_total(&c), 23);
	assert_int_equal(c.totals.nr, 0);
	c.holds = false;
	c.order.scales = true;
	auto_profile struct profile *p = combined(&c);
	assert_int_equal(profile_total(p, 0), 2 * (23 + 13));
	combine_fini(&c);
}

static void a_malformed_table_of_nodes_is_refused(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str bytes = { 0 };
	struct node_table t = { 0 }, copy = { 0 };
	struct naming *names = naming_new(p->frames, p->frames, NAMES_RAW);

	profile_add_type(p, "cpu", "samples");
	profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "a", "")),
		    profile_intern_labels(p, &(struct labels){ 0 }), 0, 5);
	node_table_add(&t, 1, p, names);
	node_table_encode(&t, &bytes);
	assert_int_equal(node_table_decode(&copy, bytes.at, bytes.len, 40, 2), 0);
	assert_int_equal(copy.rows.nr, 2);
	assert_int_equal(copy.rows.at[0].node, 41);
	assert_int_equal(node_table_decode(&copy, bytes.at, bytes.len, 42, 1), -EBADMSG);
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(node_table_decode(&copy, bytes.at, len, 42, 2), -EBADMSG);
	naming_free(names);
	node_table_fini(&t);
	node_table_fini(&copy);
}

static u32 nr_with(const struct combine *c, u32 err)
{
	u32 nr = 0;

	vec_each(t, &c->totals)
		nr += t->err == err;
	return nr;
}

/* The second merge has the partial result of the first one, too. */
static void a_sum_beyond_the_limit_leaves_out_single_nodes_over_many_merges(void **state)
{
	static const char full[] = "a 9007199254740991\n";
	struct combine c;
	char node[16];

	assert_int_equal(combine_init(&c, NULL), 0);
	for (u32 i = 0; i < 200; i++) {
		snprintf(node, sizeof(node), "n%u", i);
		const struct spool_result r = { node, "zone=a",     1000000, FLEET_PPB,
						full, strlen(full), 0 };
		assert_int_equal(combine_add(&c, &r), 0);
		combine_step(&c, false);
	}
	auto_profile struct profile *p = combined(&c);
	assert_int_equal(profile_total(p, 0), 9007199254740991);
	assert_int_equal(c.totals.nr, 200);
	assert_int_equal(nr_with(&c, 0), 1);
	assert_int_equal(nr_with(&c, EOVERFLOW), 199);
	assert_int_equal(profile_find_note(p, NOTE_INCOMPLETE "fleet-unreadable")->value, 199);
	combine_fini(&c);
}

/* The partial result of an earlier merge; the last `cut` bytes of its profile are missing. */
static void add_partial(struct merged *to, const char *stacks, size_t cut)
{
	struct merged m;

	begin(&m);
	add_text(&m, "n1", stacks);
	run(&m);
	assert_int_equal(
		spool_add_merged(&to->spool, m.partial.profile.at, m.partial.profile.len - cut, 1),
		0);
	end(&m);
}

static void partials_that_exceed_the_limit_together_leave_out_one(void **state)
{
	struct merged m;

	begin(&m);
	add_partial(&m, "a 5000000000000000\n", 0);
	add_partial(&m, "a 5000000000000007\n", 0);
	add_text(&m, "n5", "a 11\n");
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 5000000000000011);
	assert_int_equal(m.partial.lost.nr, 1);
	assert_int_equal(m.partial.lost.at[0].index, 1);
	assert_int_equal(m.partial.lost.at[0].err, EOVERFLOW);
	end(&m);
}

/* It does not fail the request. */
static void an_outcome_that_cannot_be_read_is_left_out(void **state)
{
	struct merged m;

	begin(&m);
	add_partial(&m, "a 3\n", 5);
	add_partial(&m, "a 7\n", 0);
	run(&m);
	assert_int_equal(profile_total(m.p, 0), 7);
	assert_int_equal(m.partial.lost.nr, 1);
	assert_int_equal(m.partial.lost.at[0].index, 0);
	end(&m);
}

/* Several merges, whose partial results are merged again. */
static void nothing_is_lost_or_counted_twice_over_many_merges(void **state)
{
	struct combine c;
	u64 wanted = 0;
	char node[16], text[32];

	assert_int_equal(combine_init(&c, NULL), 0);
	for (u32 i = 0; i < 4 * COMBINE_RESULTS + 7; i++) {
		snprintf(node, sizeof(node), "n%u", i);
		snprintf(text, sizeof(text), "a;b%u %u\n", i % 11, i + 1);
		const struct spool_result r = { node, "zone=a",     1000000, FLEET_PPB,
						text, strlen(text), 0 };
		assert_int_equal(combine_add(&c, &r), 0);
		wanted += i + 1;
		combine_step(&c, false);
	}
	auto_profile struct profile *p = combined(&c);
	assert_int_equal(c.totals.nr, 4 * COMBINE_RESULTS + 7);
	assert_int_equal(profile_total(p, 0), wanted);
	combine_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_add_up_under_the_names_that_all_nodes_share),
		cmocka_unit_test(a_result_that_exceeds_what_formats_hold_is_left_out),
		cmocka_unit_test(a_result_that_its_cpus_cannot_give_is_left_out),
		cmocka_unit_test(values_in_ns_are_bounded_by_the_time),
		cmocka_unit_test(an_estimate_beyond_the_limit_is_left_out),
		cmocka_unit_test(an_estimate_that_ends_beyond_the_limit_is_an_error),
		cmocka_unit_test(a_damaged_or_cut_result_is_left_out),
		cmocka_unit_test(a_result_without_wanted_samples_is_left_out),
		cmocka_unit_test(only_samples_with_the_selected_label_are_merged),
		cmocka_unit_test(a_hundred_thousand_lambdas_become_one_frame),
		cmocka_unit_test(stacks_that_no_two_nodes_share_are_cut),
		cmocka_unit_test(cut_profiles_keep_self_and_total_of_methods),
		cmocka_unit_test(a_method_with_many_callers_keeps_its_self),
		cmocka_unit_test(a_cut_profile_is_bounded),
		cmocka_unit_test(a_sum_beyond_the_limit_leaves_out_single_nodes_over_many_merges),
		cmocka_unit_test(partials_that_exceed_the_limit_together_leave_out_one),
		cmocka_unit_test(an_outcome_that_cannot_be_read_is_left_out),
		cmocka_unit_test(a_node_delivers_under_its_own_name_only),
		cmocka_unit_test(traces_of_nodes_are_dropped),
		cmocka_unit_test(each_node_has_its_services_and_methods),
		cmocka_unit_test(a_preview_grows_at_most_once_a_second_and_changes_nothing),
		cmocka_unit_test(a_malformed_table_of_nodes_is_refused),
		cmocka_unit_test(nothing_is_lost_or_counted_twice_over_many_merges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
