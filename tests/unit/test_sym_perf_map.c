/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/status.h"
#include "sym/files/perf_map.h"

static struct perf_map *parse(const char *text)
{
	return perf_map_parse(text, strlen(text));
}

static void code_is_found_by_its_range(void **state)
{
	struct perf_map *map =
		parse("1000 20 first\n0x2000 0x10 a name with blanks\n1010 8 inner\n");

	assert_string_equal(perf_map_find(map, 0x1000), "first");
	assert_string_equal(perf_map_find(map, 0x200f), "a name with blanks");
	assert_string_equal(perf_map_find(map, 0x1012), "inner");
	assert_null(perf_map_find(map, 0xfff));
	assert_null(perf_map_find(map, 0x2010));
	perf_map_free(map);
}

static void the_later_of_two_lines_for_one_address_wins(void **state)
{
	struct perf_map *map = parse("1000 20 old\n1000 10 new\n");

	assert_string_equal(perf_map_find(map, 0x100f), "new");
	assert_null(perf_map_find(map, 0x1010));
	perf_map_free(map);
}

static void garbage_is_skipped(void **state)
{
	struct perf_map *map = parse("\n"
				     "hello\n"
				     "1000 name without size\n"
				     "zz 10 x\n"
				     "1000 0 empty\n"
				     "ffffffffffffffff 2 wraps\n"
				     "11111111111111111 1 too long a number\n"
				     "3000 10 \n"
				     "4000 10 good");

	assert_null(perf_map_find(map, 0x1000));
	assert_null(perf_map_find(map, UINT64_MAX));
	assert_null(perf_map_find(map, 0x1111111111111111));
	assert_string_equal(perf_map_find(map, 0x4005), "good");
	assert_null(perf_map_find(map, 0x3005));
	perf_map_free(map);
}

static void random_bytes_are_survived(void **state)
{
	static const char alphabet[] = "0123456789abcdefx \n\0\xff";

	srand(11);
	for (int i = 0; i < 2003; i++) {
		char text[64];
		for (size_t j = 0; j < sizeof(text); j++)
			text[j] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		struct perf_map *map = perf_map_parse(text, sizeof(text));
		perf_map_find(map, (u64)rand());
		perf_map_free(map);
	}
}

/* Opens the map of this process, and has it parsed as a worker does. */
static int read_own_map(struct perf_map **map)
{
	struct perf_map_source source;
	auto_close int fd = perf_map_open(getpid(), &source);
	auto_free void *bytes = NULL;
	size_t nr;

	if (fd < 0)
		return fd;
	return worker_run_here(perf_map_task, &fd, NULL, 0, 1 << 20, NULL, NULL, &bytes, &nr)
		       ?: perf_map_decode(bytes, nr, map);
}

static void look_for_own_map(void)
{
	struct perf_map *map;

	assert_int_equal(read_own_map(&map), -EPERM);
}

static bool is_asleep(pid_t pid)
{
	struct proc_status status;

	return proc_status_read(pid, &status) == 0 && status.state == 'S';
}

/* Whether a child that waits for a reader of the pipe `path` got one after `look` was called. */
static bool is_opened_by(void (*look)(void), const char *path)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(open(path, O_WRONLY) < 0);
	while (!is_asleep(child))
		usleep(1000);
	look();
	usleep(100000); /* if it was opened, the child can end */
	bool is_opened = waitpid(child, &status, WNOHANG) == child;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return is_opened;
}

/* Reads the map of this process: a regular file, and files of other types. */
static void only_a_regular_file_is_read(void **state)
{
	struct perf_map *map;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_int_equal(read_own_map(&map), -ENOENT);

	FILE *f = fopen(path, "w");
	fputs("1000 10 code\n", f);
	fclose(f);
	assert_int_equal(read_own_map(&map), 0);
	assert_string_equal(perf_map_find(map, 0x1000), "code");
	perf_map_free(map);

	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(read_own_map(&map), -EPERM);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0); /* a blocking open would hang here */
	assert_int_equal(read_own_map(&map), -EPERM);
	assert_false(is_opened_by(look_for_own_map, path));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_by_its_range),
		cmocka_unit_test(the_later_of_two_lines_for_one_address_wins),
		cmocka_unit_test(garbage_is_skipped),
		cmocka_unit_test(random_bytes_are_survived),
		cmocka_unit_test(only_a_regular_file_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
