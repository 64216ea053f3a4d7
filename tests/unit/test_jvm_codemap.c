/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "jvm/agent/codemap.h"

#define SEC  1000000000ull
#define CODE 0x7f0000000000ull

static u32 named(struct codemap *map, enum frame_kind kind, const char *class_name,
		 const char *method)
{
	return codemap_name(map, kind, (struct code_text){ class_name, strlen(class_name) },
			    (struct code_text){ method, strlen(method) },
			    (struct code_text){ "()V", 3 });
}

static u32 method(struct codemap *map, const char *name)
{
	return named(map, FRAME_C2, "a/B", name);
}

static u32 stub(struct codemap *map, const char *name)
{
	return named(map, FRAME_STUB, "", name);
}

/* The method at pc, "" if no code is known there. */
static const char *found(struct codemap *map, u64 pc, u64 time_ns)
{
	struct java_frame frame;

	return codemap_find(map, pc, time_ns, 0, &frame, 1) ? frame.method : "";
}

static void a_map_at_its_limit_counts_names_without_room_and_keeps_the_others(void **state)
{
	struct codemap *map = codemap_new();
	u32 first = method(map, "first");

	codemap_load(map, SEC, CODE, 64, first);
	codemap_limit(map, 1);
	assert_int_equal(method(map, "second"), 0);
	codemap_class(map, 7, (struct code_text){ "La/C;", 5 });
	assert_null(codemap_find_class(map, 7));
	assert_int_equal(codemap_size(map).nr_left_out, 2);
	codemap_limit(map, 1 << 20);
	assert_int_not_equal(method(map, "second"), 0);
	assert_string_equal(found(map, CODE, 2 *SEC), "first");
	codemap_free(map);
}

static void report_class(struct codemap *map, u64 number, const char *signature)
{
	codemap_class(map, number, (struct code_text){ signature, strlen(signature) });
}

/* A JVM that makes hidden classes all the time: each has a number of its own. */
static void endless_classes_leave_room_for_code(void **state)
{
	const u64 used = 1ull << 40;
	struct codemap *map = codemap_new();
	char signature[64];

	codemap_limit(map, 8 << 20);
	report_class(map, used, "[B");
	for (u64 i = 1; i <= 600011; i++) {
		snprintf(signature, sizeof(signature), "La/B$$Lambda/0x%016llx;",
			 (unsigned long long)i);
		report_class(map, i, signature);
		if (i % 1000 == 0)
			assert_non_null(codemap_find_class(map, used));
	}
	struct codemap_size size = codemap_size(map);
	assert_int_equal(size.nr_left_out, 0);
	assert_true(size.bytes < 4 << 20);
	codemap_limit(map, size.bytes + 4096);
	assert_true(codemap_load(map, SEC, CODE, 64, method(map, "run")));
	assert_string_equal(found(map, CODE, 2 *SEC), "run");
	assert_string_equal(codemap_find_class(map, used), "byte[]");
	assert_string_equal(codemap_find_class(map, 600011), "a.B$$Lambda");
	/* A class that was dropped is found once it is reported again. */
	assert_null(codemap_find_class(map, 1));
	report_class(map, 1, "La/B$$Lambda/0x0000000000000001;");
	assert_string_equal(codemap_find_class(map, 1), "a.B$$Lambda");
	codemap_free(map);
}

static void long_names_of_unused_classes_are_freed(void **state)
{
	struct codemap *map = codemap_new();
	char signature[4000];

	codemap_limit(map, 8 << 20);
	for (u64 i = 1; i <= 20011; i++) {
		memset(signature, 'x', sizeof(signature));
		snprintf(signature, 32, "L%020llu", (unsigned long long)i);
		signature[21] = 'x';
		codemap_class(map, i, (struct code_text){ signature, sizeof(signature) });
	}
	assert_int_equal(codemap_size(map).nr_left_out, 0);
	assert_true(codemap_size(map).bytes < 4 << 20);
	codemap_free(map);
}

