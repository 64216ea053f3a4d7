/* SPDX-License-Identifier: Apache-2.0 */
/* Names the code of a JVM that compiles, unloads and reuses memory at the same time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "java.h"
#include "jvm/hotspot/hotspot.h"
#include "test.h"

#define FRAMES 16

struct tally {
	struct hotspot *h;
	u64 nr_named, nr_churned, nr_stale, nr_gone, nr_wrong;
};

/* Churn$Ck has mk and no other method of that form. */
static void check_frame(const struct java_frame *f, struct tally *t)
{
	t->nr_named++;
	t->nr_stale += f->is_stale;
	assert_true(f->method[0]);
	if (strncmp(f->class_name, "Churn$C", 7) != 0 || f->is_stale)
		return;
	t->nr_churned++;
	if (f->method[0] == 'm' && strcmp(f->method + 1, f->class_name + 7) != 0)
		t->nr_wrong++;
}

static int name_blob(void *ctx, const struct hotspot_blob *b)
{
	struct tally *t = ctx;
	struct java_frame frames[FRAMES];

	for (u64 pc = b->code_start; b->is_nmethod && pc < b->code_end; pc += 96) {
		int nr = hotspot_name_pc(
			t->h,
			(struct code_pc){ .pc = pc, .compile_id = b->compile_id, .is_leaf = true },
			frames, FRAMES);
		assert_true(nr <= FRAMES && nr != -ESRCH);
		t->nr_gone += nr < 0;
		for (int i = 0; i < nr; i++)
			check_frame(&frames[i], t);
	}
	return 0;
}

static pid_t start_churn(void)
{
	char line[16] = "";
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (!pid)
		java_exec(ends[1], "-Xmx64m -XX:MaxMetaspaceSize=24m Churn");
	close(ends[1]);
	assert_true(read(ends[0], line, sizeof(line)) > 0);
	close(ends[0]);
	return pid;
}

static void names_are_never_mixed_up_while_memory_is_reused(void **state)
{
	pid_t pid = start_churn();
	struct tally t = { 0 };

	assert_int_equal(hotspot_open((struct process_id){ java_pid(pid), 0 }, &t.h), 0);
	for (u64 end = time_mono_ns() + 4 * NS_PER_SEC; time_mono_ns() < end;) {
		assert_int_equal(hotspot_each_blob(t.h, name_blob, &t), 0);
		assert_true(hotspot_refresh(t.h) >= 0);
	}
	hotspot_free(t.h);
	java_end(pid);
	print_message("# %llu frames, %llu of churned classes, %llu stale, %llu pcs gone\n",
		      (unsigned long long)t.nr_named, (unsigned long long)t.nr_churned,
		      (unsigned long long)t.nr_stale, (unsigned long long)t.nr_gone);
	assert_true(t.nr_churned > 100);
	assert_int_equal(t.nr_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_never_mixed_up_while_memory_is_reused),
	};

	skip_all_if(java_lacking());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
