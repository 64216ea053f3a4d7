/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "profile/tree.h"

static node_id add_stack(struct profile *p, const char *const *names, size_t nr, u64 value)
{
	labels_id none = profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });
	node_id node = 0;

	for (size_t i = 0; i < nr; i++)
		node = profile_child(p, node,
				     frames_intern(p->frames, names[i][0] - '0', names[i] + 1, ""));
	profile_add(p, node, none, 0, value);
	return node;
}

#define STACK(p, value, ...)                               \
	add_stack(p, (const char *const[]){ __VA_ARGS__ }, \
		  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *), value)

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	return p;
}

static const struct hot_method *find(const struct profile *p, const struct hot_methods *h,
				     const char *name)
{
	vec_each(m, &h->all)
		if (!strcmp(frames_get(p->frames, m->frame)->name, name))
			return m;
	fail_msg("no method %s", name);
	return NULL;
}

static void a_recursive_method_counts_once_per_stack(void **state)
{
	struct profile *p = new_profile();
	auto_tree struct tree t;
	auto_hot_methods struct hot_methods h;

	STACK(p, 3, "2main", "6f", "6g", "4f", "6f");
	STACK(p, 5, "2main", "6f");
	STACK(p, 7, "2main", "6g", "5f", "2x");
	tree_make(p, 0, &t);
	hot_methods_make(p, &t, &h);
	assert_int_equal(find(p, &h, "f")->total, 15);
	assert_int_equal(find(p, &h, "f")->self, 8);
	assert_int_equal(find(p, &h, "g")->total, 10);
	assert_int_equal(find(p, &h, "g")->self, 0);
	assert_int_equal(find(p, &h, "main")->total, 15);
	assert_string_equal(frames_get(p->frames, h.all.at[0].frame)->name, "f");
	profile_free(p);
}

static void tiers_of_a_method_are_one_node_with_the_kind_of_the_largest(void **state)
{
	struct profile *p = new_profile();
	auto_tree struct tree t;

	STACK(p, 2, "4run", "6f");
	STACK(p, 3, "6run", "5f");
	STACK(p, 4, "4run", "5f");
	STACK(p, 9, "2run", "5f");
	tree_make(p, 0, &t);
	u32 native = t.nodes.at[0].first, java = t.nodes.at[native].next;
	assert_int_equal(t.nodes.at[native].total, 9);
	assert_int_equal(t.nodes.at[java].total, 9);
	assert_int_equal(t.nodes.at[java].next, 0);
	assert_int_equal(frames_get(p->frames, t.nodes.at[java].frame)->kind, FRAME_INTERPRETED);
	u32 f = t.nodes.at[java].first;
	assert_int_equal(t.nodes.at[f].next, 0);
	assert_int_equal(frames_get(p->frames, t.nodes.at[f].frame)->kind, FRAME_C1);
	profile_free(p);
}

static void children_are_sorted_by_weight_then_name(void **state)
{
	struct profile *p = new_profile();
	auto_tree struct tree t;
	const char *expected[] = { "c", "a", "b" };
	u32 i = 0;

	STACK(p, 1, "2b");
	STACK(p, 2, "2c");
	STACK(p, 1, "2a");
	STACK(p, 0, "2never");
	tree_make(p, 0, &t);
	for (u32 at = t.nodes.at[0].first; at; at = t.nodes.at[at].next)
		assert_string_equal(frames_get(p->frames, t.nodes.at[at].frame)->name,
				    expected[i++]);
	assert_int_equal(i, 3);
	profile_free(p);
}

static void a_profile_without_stacks_has_only_a_root(void **state)
{
	struct profile *p = new_profile();
	auto_tree struct tree t;
	auto_hot_methods struct hot_methods h;

	tree_make(p, 0, &t);
	hot_methods_make(p, &t, &h);
	assert_int_equal(t.nodes.nr, 1);
	assert_int_equal(t.nodes.at[0].total, 0);
	assert_int_equal(h.all.nr, 0);
	profile_free(p);
}

static void labels_of_a_profile_are_text(void **state)
{
	struct profile *p = new_profile();
	const struct labels labels = { .pid = 7, .comm = "Ausf\303", .thread = "\tx" };
	labels_id id = profile_intern_labels(p, &labels);

	assert_int_equal(profile_intern_labels(p, &labels), id);
	assert_int_equal(p->labels.nr, 1);
	assert_string_equal(p->labels.at[id].comm, "Ausf\uFFFD");
	assert_string_equal(p->labels.at[id].thread, "\uFFFDx");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursive_method_counts_once_per_stack),
		cmocka_unit_test(tiers_of_a_method_are_one_node_with_the_kind_of_the_largest),
		cmocka_unit_test(children_are_sorted_by_weight_then_name),
		cmocka_unit_test(a_profile_without_stacks_has_only_a_root),
		cmocka_unit_test(labels_of_a_profile_are_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