/* A JVM that compiles and drops other methods all the time. Each stays for a moment. */
static void names_of_removed_code_make_room_for_others(void **state)
{
	struct codemap *map = codemap_new();
	u32 held[2] = { method(map, "held") + 1, 0 };
	char name[32];

	codemap_hold(map, held, 2);
	codemap_load(map, SEC, CODE, 64, method(map, "stays"));
	for (u64 i = 1; i <= 120000; i++) {
		snprintf(name, sizeof(name), "m%llu", (unsigned long long)i);
		codemap_load(map, i *SEC / 100, CODE + 4096, 64, method(map, name));
	}
	struct codemap_size size = codemap_size(map);
	assert_int_equal(size.nr_left_out, 0);
	assert_int_equal(size.nr_ignored, 0);
	assert_true(size.nr_names < 90000);
	assert_string_equal(found(map, CODE, 1200 *SEC), "stays");
	assert_string_equal(found(map, CODE + 4096, 1200 *SEC), "m120000");
	assert_string_equal(found(map, CODE + 4096, 1199 *SEC), "m119900");
	/* The held name was not given to another method. */
	assert_int_equal(method(map, "held") + 1, held[0]);
	codemap_load(map, 1201 *SEC, CODE + 8192, 64, held[0] - 1);
	assert_string_equal(found(map, CODE + 8192, 1201 *SEC), "held");
	codemap_hold(map, NULL, 0);
	codemap_free(map);
}

static void a_full_map_takes_new_code_after_much_was_removed(void **state)
{
	struct codemap *map = codemap_new();
	char name[64];
	u64 nr = 0;

	codemap_limit(map, 1 << 20);
	while (!codemap_size(map).nr_ignored && nr < 100000) {
		snprintf(name, sizeof(name), "a_method_with_a_long_name_%llu",
			 (unsigned long long)nr);
		codemap_load(map, SEC, CODE + nr++ * 64, 64, method(map, name));
	}
	assert_true(codemap_size(map).nr_ignored);
	for (u64 i = 0; i < nr; i++)
		codemap_unload(map, 2 *SEC, CODE + i * 64);
	codemap_load(map, 3 *SEC, CODE, 64, 0); /* makes room */
	assert_true(codemap_load(map, 3 *SEC, CODE, 64, method(map, "new")));
	assert_string_equal(found(map, CODE, 4 *SEC), "new");
	codemap_free(map);
}

static void code_is_found_while_it_exists(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame frame;

	codemap_load(map, 10 *SEC, CODE, 64, method(map, "run"));
	codemap_unload(map, 20 *SEC, CODE);
	assert_int_equal(codemap_find(map, CODE + 63, 15 *SEC, 0, &frame, 1), 1);
	assert_string_equal(frame.class_name, "a.B");
	assert_string_equal(frame.method, "run");
	assert_string_equal(frame.signature, "()V");
	assert_int_equal(frame.kind, FRAME_C1);
	assert_string_equal(found(map, CODE + 64, 15 *SEC), "");
	assert_string_equal(found(map, CODE - 1, 15 *SEC), "");
	assert_string_equal(found(map, CODE, 22 *SEC), "");
	assert_string_equal(found(map, CODE, 8 *SEC), "");
	codemap_free(map);
}

static void a_late_report_names_samples_from_before_it(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, 10 *SEC, CODE, 64, method(map, "run"));
	assert_string_equal(found(map, CODE, 10 *SEC - 45000000), "run");
	codemap_free(map);
}

static void reused_memory_is_named_by_time(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, 0, CODE, 64, method(map, "first"));
	codemap_unload(map, 10 *SEC, CODE);
	codemap_load(map, 10 *SEC + 500, CODE + 32, 64, method(map, "second"));
	assert_string_equal(found(map, CODE + 40, 1), "first");
	assert_string_equal(found(map, CODE + 40, 10 *SEC + 1), "second");
	assert_string_equal(found(map, CODE + 40, 60 *SEC), "second");
	assert_string_equal(found(map, CODE + 8, 60 *SEC), "");
	codemap_free(map);
}

