/* SPDX-License-Identifier: Apache-2.0 */
/* The search of places for probes: the task, its protocol, and answers that no honest worker gives.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "sym/files/places.h"

#define SELF "/proc/self/exe"

__attribute__((noinline)) int a_place_with_this_name(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

/* A probe like those of systemtap's sys/sdt.h. */
static void with_probe(void)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, 0, 0\n"
			 ".asciz \"sysflame\"\n"
			 ".asciz \"known\"\n"
			 ".asciz \"\"\n"
			 "994: .balign 4\n"
			 ".popsection\n");
}

static const worker_fn tasks[PARSER_TASKS] = { [WORKER_PLACES] = places_task };

static const struct worker_kind kind = PARSER_KIND(tasks);

/* Without workers, then with one. */
static void search_twice(const struct places_query *query, int wanted, struct places *out)
{
	struct workers *w = NULL;

	assert_int_equal(places_search_now(NULL, SELF, query, out), wanted);
	places_fini(out);
	assert_int_equal(workers_new(&kind, &w), 0);
	assert_int_equal(places_search_now(w, SELF, query, out), wanted);
	workers_free(w);
}

static void a_worker_finds_functions_by_their_names(void **state)
{
	const struct places_query query = {
		.kind = PLACES_FUNCTIONS,
		.names = { "nowhere", "a_place_with_this_name", "main", "neither" },
		.nr_names = 4,
		.nr_alternatives = 2,
	};
	auto_places struct places found = { 0 };
	unsigned char in_file[8];

	assert_int_equal(a_place_with_this_name(3), 3);
	search_twice(&query, 0, &found);
	assert_int_equal(found.nr, 2);
	assert_true(found.at[0].size > 0 && found.at[1].size > 0);
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, in_file, 8, (off_t)found.at[0].file_off), 8);
	close(fd);
	assert_memory_equal(in_file, (const unsigned char *)a_place_with_this_name, 8);
	assert_true(found.is_program && found.has_exports);
	assert_true(found.code_start <= found.at[0].file_off &&
		    found.at[0].file_off < found.code_end);
}

static void a_missing_function_comes_with_similar_names(void **state)
{
	const struct places_query query = {
		.kind = PLACES_FUNCTIONS,
		.names = { "a_place_with_thus_name" },
		.nr_names = 1,
		.nr_near = 2,
	};
	auto_places struct places found = { 0 };

	search_twice(&query, -ENOENT, &found);
	assert_string_equal(found.near[0], "a_place_with_this_name");
}

static void a_worker_finds_probes_built_into_a_program(void **state)
{
	struct places_query query = {
		.kind = PLACES_USDT, .names = { "sysflame:known" }, .nr_names = 1, .nr_near = 2
	};
	auto_places struct places found = { 0 };

	with_probe();
	search_twice(&query, 0, &found);
	assert_int_equal(found.nr, 1);
	assert_int_not_equal(found.at[0].file_off, 0);
	places_fini(&found);
	query.names[0] = "sysflame:knowm";
	search_twice(&query, -ENOENT, &found);
	assert_string_equal(found.near[0], "sysflame:known");
}

static void a_place_without_a_function_has_no_instructions(void **state)
{
	const struct places_query query = { .kind = PLACES_INSTRUCTION, .file_off = 0 };
	auto_places struct places found = { 0 };

	search_twice(&query, -ENODATA, &found);
	assert_int_equal(found.nr, 0);
}

static void a_question_that_is_too_long_is_refused(void **state)
{
	char *name = xmalloc(2 * WORKER_TEXT_MAX);
	auto_places struct places found = { 0 };

	memset(name, 'a', 2 * WORKER_TEXT_MAX);
	name[2 * WORKER_TEXT_MAX - 1] = '\0';
	const struct places_query query = { .kind = PLACES_FUNCTIONS,
					    .names = { name },
					    .nr_names = 1 };
	assert_int_equal(places_search_now(NULL, SELF, &query, &found), -ENAMETOOLONG);
	free(name);
}

static int no_open(void *ctx, u32 place, const char *path)
{
	return -ENOENT;
}

