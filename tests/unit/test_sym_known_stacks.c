/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random stacks, with names that change, through the tree of known stacks and without it: frames
 * and sums must be the same.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "sym/known_stacks.h"

#define RAWS    40 /* different raw frames of each kind */
#define DEPTH   60
#define SAMPLES 10000

/* What names depend on. */
struct world {
	u64 now_ns, unloads, moment, nr_calls;
	u64 random;
};

static u32 draw(struct world *w, u32 below)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((w->random >> 33) % below);
}

/* Code of a file, a stub whose routine may get a name, a Method, code of a perf map. */
static enum known_for lasts(const struct raw_frame *raw)
{
	return raw->kind == RAW_METHOD || (raw->kind == RAW_JVM_CODE && !raw->detail)
		       ? KNOWN_FOR_A_MOMENT
	       : raw->at % 10 == 7 ? KNOWN_FOR_NOW
				   : KNOWN_FOR_EVER;
}

/* A known_name_fn: one to three frames. */
static void name(void *ctx, const struct raw_frame *raw, frame_list *out, struct known_name *made)
{
	struct world *w = ctx;
	u64 of = hash_u64(raw->at ^
			  hash_u64(raw->detail ^ (u64)raw->kind << 40 ^ (u64)raw->is_leaf << 50));

	w->nr_calls++;
	*made = (struct known_name){ .lasts = lasts(raw) };
	if (made->lasts == KNOWN_FOR_A_MOMENT)
		of = hash_u64(of ^ hash_u64(w->moment << 32 ^ w->unloads));
	else if (made->lasts == KNOWN_FOR_NOW)
		of = hash_u64(of ^ w->moment);
	made->nr_without_line = of >> 8 & 1;
	made->is_inexact = raw->is_leaf && (of >> 9 & 7) == 0;
	for (u64 i = 0; i <= of % 3; i++)
		vec_push(out, (frame_id)(of >> 16) + (frame_id)i);
}

static struct raw_frame draw_raw(struct world *w)
{
	static const enum raw_kind kinds[] = { RAW_PC, RAW_JVM_CODE, RAW_JVM_CODE, RAW_METHOD,
					       RAW_INTERPRETER };
	u32 kind = draw(w, 5);

	return (struct raw_frame){ .kind = kinds[kind],
				   .at = 1000 + draw(w, RAWS),
				   .detail = kind == 1 ? 1 + draw(w, 2) : 0 };
}

struct stack {
	struct raw_frame user[DEPTH];
	u64 kernel[4];
	struct raw_stack raw;
};

/* Like the stack before from the root on, up to some frame. */
static void draw_stack(struct world *w, struct stack *s)
{
	size_t nr = 1 + draw(w, DEPTH), had = s->raw.nr_user;
	size_t same = had ? draw(w, (u32)(had < nr ? had : nr) + 1) : 0;

	memmove(s->user + nr - same, s->user + had - same, same * sizeof(s->user[0]));
	for (size_t i = 0; i < nr - same; i++)
		s->user[i] = draw_raw(w);
	for (size_t i = 0; i < nr; i++)
		s->user[i].is_leaf = i == 0;
	for (size_t i = 0; i < 4; i++)
		s->kernel[i] = 1000 + draw(w, RAWS);
	s->raw = (struct raw_stack){ .kernel = s->kernel,
				     .nr_kernel = draw(w, 5),
				     .user = s->user,
				     .nr_user = nr,
				     .unloads = w->unloads };
}

/* A stack as it is named without a tree. */
static void name_plainly(struct world *w, const struct raw_stack *s, frame_list *out,
			 struct known_stacks_sum *sum)
{
	for (size_t i = 0; i < s->nr_kernel + s->nr_user; i++) {
		struct raw_frame raw = { .kind = RAW_KERNEL };
		struct known_name made;
		if (i < s->nr_kernel)
			raw.at = s->kernel[i] - (i > 0);
		else
			raw = s->user[i - s->nr_kernel];
		name(w, &raw, out, &made);
		sum->nr_without_line += made.nr_without_line;
		sum->is_inexact |= made.is_inexact;
	}
}

static void check(struct world *w, struct known_stacks *all, const struct process *p, u64 version,
		  const struct raw_stack *stack)
{
	struct known_stacks_sum sum = { 0 }, plain_sum = { 0 };
	frame_list out = { 0 }, plain = { 0 };

	known_stacks_name(all, known_stacks_tree(all, p, version), stack, w->now_ns, name, w, &out,
			  &sum);
	name_plainly(w, stack, &plain, &plain_sum);
	assert_int_equal(out.nr, plain.nr);
	assert_memory_equal(out.at, plain.at, out.nr * sizeof(out.at[0]));
	assert_int_equal(sum.nr_without_line, plain_sum.nr_without_line);
	assert_int_equal(sum.is_inexact, plain_sum.is_inexact);
	vec_fini(&out);
	vec_fini(&plain);
}