static void a_load_removes_overlapped_code(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, SEC, CODE, 8192, method(map, "old"));
	codemap_load(map, 9 *SEC, CODE + 8000, 8192, method(map, "new"));
	assert_string_equal(found(map, CODE + 5, 5 *SEC), "old");
	assert_string_equal(found(map, CODE + 5, 11 *SEC), "");
	assert_string_equal(found(map, CODE + 8100, 11 *SEC), "new");
	assert_int_equal(codemap_size(map).nr_live, 1);
	codemap_free(map);
}

static void the_same_load_twice_is_one(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, 0, CODE, 64, method(map, "run"));
	codemap_load(map, 9 *SEC, CODE, 64, method(map, "run"));
	assert_int_equal(codemap_size(map).nr_live, 1);
	assert_int_equal(codemap_size(map).nr_gone, 0);
	assert_string_equal(found(map, CODE, SEC), "run");
	codemap_free(map);
}

static void stubs_lie_within_blobs_of_stubs(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, 0, CODE + 64, 64, stub(map, "jint_arraycopy"));
	codemap_load(map, 0, CODE, 4096, stub(map, "StubRoutines (1)"));
	codemap_load(map, 0, CODE + 1024, 64, stub(map, "checkcast_arraycopy"));
	assert_string_equal(found(map, CODE + 70, SEC), "jint_arraycopy");
	assert_string_equal(found(map, CODE + 1030, SEC), "checkcast_arraycopy");
	assert_string_equal(found(map, CODE + 2000, SEC), "StubRoutines (1)");
	assert_int_equal(codemap_size(map).nr_live, 3);
	codemap_free(map);
}

static void report(struct codemap *map, u64 addr, const char *method, u32 compile_id, int level)
{
	const struct code_facts facts = { compile_id, level, "a.B", method, "()V" };

	codemap_report(map, addr, &facts);
}

/* The load of the new code is reported late: the sample's compile id decides. */
static void code_of_another_compile_id_does_not_match(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame frame;

	codemap_load(map, 1 *SEC, CODE, 64, method(map, "before"));
	report(map, CODE, "after", 8, 4); /* another method, compiled later at the same address */
	assert_int_equal(codemap_find(map, CODE, 2 *SEC, 8, &frame, 1), 0);
	report(map, CODE, "before", 7, 4);
	assert_int_equal(codemap_find(map, CODE, 2 *SEC, 7, &frame, 1), 1);
	assert_int_equal(codemap_find(map, CODE, 2 *SEC, 0, &frame, 1), 1);
	assert_int_equal(codemap_find(map, CODE, 2 *SEC, 8, &frame, 1), 0);
	codemap_load(map, 9 *SEC, CODE, 64, method(map, "after"));
	report(map, CODE, "after", 8, 4);
	assert_int_equal(codemap_find(map, CODE, 2 *SEC, 8, &frame, 1), 1);
	assert_string_equal(frame.method, "after");
	assert_int_equal(codemap_find(map, CODE, 9 *SEC, 7, &frame, 1), 1);
	assert_string_equal(frame.method, "before");
	codemap_free(map);
}

static void hidden_classes_match_in_both_spellings(void **state)
{
	struct codemap *map = codemap_new();
	const struct code_facts facts = { 5, 4, "a.B$$Lambda+0x7f01", "run", "()V" };
	struct java_frame frame;

	codemap_load(map, 0, CODE, 64, named(map, FRAME_C2, "a/B$$Lambda.0x7f01", "run"));
	codemap_load(map, 0, CODE + 64, 64, named(map, FRAME_C2, "a/B$$Lambda.0x7f02", "run"));
	codemap_report(map, CODE, &facts);
	codemap_report(map, CODE + 64, &facts);
	codemap_find(map, CODE, SEC, 0, &frame, 1);
	assert_int_equal(frame.kind, FRAME_C2);
	codemap_find(map, CODE + 64, SEC, 0, &frame, 1);
	assert_int_equal(frame.kind, FRAME_C1);
	codemap_free(map);
}