/* Parameters that the recorder never sends, on any file. */
static void a_damaged_request_is_refused(void **state)
{
	const u32 wrong[][6] = {
		/* kind, names, alternatives, near, offset */
		{ PLACES_FUNCTIONS, 0, 1, 0 },       { PLACES_FUNCTIONS, 1, 0, 0 },
		{ PLACES_FUNCTIONS, 3, 2, 0 },       { PLACES_FUNCTIONS, UINT32_MAX, 1, 0 },
		{ PLACES_USDT, 1, 1, NEAR_MAX + 1 }, { PLACES_FUNCTIONS, 1, 1, 0 }, /* no texts */
	};
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		u32 params[8] = { 0 };
		void *bytes = NULL;
		size_t nr = 0;
		memcpy(params, wrong[i], sizeof(wrong[i]));
		assert_int_equal(worker_run_here(places_task, &fd, params, sizeof(params), 1 << 20,
						 no_open, NULL, &bytes, &nr),
				 -EINVAL);
	}
	close(fd);
}

/* The bytes of an honest answer. */
static void *answer_of(const struct places_query *query, size_t *nr)
{
	struct work *k = NULL;
	void *bytes = NULL;
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);

	assert_int_equal(places_search(NULL, fd, query, &k), 0);
	assert_int_equal(work_result(k, &bytes, nr), 0);
	work_free(k);
	close(fd);
	return bytes;
}

static int decode(const void *bytes, size_t nr, const struct places_query *query)
{
	auto_places struct places found = { 0 };

	return places_decode(bytes, nr, query, &found);
}

static void answers_of_any_form_are_refused(void **state)
{
	struct places_query query = { .kind = PLACES_FUNCTIONS,
				      .names = { "main", "nowhere" },
				      .nr_names = 2 };
	size_t nr;
	u32 *bytes = answer_of(&query, &nr);

	assert_int_equal(decode(bytes, nr, &query), 0);
	for (size_t cut = 0; cut < nr; cut++)
		assert_int_equal(decode(bytes, cut, &query), -EBADMSG);
	query.nr_names = 1; /* more places than were asked for */
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	query.kind = PLACES_INSTRUCTION;
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	query.kind = PLACES_FUNCTIONS;
	query.nr_names = 2;
	bytes[0] = (u32)-EAGAIN; /* the recorder would ask for ever */
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	bytes[0] = 1;
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	bytes[0] = 0;
	bytes[1] = UINT32_MAX; /* the number of places */
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	bytes[1] = 2;
	bytes[2] = UINT32_MAX; /* the length of the names */
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	free(bytes);
}

static void similar_names_end_in_a_nul_and_are_few(void **state)
{
	const struct places_query query = {
		.kind = PLACES_FUNCTIONS, .names = { "mai" }, .nr_names = 1, .nr_near = 1
	};
	auto_str struct str many = { 0 };
	size_t nr;
	char *bytes = answer_of(&query, &nr);
	u32 near_len;

	memcpy(&near_len, bytes + 8, sizeof(near_len));
	assert_true(near_len > 1);
	assert_int_equal(decode(bytes, nr, &query), -ENOENT);
	bytes[nr - 1] = 'x';
	assert_int_equal(decode(bytes, nr, &query), -EBADMSG);
	str_add_bytes(&many, bytes, nr - near_len);
	for (u32 i = 0; i < NEAR_MAX + 1; i++)
		str_add_bytes(&many, "a", 2);
	near_len = 2 * (NEAR_MAX + 1);
	memcpy(many.at + 8, &near_len, sizeof(near_len));
	assert_int_equal(decode(many.at, many.len, &query), -EBADMSG);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_finds_functions_by_their_names),
		cmocka_unit_test(a_missing_function_comes_with_similar_names),
		cmocka_unit_test(a_worker_finds_probes_built_into_a_program),
		cmocka_unit_test(a_place_without_a_function_has_no_instructions),
		cmocka_unit_test(a_question_that_is_too_long_is_refused),
		cmocka_unit_test(a_damaged_request_is_refused),
		cmocka_unit_test(answers_of_any_form_are_refused),
		cmocka_unit_test(similar_names_end_in_a_nul_and_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
