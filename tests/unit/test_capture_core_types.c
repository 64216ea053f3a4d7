/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

#include <bpf/btf.h>
#include <string.h>

#include "base/types.h"
#include "capture/programs/kernel_types.h"

struct types {
	struct btf *kernel, *reduced;
};

static void read_types(struct types *t)
{
	t->kernel = btf__load_vmlinux_btf();
	if (!t->kernel)
		skip_because("this kernel has no BTF");
	const char *path = core_types_path();
	assert_non_null(path);
	t->reduced = btf__parse(path, NULL);
	assert_non_null(t->reduced);
}

static void free_types(struct types *t)
{
	btf__free(t->kernel);
	btf__free(t->reduced);
}

/* Names of members' types are left out: a type may be known by several. */
static bool is_same(const struct types *t, const struct btf_type *a, const struct btf_type *b)
{
	bool same = btf_kind(a) == btf_kind(b) && a->size == b->size && btf_vlen(a) == btf_vlen(b);

	for (u32 i = 0; same && i < btf_vlen(a); i++)
		same = btf_member_bit_offset(a, i) == btf_member_bit_offset(b, i) &&
		       btf_member_bitfield_size(a, i) == btf_member_bitfield_size(b, i) &&
		       btf__resolve_size(t->reduced, btf_members(a)[i].type) ==
			       btf__resolve_size(t->kernel, btf_members(b)[i].type) &&
		       !strcmp(btf__name_by_offset(t->reduced, btf_members(a)[i].name_off),
			       btf__name_by_offset(t->kernel, btf_members(b)[i].name_off));
	return same;
}

static bool is_in_kernel(const struct types *t, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(t->reduced, type->name_off);

	for (u32 id = 1; id < btf__type_cnt(t->kernel); id++) {
		const struct btf_type *k = btf__type_by_id(t->kernel, id);
		if (btf_is_composite(k) &&
		    !strcmp(btf__name_by_offset(t->kernel, k->name_off), name) &&
		    is_same(t, type, k))
			return true;
	}
	return false;
}

static void types_of_the_file_are_those_of_the_kernel(void **state)
{
	struct types t;
	int nr = 0;

	read_types(&t);
	for (u32 id = 1; id < btf__type_cnt(t.reduced); id++) {
		const struct btf_type *type = btf__type_by_id(t.reduced, id);
		if (!btf_is_composite(type))
			continue;
		assert_true(is_in_kernel(&t, type));
		nr++;
	}
	assert_true(nr > 10);
	free_types(&t);
}

static int count(const struct btf *types, const char *name)
{
	int nr = 0;

	for (u32 id = 1; id < btf__type_cnt(types); id++) {
		const struct btf_type *type = btf__type_by_id(types, id);
		nr += btf_is_struct(type) &&
		      !strcmp(btf__name_by_offset(types, type->name_off), name);
	}
	return nr;
}

static void types_that_programs_access_are_in_the_file(void **state)
{
	static const char *const structs[] = { "task_struct", "signal_struct", "cgroup", "pt_regs",
					       "bpf_iter__task" };
	struct types t;

	read_types(&t);
	for (size_t i = 0; i < ARRAY_SIZE(structs); i++) {
		assert_true(count(t.kernel, structs[i]) > 0);
		assert_int_equal(count(t.reduced, structs[i]), count(t.kernel, structs[i]));
	}
	free_types(&t);
}

static void the_file_is_small_and_made_once(void **state)
{
	struct types t;

	read_types(&t);
	assert_ptr_equal(core_types_path(), core_types_path());
	u32 size;
	btf__raw_data(t.reduced, &size);
	assert_in_range(size, 1000, 200000);
	free_types(&t);
}

static void ids_to_attach_to_are_those_of_the_kernel(void **state)
{
	struct types t;

	read_types(&t);
	kernel_types_forget();
	assert_int_equal(
		kernel_types_attach_id("tp_btf/sched_switch"),
		btf__find_by_name_kind(t.kernel, "btf_trace_sched_switch", BTF_KIND_TYPEDEF));
	assert_int_equal(kernel_types_attach_id("iter/task"),
			 btf__find_by_name_kind(t.kernel, "bpf_iter_task", BTF_KIND_FUNC));
	assert_int_equal(kernel_types_attach_id("tp_btf/no_such_tracepoint"), -ESRCH);
	free_types(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_to_attach_to_are_those_of_the_kernel),
		cmocka_unit_test(types_of_the_file_are_those_of_the_kernel),
		cmocka_unit_test(types_that_programs_access_are_in_the_file),
		cmocka_unit_test(the_file_is_small_and_made_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