static void the_compiler_comes_from_the_jvms_tables(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame frame;
	u64 *addrs;

	codemap_load(map, 1, CODE, 64, method(map, "run"));
	codemap_load(map, 1, CODE + 64, 64, stub(map, "jint_arraycopy"));
	codemap_load(map, 1, CODE + 128, 64, method(map, "hashCode"));
	assert_int_equal(codemap_take_new(map, &addrs), 2);
	assert_int_equal(addrs[1], CODE + 128);
	free(addrs);
	assert_int_equal(codemap_take_new(map, &addrs), 0);
	report(map, CODE, "run", 7, 4);
	report(map, CODE + 128, "hashCode", 8, 0);
	report(map, CODE + 999, "run", 9, 4);
	codemap_find(map, CODE, SEC, 0, &frame, 1);
	assert_int_equal(frame.kind, FRAME_C2);
	codemap_find(map, CODE + 128, SEC, 0, &frame, 1);
	assert_int_equal(frame.kind, FRAME_STUB);
	assert_true(frame.is_native);
	codemap_find(map, CODE + 64, SEC, 0, &frame, 1);
	assert_int_equal(frame.kind, FRAME_STUB);
	assert_false(frame.is_native);
	codemap_free(map);
}

/* Most of the methods that exist when the agent is attached never appear in a sample. */
static void facts_about_older_code_are_read_when_it_is_first_named(void **state)
{
	struct codemap *map = codemap_new();
	u64 *addrs;

	codemap_load(map, 0, CODE, 64, method(map, "run"));
	codemap_load(map, 0, CODE + 64, 64, stub(map, "jint_arraycopy"));
	codemap_load(map, 0, CODE + 128, 64, method(map, "hashCode"));
	assert_int_equal(codemap_take_new(map, &addrs), 0);
	assert_int_equal(codemap_take_unread_at(map, CODE + 70, SEC, 0), 0);
	assert_int_equal(codemap_take_unread_at(map, CODE + 10, SEC, 0), CODE);
	assert_int_equal(codemap_take_unread_at(map, CODE + 10, SEC, 0), 0);
	assert_int_equal(codemap_take_unread(map, &addrs), 1);
	assert_int_equal(addrs[0], CODE + 128);
	free(addrs);
	assert_int_equal(codemap_take_unread(map, &addrs), 0);
	codemap_free(map);
}

/* As in HotSpot's lookup, a range includes the return address at its end. */
static void inlined_frames_come_leaf_first_by_range(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame out[4];
	u32 outer = method(map, "outer"), inner = method(map, "inner");

	codemap_load(map, 0, CODE, 100, method(map, "run"));
	codemap_inline(map, CODE, 10, 20, (u32[]){ outer }, 1);
	codemap_inline(map, CODE, 20, 30, (u32[]){ outer, inner }, 2);
	assert_int_equal(codemap_find(map, CODE + 10, SEC, 0, out, 4), 1);
	assert_int_equal(codemap_find(map, CODE + 20, SEC, 0, out, 4), 2);
	assert_string_equal(out[0].method, "outer");
	assert_int_equal(out[0].kind, FRAME_INLINED);
	assert_string_equal(out[1].method, "run");
	assert_int_equal(out[1].kind, FRAME_C1);
	assert_int_equal(codemap_find(map, CODE + 21, SEC, 0, out, 4), 3);
	assert_string_equal(out[0].method, "inner");
	assert_string_equal(out[1].method, "outer");
	assert_string_equal(out[2].method, "run");
	assert_int_equal(codemap_find(map, CODE + 31, SEC, 0, out, 4), 1);
	assert_int_equal(codemap_find(map, CODE + 21, SEC, 0, out, 2), 2);
	assert_string_equal(out[0].method, "outer");
	codemap_free(map);
}

static void a_replay_after_a_loss_removes_unreported_code(void **state)
{
	struct codemap *map = codemap_new();

	codemap_load(map, 0, CODE, 64, method(map, "gone"));
	codemap_load(map, 0, CODE + 64, 64, method(map, "stays"));
	codemap_replay_begin(map, 10 *SEC);
	codemap_load(map, 0, CODE + 64, 64, method(map, "stays"));
	codemap_load(map, 0, CODE + 128, 64, method(map, "new"));
	codemap_replay_end(map);
	assert_string_equal(found(map, CODE, 5 *SEC), "gone");
	assert_string_equal(found(map, CODE, 12 *SEC), "");
	assert_string_equal(found(map, CODE + 64, 5 *SEC), "stays");
	assert_string_equal(found(map, CODE + 64, 50 *SEC), "stays");
	assert_string_equal(found(map, CODE + 128, 5 *SEC), "");
	assert_string_equal(found(map, CODE + 128, 50 *SEC), "new");
	codemap_free(map);
}

