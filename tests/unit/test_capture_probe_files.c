/* SPDX-License-Identifier: Apache-2.0 */
/* The files that may get probes: which of them are remembered, and for how long. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/types.h"
#include "capture/probes/probe_files.h"

#define FILES 40

struct world {
	struct probe_files *files;
	bool wants;   /* whether files can have probes */
	u32 nr_asked; /* searches */
	char dir[32];
};

/* The search finds nothing; the placing wants such files all the same (reports_missing). */
static bool ask(const struct probe_placing *self, const struct probe_file *f,
		struct places_query *query, void *ctx)
{
	struct world *w = ctx;

	w->nr_asked++;
	*query = (struct places_query){ .kind = PLACES_FUNCTIONS,
					.names = { "no such function" },
					.nr_names = 1 };
	return w->wants;
}

static bool place(const struct probe_placing *self, const struct probe_file *f,
		  const struct places *found, probe_links *out, void *ctx)
{
	return true;
}

static const struct probe_placing placing = {
	.name = "test", .nr_files_max = 10, .reports_missing = true, .ask = ask, .place = place
};

static struct world *new_world(bool wants)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->wants = wants;
	w->files = probe_files_new(NULL, &placing, w);
	strcpy(w->dir, "/tmp/probe-files-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	return w;
}

static void free_world(struct world *w)
{
	for (int i = 0; i < FILES; i++) {
		auto_free char *path = xasprintf("%s/%d", w->dir, i);
		unlink(path);
	}
	rmdir(w->dir);
	probe_files_free(w->files);
	free(w);
}

/* A process, this one, maps file `i` for a moment. */
static enum probe_state map_file(struct world *w, int i, bool places)
{
	auto_free char *path = xasprintf("%s/%d", w->dir, i);
	struct process process = { .id = { .pid = getpid() } };
	struct mappings all = { 0 };
	probe_links links = { 0 };
	enum probe_state state = PROBES_NONE;

	auto_free char *copy = xasprintf("test -e %s || cp /bin/true %s", path, path);
	assert_int_equal(system(copy), 0);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mappings_read(getpid(), true, &all), 0);
	const struct mapping *m = mappings_find(&all, (u64)(uintptr_t)at);
	assert_non_null(m);
	assert_true(probe_files_begin(w->files, &process, m, -1));
	if (places)
		state = probe_files_place(w->files, &process, m, -1, &links);
	probe_files_take_news(w->files);
	munmap(at, 4096);
	mappings_fini(&all);
	vec_fini(&links);
	return state;
}

static void files_without_probes_are_forgotten(void **state)
{
	for (int wants = 0; wants < 2; wants++) {
		struct world *w = new_world(wants);
		for (int i = 0; i < FILES; i++) {
			map_file(w, i, false);
			if (i % 10 == 9)
				probe_files_turn(w->files);
		}
		assert_int_equal(w->nr_asked, FILES);
		/* One that comes back is searched again. */
		map_file(w, 0, false);
		assert_int_equal(w->nr_asked, FILES + 1);
		free_world(w);
	}
}

static void a_file_in_use_is_searched_once(void **state)
{
	for (int wants = 0; wants < 2; wants++) {
		struct world *w = new_world(wants);
		for (int i = 0; i < 10; i++) {
			map_file(w, 0, false);
			probe_files_turn(w->files);
		}
		assert_int_equal(w->nr_asked, 1);
		free_world(w);
	}
}

static void a_file_with_probes_keeps_its_number(void **state)
{
	struct world *w = new_world(true);
	u32 nr_before;

	assert_int_equal(map_file(w, 0, true), PROBES_KNOWN);
	nr_before = probe_files_nr(w->files);
	assert_int_equal(nr_before, 1);
	for (int i = 0; i < 5; i++)
		probe_files_turn(w->files);
	assert_int_equal(map_file(w, 0, true), PROBES_KNOWN);
	assert_int_equal(probe_files_nr(w->files), 1);
	assert_int_equal(w->nr_asked, 1);
	free_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_without_probes_are_forgotten),
		cmocka_unit_test(a_file_in_use_is_searched_once),
		cmocka_unit_test(a_file_with_probes_keeps_its_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