/* Names that hold for a moment change after it only, or when a class is unloaded. */
static void names_and_sums_are_those_without_a_tree(void **state)
{
	struct world w = { .now_ns = NS_PER_SEC, .unloads = 1, .random = 42 };
	struct process processes[3] = { { .id = { 1, 1 } },
					{ .id = { 2, 1 } },
					{ .id = { 3, 1 } } };
	struct known_stacks all = { 0 };
	struct stack stack = { 0 };
	u64 version = 0;

	for (u32 i = 0; i < SAMPLES; i++) {
		struct process *p = &processes[draw(&w, 3)];
		if (!draw(&w, 200)) {
			w.now_ns += KNOWN_LASTS_NS;
			w.moment++;
		}
		w.unloads += !draw(&w, 300);
		p->mappings_version += !draw(&w, 500);
		p->program_ns += !draw(&w, 1000);
		version += !draw(&w, 1000);
		if (!draw(&w, 2000))
			known_stacks_forget(&all, p->id);
		if (draw(&w, 3))
			draw_stack(&w, &stack);
		stack.raw.unloads = w.unloads;
		check(&w, &all, p, version, &stack.raw);
	}
	known_stacks_fini(&all);
}

static void a_stack_that_is_known_is_not_named_again(void **state)
{
	struct raw_frame user[] = { { .kind = RAW_PC, .at = 1, .is_leaf = true },
				    { .kind = RAW_METHOD, .at = 2 },
				    { .kind = RAW_JVM_CODE, .at = 3, .detail = 9 } };
	const u64 kernel[] = { 100, 200 };
	struct raw_stack stack = { kernel, 2, user, 3, 0, 1 };
	struct world w = { .now_ns = NS_PER_SEC, .unloads = 1 };
	struct process p = { .id = { 1, 1 } };
	struct known_stacks all = { 0 };

	check(&w, &all, &p, 0, &stack);
	assert_int_equal(w.nr_calls, 10); /* of both ways */
	assert_int_equal(known_stacks_nr_known(known_stacks_tree(&all, &p, 0), &stack, w.now_ns),
			 5);
	check(&w, &all, &p, 0, &stack);
	assert_int_equal(w.nr_calls, 15);
	w.now_ns += KNOWN_LASTS_NS; /* the Method is looked at again */
	assert_int_equal(known_stacks_nr_known(known_stacks_tree(&all, &p, 0), &stack, w.now_ns),
			 1);
	check(&w, &all, &p, 0, &stack);
	assert_int_equal(w.nr_calls, 21);
	user[0].at =
		7; /* another leaf, whose name is not kept: and those of the kernel behind it */
	check(&w, &all, &p, 0, &stack);
	check(&w, &all, &p, 0, &stack);
	assert_int_equal(w.nr_calls, 21 + 2 * (5 + 3));
	p.mappings_version++;
	assert_int_equal(known_stacks_nr_known(known_stacks_tree(&all, &p, 0), &stack, w.now_ns),
			 0);
	known_stacks_fini(&all);
}

/* Stacks without end are a process's own loss, and take no memory from the others. */
static void a_process_has_its_share_of_memory(void **state)
{
	struct raw_frame calm[] = { { .kind = RAW_PC, .at = 1 }, { .kind = RAW_PC, .at = 2 } };
	const struct raw_stack known = { .user = calm, .nr_user = 2 };
	struct world w = { .random = 1 };
	struct process p = { .id = { 1, 1 } };
	struct known_stacks all = { 0 };
	struct raw_frame user[50];
	const struct raw_stack stack = { .user = user, .nr_user = 50 };

	check(&w, &all, &p, 0, &known);
	for (u32 i = 0; i < 6000; i++) {
		struct process wild = { .id = { (pid_t)(2 + i % 8), 1 } };
		for (u32 k = 0; k < 50; k++)
			user[k] = (struct raw_frame){ .kind = RAW_PC,
						      .at = (u64)draw(&w, 1u << 30) * 10 };
		check(&w, &all, &wild, 0, &stack);
		assert_true(all.bytes <= KNOWN_STACKS_BYTES);
	}
	assert_int_equal(known_stacks_nr_known(known_stacks_tree(&all, &p, 0), &known, 0), 2);
	known_stacks_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_sums_are_those_without_a_tree),
		cmocka_unit_test(a_stack_that_is_known_is_not_named_again),
		cmocka_unit_test(a_process_has_its_share_of_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