static void a_replay_counts_inlined_frames_once(void **state)
{
	struct codemap *map = codemap_new();
	u32 run = method(map, "run"), inner = method(map, "inner");
	size_t bytes = 0;

	for (int replay = 0; replay <= 100; replay++) {
		codemap_replay_begin(map, SEC);
		codemap_load(map, 0, CODE, 4096, run);
		for (u32 i = 0; i < 1000; i++)
			codemap_inline(map, CODE, 4 * i, 4 * i + 4, &inner, 1);
		codemap_replay_end(map);
		bytes = bytes ?: codemap_size(map).bytes;
		assert_int_equal(codemap_size(map).bytes, bytes);
	}
	codemap_free(map);
}

static void implausible_code_is_ignored(void **state)
{
	struct codemap *map = codemap_new();
	u32 run = method(map, "run");

	assert_false(codemap_load(map, 0, CODE, 0, run));
	assert_false(codemap_load(map, 0, CODE, CODEMAP_CODE_MAX + 1, run));
	assert_false(codemap_load(map, 0, UINT64_MAX - 5, 64, run));
	assert_false(codemap_load(map, 0, CODE, 64, run + 1));
	codemap_inline(map, CODE, 0, 4, &run, 1);
	codemap_unload(map, 5, CODE);
	assert_int_equal(codemap_size(map).nr_ignored, 4);
	assert_int_equal(codemap_size(map).nr_live, 0);
	codemap_free(map);
}

static void endlessly_nested_stubs_are_ignored(void **state)
{
	struct codemap *map = codemap_new();
	u32 name = stub(map, "nested");

	for (u64 i = 1; i <= 3001; i++)
		codemap_load(map, SEC, CODE, 2 * i, name);
	assert_int_equal(codemap_size(map).nr_live, 1024);
	assert_int_equal(codemap_size(map).nr_ignored, 3001 - 1024);
	/* Their successor is accepted. */
	assert_true(codemap_load(map, 2 *SEC, CODE, 64, method(map, "run")));
	assert_string_equal(found(map, CODE, 3 *SEC), "run");
	assert_int_equal(codemap_size(map).nr_live, 1);
	codemap_free(map);
}

static void endless_churn_stays_within_its_budget(void **state)
{
	struct codemap *map = codemap_new();
	u32 run = method(map, "run"), other = method(map, "other");

	for (u64 i = 0; i < 400009; i++)
		codemap_load(map, i * 2000000, CODE + i % 7 * 64, 64, i % 2 ? run : other);
	assert_true(codemap_size(map).nr_gone < 350000);
	assert_true(codemap_size(map).bytes < 40 << 20);
	codemap_free(map);
}

/* Comparison with a model that keeps everything and searches all of it. */

#define MODEL_MAX 3000

struct model_code {
	u64 start, end, load_ns, unload_ns;
	char name[8];
};

struct model {
	struct model_code at[MODEL_MAX];
	int nr;
};

static void model_load(struct model *m, u64 t, u64 start, u64 end, const char *name)
{
	for (int i = 0; i < m->nr; i++) {
		struct model_code *c = &m->at[i];
		if (c->unload_ns != UINT64_MAX)
			continue;
		if (c->start == start && c->end == end && !strcmp(c->name, name))
			return;
	}
	for (int i = 0; i < m->nr; i++)
		if (m->at[i].unload_ns == UINT64_MAX && m->at[i].start < end &&
		    start < m->at[i].end)
			m->at[i].unload_ns = t;
	m->at[m->nr] = (struct model_code){ start, end, t, UINT64_MAX, "" };
	strcpy(m->at[m->nr++].name, name);
}

