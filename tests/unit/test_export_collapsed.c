/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/read.h"
#include "profile_text.h"

struct reading {
	struct profile *p;
	struct str why;
	int err;
};

static struct reading read_bytes(const char *text, size_t len)
{
	struct reading r = { .p = profile_new() };
	FILE *f = len ? fmemopen((void *)text, len, "r") : fopen("/dev/null", "r");

	r.err = profile_read(f, r.p, &r.why);
	fclose(f);
	return r;
}

static void done(struct reading *r)
{
	profile_free(r->p);
	str_fini(&r->why);
}

static void assert_refused_with(const char *text, const char *why)
{
	struct reading r = read_bytes(text, strlen(text));

	assert_int_equal(r.err, -EINVAL);
	assert_string_equal(r.why.at, why);
	done(&r);
}

static void equal_stacks_are_added_up(void **state)
{
	assert_reads("a;b 3\na;c 1\na;b 4\na 5\n", "a 5\na;b 7\na;c 1\n");
}

#define NR_LINES 997

static int by_stack(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A stack that begins like `last`, up to a random place, which may be inside a name. */
static char *next_stack(const char *last, u32 *seed)
{
	static const char *const words[] = {
		"a",   "ab", "eight-..", "nine_byte", "sixteen-bytes-..", "more-than-sixteen-bytes",
		"C::m"
	};
	struct str s = { 0 };

	str_add_bytes(&s, last, *seed % (strlen(last) + 1));
	if (!s.len || s.at[s.len - 1] == ';')
		str_add(&s, "x");
	for (u32 depth = (*seed >> 8) % 9; depth > 0; depth--) {
		*seed = *seed * 1664525 + 1013904223;
		str_addf(&s, ";%s", words[(*seed >> 16) % ARRAY_SIZE(words)]);
	}
	*seed = *seed * 1664525 + 1013904223;
	return str_take(&s);
}

/* The common part with the previous line, or with an earlier one, is not parsed again. */
static void lines_with_a_common_start_are_distinguished(void **state)
{
	auto_str struct str text = { 0 }, wanted = { 0 };
	char *stacks[NR_LINES];
	u32 seed = 7;

	for (size_t i = 0; i < NR_LINES; i++) {
		stacks[i] = next_stack(i % 13 ? stacks[i - 1] : "", &seed);
		str_addf(&text, "%s 1\n", stacks[i]);
	}
	qsort(stacks, NR_LINES, sizeof(stacks[0]), by_stack);
	for (size_t i = 0, next; i < NR_LINES; i = next) {
		for (next = i + 1; next < NR_LINES && !strcmp(stacks[i], stacks[next]);)
			next++;
		str_addf(&wanted, "%s %zu\n", stacks[i], next - i);
	}
	assert_reads(text.at, wanted.at);
	for (size_t i = 0; i < NR_LINES; i++)
		free(stacks[i]);
}

static void names_may_contain_spaces_and_lines_may_end_in_any_way(void **state)
{
	assert_reads("operator new(unsigned long);f 3\r\n\n   \nx\t7  \ny 2",
		     "operator new(unsigned long);f 3\nx 7\ny 2\n");
}

static void stacks_without_samples_are_skipped(void **state)
{
	assert_reads("a;b 0\na 1\n", "a 1\n");
}

static void an_empty_file_is_an_empty_profile(void **state)
{
	assert_reads("", "");
}

static void an_empty_frame_and_bad_bytes_get_a_name(void **state)
{
	assert_reads("a;;b 1\nc\xff\x01 2\n", "a;?;b 1\nc\xef\xbf\xbd\xef\xbf\xbd 2\n");
}

static void suffixes_and_java_names_give_the_kind(void **state)
{
	static const struct {
		const char *frame, *name;
		enum frame_kind kind;
	} cases[] = {
		{ "a_[j]", "a", FRAME_C2 },
		{ "a_[i]", "a", FRAME_INLINED },
		{ "a_[1]", "a", FRAME_C1 },
		{ "a_[0]", "a", FRAME_INTERPRETED },
		{ "a_[k]", "a", FRAME_KERNEL },
		{ "a_[x]", "a_[x]", FRAME_NATIVE },
		{ "_[k]", "_[k]", FRAME_NATIVE },
		{ "java/lang/Thread.run", "java/lang/Thread.run", FRAME_C2 },
		{ "/usr/lib/libc.so.6", "/usr/lib/libc.so.6", FRAME_NATIVE },
		{ "[libc.so.6]+0x12", "[libc.so.6]+0x12", FRAME_NATIVE },
		{ "a/B.m(I)V", "a/B.m(I)V", FRAME_C2 },
		{ "a/B.m(La/C|[BI)Ljava/util/Map|_[i]", "a/B.m(La/C|[BI)Ljava/util/Map|",
		  FRAME_INLINED },
		{ "La/B;::m", "La/B;::m", FRAME_C2 },
		{ "La/B;::m(La/C;)La/D;", "La/B;::m(La/C;)La/D;", FRAME_C2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[64];
		snprintf(line, sizeof(line), "%s 1\n", cases[i].frame);
		struct reading r = read_bytes(line, strlen(line));
		const struct frame *f = frames_get(r.p->frames, r.p->nodes.at[1].frame);
		assert_string_equal(f->name, cases[i].name);
		assert_int_equal(f->kind, cases[i].kind);
		done(&r);
	}
}

/* The frames of each stack, from the root on, with the kernel's in parentheses. */
static char *frames_of(const struct profile *p)
{
	struct str all = { 0 };

	vec_each(w, &p->weights) {
		node_id path[16];
		int nr = 0;
		for (node_id n = w->node; n && nr < 16; n = p->nodes.at[n].parent)
			path[nr++] = n;
		while (nr-- > 0) {
			const struct frame *f = frames_get(p->frames, p->nodes.at[path[nr]].frame);
			bool is_kernel = f->kind == FRAME_KERNEL;
			str_addf(&all, "%s%s%s ", is_kernel ? "(" : "", f->name,
				 is_kernel ? ")" : "");
		}
		str_addf(&all, "%llu\n", (unsigned long long)w->value);
	}
	return str_take(&all);
}

static void assert_has_frames(const char *text, const char *wanted)
{
	struct reading r = read_bytes(text, strlen(text));
	char *got = frames_of(r.p);

	assert_int_equal(r.err, 0);
	assert_string_equal(got, wanted);
	free(got);
	done(&r);
}

/* bcc writes names of perf-map-agent, which have semicolons, and "-" before the kernel's frames. */
static void java_methods_of_bcc_are_one_frame_each(void **state)
{
	assert_has_frames("java;La/B;::run;La/c/D;::add;La/B;.f;[La/B;::g 1\n",
			  "java La/B;::run La/c/D;::add La/B;.f [La/B;::g 1\n");
	assert_has_frames("java;La/B;::f(La/C;I)La/D;;LE;::<init>(J)V;x 1\n",
			  "java La/B;::f(La/C;I)La/D; LE;::<init>(J)V x 1\n");
	assert_has_frames("La/B;x;L;y;[;z;La/B 1\nLa/B;::f(I;J)V 2\n",
			  "La/B x L y [ z La/B 1\nLa/B ::f(I J)V 2\n");
	assert_has_frames("java;f;-;entry_SYSCALL_64;do_idle.isra.0 1\n",
			  "java f (entry_SYSCALL_64) (do_idle.isra.0) 1\n");
	assert_has_frames("java;f;-;Integer#+ 1\n-;f 2\nf;- 3\na;-;b;--;c 4\n",
			  "java f - Integer#+ 1\n- f 2\nf - 3\na - b -- c 4\n");
}

/* What follows decides about a frame: the common start of two lines is not enough. */
static void java_methods_of_bcc_are_distinguished_by_the_rest_of_the_line(void **state)
{
	assert_has_frames("a;Lb/C;x 1\na;Lb/C;::x 2\na;Lb/C;x 4\n", "a Lb/C x 5\na Lb/C;::x 2\n");
	assert_has_frames("a;Lb/C;::f(LI;J 1\na;Lb/C;::f(LI;J)V 2\na;Lb/C;::f(LI;J)V;g 4\n",
			  "a Lb/C ::f(LI J 1\na Lb/C;::f(LI;J)V 2\na Lb/C;::f(LI;J)V g 4\n");
	assert_has_frames("a;-;b+c 1\na;-;bc 2\na;-;b+d 4\n", "a - b+c 1\na (bc) 2\na - b+d 4\n");
}

static void a_bad_line_is_named_with_its_number(void **state)
{
	assert_refused_with("a 1x\n", "line 1: no count; a line is \"root;...;leaf COUNT\"");
	assert_refused_with("a 1\n\nb;c x3\nd\n",
			    "line 3: no count; a line is \"root;...;leaf COUNT\"");
	assert_refused_with("a -3\n", "line 1: the count is negative");
	assert_refused_with("a 9007199254740992\n", "line 1: the count is larger than 2^53 - 1");
	assert_refused_with("a 99999999999999999999999\n",
			    "line 1: the count is larger than 2^53 - 1");
	assert_refused_with("a 9007199254740991\nb 1\n",
			    "line 2: the counts add up to more than 2^53 - 1");
	assert_refused_with("a 9007199254741.5\n", "line 1: the count is larger than 2^53 - 1");
	assert_refused_with("a 9007199254741\nb 1.5\n",
			    "line 2: the counts add up to more than 2^53 - 1");
	assert_refused_with(" 7\n", "line 1: there is no stack before the count");
	assert_refused_with("7\n", "line 1: no count; a line is \"root;...;leaf COUNT\"");
}

static void assert_reads_with_note(const char *text, const char *wanted, const char *note)
{
	struct reading r = read_bytes(text, strlen(text));

	assert_int_equal(r.err, 0);
	char *got = collapsed(r.p);
	assert_string_equal(got, wanted);
	assert_string_equal(r.why.at ?: "", note);
	free(got);
	done(&r);
}

static void stray_lines_are_skipped_and_noted(void **state)
{
	assert_reads_with_note("a 1\nb;c\nd 2\n", "a 1\nd 2\n",
			       "lines without a count were skipped: 1, the first is line 2");
	assert_reads_with_note("Profiling for 5 seconds\na 1\nb 2\nDone x\n", "a 1\nb 2\n",
			       "lines without a count were skipped: 2, the first is line 1");
}

static void fractions_become_thousandths(void **state)
{
	struct reading r = read_bytes("a;b 1.5\na 0.0625\na;c 2\n", 23);

	assert_int_equal(r.err, 0);
	assert_string_equal(r.p->types.at[0].unit, "thousandths");
	assert_int_equal(r.p->types.nr, 1);
	assert_int_equal(profile_total(r.p, 0), 3562);
	done(&r);
}

static void a_fraction_may_come_late(void **state)
{
	auto_str struct str text = { 0 };

	for (int i = 0; i < 512; i++)
		str_add(&text, "a 1\n");
	str_add(&text, "b 1.5\nb 0.25\n");
	struct reading r = read_bytes(text.at, text.len);
	assert_int_equal(r.err, 0);
	assert_string_equal(r.p->types.at[0].unit, "thousandths");
	assert_int_equal(r.p->types.nr, 1);
	assert_int_equal(profile_total(r.p, 0), 513750);
	done(&r);
}

static void a_comparison_has_rounded_fractions(void **state)
{
	static const char text[] = "a 1.5 0.25\nb 0 7\n";
	struct reading r = { .p = profile_new() };
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	assert_int_equal(profile_read_diff(f, r.p, &r.why), 0);
	assert_int_equal(profile_total(r.p, 0), 7);
	assert_int_equal(profile_total(r.p, 1), 2);
	assert_string_equal(r.why.at, "fractions were rounded: 2");
	fclose(f);
	done(&r);
}

static void a_byte_order_mark_is_no_part_of_the_first_frame(void **state)
{
	assert_reads("\xef\xbb\xbf"
		     "a;b 7\n",
		     "a;b 7\n");
}

static void a_binary_file_is_refused(void **state)
{
	struct reading r = read_bytes("a\0b 1\n", 6);

	assert_int_equal(r.err, -EINVAL);
	assert_string_equal(r.why.at, "line 1: a zero byte; this is not text of stacks");
	done(&r);
}

/* A pprof file may begin with the bytes 'r' and 'j', but not with 'a'. */
static void a_control_byte_in_a_name_is_no_sign_of_pprof(void **state)
{
	auto_str struct str text = { 0 }, wanted = { 0 };

	assert_reads("a;a\001b 3\n", "a;a\xef\xbf\xbd"
				     "b 3\n");
	assert_reads("r;a\001b 3\n", "r;a\xef\xbf\xbd"
				     "b 3\n");
	assert_reads("j;a\001b 3", "j;a\xef\xbf\xbd"
				   "b 3\n");
	assert_reads("\n\r\nj;a\001b\t3\r\n", "j;a\xef\xbf\xbd"
					      "b 3\n");
	for (int i = 0; i < 1000; i++)
		str_addf(&wanted, ";%d", i);
	str_addf(&text, "r;\001%s 3\n", wanted.at);
	struct reading r = read_bytes(text.at, text.len);
	assert_int_equal(r.err, 0);
	assert_int_equal(profile_total(r.p, 0), 3);
	done(&r);
}

/* Its texts come first, and the last one looks like a count. */
static void pprof_that_looks_like_text_is_pprof(void **state)
{
	static const char pprof[] = "2\0"
				    "2\003cpu"
				    "2\005count"
				    "2\003a 3"
				    "\n\004\010\001\020\002"
				    "\022\004\010\001\020\005"
				    "\"\006\010\001\"\002\010\001"
				    "*\004\010\001\020\003";
	struct reading r = read_bytes(pprof, sizeof(pprof) - 1);

	assert_int_equal(r.err, 0);
	char *got = collapsed(r.p);
	assert_string_equal(got, "a 3 5\n");
	free(got);
	done(&r);
}

static void a_stack_may_have_65535_frames_and_no_more(void **state)
{
	struct str line = { 0 };

	for (int i = 0; i < 65534; i++)
		str_add(&line, "f;");
	str_add(&line, "f 1\n");
	struct reading r = read_bytes(line.at, line.len);
	assert_int_equal(r.err, 0);
	assert_int_equal(r.p->nodes.nr, 65536);
	done(&r);

	str_clear(&line);
	for (int i = 0; i < 65535; i++)
		str_add(&line, "f;");
	str_add(&line, "f 1\n");
	assert_refused_with(line.at, "line 1: deeper than 65,535 frames");
	str_fini(&line);
}

static void a_line_longer_than_64_mib_is_refused(void **state)
{
	size_t len = 67u << 20;
	char *text = xmalloc(len);

	memset(text, 'x', len);
	struct reading r = read_bytes(text, len);
	assert_int_equal(r.err, -EINVAL);
	assert_string_equal(r.why.at, "line 1: longer than 64 MiB; is this a text of stacks?");
	done(&r);
	free(text);
}

/* Long enough that lines cross the reader's block borders and that stacks share starts. */
static void a_large_file_is_read_exactly(void **state)
{
	struct str text = { 0 };
	u64 sum = 0;
	u32 seed = 3;

	for (int i = 0; i < 60000; i++) {
		seed = seed * 1664525 + 1013904223;
		for (u32 depth = 0, path = seed >> 12; depth < 4 + (seed >> 8 & 15);
		     depth++, path /= 3)
			str_addf(&text, "%sframe%u", depth ? ";" : "", path % 3);
		str_addf(&text, " %u\n", i % 7);
		sum += (u64)i % 7;
	}
	struct reading r = read_bytes(text.at, text.len);
	assert_int_equal(r.err, 0);
	assert_int_equal(profile_total(r.p, 0), sum);

	char *once = collapsed(r.p);
	struct reading again = read_bytes(once, strlen(once));
	char *twice = collapsed(again.p);
	assert_string_equal(once, twice);
	free(once);
	free(twice);
	done(&r);
	done(&again);
	str_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_added_up),
		cmocka_unit_test(lines_with_a_common_start_are_distinguished),
		cmocka_unit_test(names_may_contain_spaces_and_lines_may_end_in_any_way),
		cmocka_unit_test(stacks_without_samples_are_skipped),
		cmocka_unit_test(an_empty_file_is_an_empty_profile),
		cmocka_unit_test(an_empty_frame_and_bad_bytes_get_a_name),
		cmocka_unit_test(suffixes_and_java_names_give_the_kind),
		cmocka_unit_test(java_methods_of_bcc_are_one_frame_each),
		cmocka_unit_test(java_methods_of_bcc_are_distinguished_by_the_rest_of_the_line),
		cmocka_unit_test(a_bad_line_is_named_with_its_number),
		cmocka_unit_test(stray_lines_are_skipped_and_noted),
		cmocka_unit_test(fractions_become_thousandths),
		cmocka_unit_test(a_fraction_may_come_late),
		cmocka_unit_test(a_comparison_has_rounded_fractions),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_frame),
		cmocka_unit_test(a_binary_file_is_refused),
		cmocka_unit_test(a_control_byte_in_a_name_is_no_sign_of_pprof),
		cmocka_unit_test(pprof_that_looks_like_text_is_pprof),
		cmocka_unit_test(a_stack_may_have_65535_frames_and_no_more),
		cmocka_unit_test(a_line_longer_than_64_mib_is_refused),
		cmocka_unit_test(a_large_file_is_read_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