static const char *model_find(const struct model *m, u64 pc, u64 t)
{
	const struct model_code *after = NULL;

	for (int i = 0; i < m->nr; i++) {
		const struct model_code *c = &m->at[i];
		if (pc < c->start || pc >= c->end)
			continue;
		if (c->load_ns <= t && t < c->unload_ns)
			return c->name;
		if (c->load_ns > t && (!after || c->load_ns < after->load_ns))
			after = c;
	}
	return after && after->load_ns - t <= CODEMAP_GRACE_NS ? after->name : "";
}

static void any_history_agrees_with_a_model(void **state)
{
	for (int seed = 1; seed <= 7; seed++) {
		struct codemap *map = codemap_new();
		struct model *m = calloc(1, sizeof(*m));
		u64 t = 5 *SEC;

		srand((unsigned)seed);
		for (int i = 0; i < MODEL_MAX; i++) {
			u64 start = CODE + (u64)(rand() % 640) * 32;
			u64 end = start + 32 + (u64)(rand() % 300) * 32;
			char name[8];
			snprintf(name, sizeof(name), "m%d", rand() % 61);
			t += 1 + (u64)(rand() % 300000000);
			if (rand() % 4) {
				codemap_load(map, t, start, end - start, method(map, name));
				model_load(m, t, start, end, name);
				continue;
			}
			codemap_unload(map, t, start);
			for (int k = 0; k < m->nr; k++)
				if (m->at[k].start == start && m->at[k].unload_ns == UINT64_MAX)
					m->at[k].unload_ns = t;
		}
		for (int i = 0; i < 30011; i++) {
			u64 pc = CODE + (u64)(rand() % (950 * 32));
			u64 when = rand() % 9 ? ((u64)rand() << 20 ^ (u64)rand()) % (t + SEC)
					      : m->at[rand() % m->nr].load_ns;
			assert_string_equal(found(map, pc, when), model_find(m, pc, when));
		}
		codemap_free(map);
		free(m);
	}
}

/* Each needs a page's bookkeeping per 4 KB of address space, and only 12 bytes of the ring. */
static void code_that_fills_the_address_space_stays_within_the_budget(void **state)
{
	struct codemap *map = codemap_new();
	u64 size = CODEMAP_CODE_MAX & ~0xfffull;
	size_t nr = 0;

	for (u64 i = 0; i < 4001; i++)
		nr += codemap_load(map, SEC, CODE + i * size, size, method(map, "run"));
	assert_in_range(nr, 1, (64 << 20) / (size / 4096 * 64));
	codemap_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_fills_the_address_space_stays_within_the_budget),
		cmocka_unit_test(a_map_at_its_limit_counts_names_without_room_and_keeps_the_others),
		cmocka_unit_test(endless_classes_leave_room_for_code),
		cmocka_unit_test(long_names_of_unused_classes_are_freed),
		cmocka_unit_test(names_of_removed_code_make_room_for_others),
		cmocka_unit_test(a_full_map_takes_new_code_after_much_was_removed),
		cmocka_unit_test(code_is_found_while_it_exists),
		cmocka_unit_test(a_late_report_names_samples_from_before_it),
		cmocka_unit_test(reused_memory_is_named_by_time),
		cmocka_unit_test(a_load_removes_overlapped_code),
		cmocka_unit_test(the_same_load_twice_is_one),
		cmocka_unit_test(stubs_lie_within_blobs_of_stubs),
		cmocka_unit_test(code_of_another_compile_id_does_not_match),
		cmocka_unit_test(hidden_classes_match_in_both_spellings),
		cmocka_unit_test(the_compiler_comes_from_the_jvms_tables),
		cmocka_unit_test(facts_about_older_code_are_read_when_it_is_first_named),
		cmocka_unit_test(inlined_frames_come_leaf_first_by_range),
		cmocka_unit_test(a_replay_after_a_loss_removes_unreported_code),
		cmocka_unit_test(a_replay_counts_inlined_frames_once),
		cmocka_unit_test(implausible_code_is_ignored),
		cmocka_unit_test(endlessly_nested_stubs_are_ignored),
		cmocka_unit_test(endless_churn_stays_within_its_budget),
		cmocka_unit_test(any_history_agrees_with_a_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
