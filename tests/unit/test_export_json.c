/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of other tools in JSON, except those of V8, async-profiler's flame graphs, and texts of
 * JFR. */
#include "test.h"

#include "profile_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export/export.h"
#include "export/read.h"
#include "export/readers/jfr_chunk.h"

/* What `write` writes of a text of stacks has the same stacks when it is read. */
static void assert_survives(int (*write)(const struct profile *p, FILE *out))
{
	static const char stacks[] =
		"java;java/lang/Thread.run_[j];a_[i] 7\nmain;b 3\nmain;b;c 11\n";
	auto_str struct str why = { 0 };
	struct profile *p = read_text(stacks, 0, &why), *again;
	char *wanted = collapsed(p), *text, *got;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(write(p, f), 0);
	fclose(f);
	again = read_text(text, 0, &why);
	got = collapsed(again);
	assert_string_equal(got, wanted);
	free(wanted);
	free(text);
	free(got);
	profile_free(p);
	profile_free(again);
}

#define FRAMES \
	"\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.py\",\"line\":3}]}"

static void our_own_json_has_the_same_stacks(void **state)
{
	assert_survives(speedscope_write);
	assert_survives(firefox_write);
}

/* What `write` writes of a stack has the same weight when it is read. */
static void assert_weight_survives(int (*write)(const struct profile *p, FILE *out), u64 weight,
				   const char *unit)
{
	auto_str struct str why = { 0 };
	struct profile *p = profile_new();
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	profile_add_type(p, "cpu", unit);
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, weight);
	assert_int_equal(write(p, f), 0);
	fclose(f);
	struct profile *again = read_text(text, 0, &why);
	assert_int_equal(profile_total(again, 0), weight);
	free(text);
	profile_free(p);
	profile_free(again);
}

static void large_weights_in_json_stay_exact(void **state)
{
	static const u64 weights[] = { (1ull << 52) + 1, (1ull << 53) - 3, (1ull << 53) - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		assert_weight_survives(speedscope_write, weights[i], "samples");
		assert_weight_survives(speedscope_write, weights[i], "ns");
		assert_weight_survives(firefox_write, weights[i], "samples");
	}
	assert_weight_survives(firefox_write, (1ull << 52) + 1, "ns");
	assert_reads("{" FRAMES
		     ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"none\",\"events\":["
		     "{\"type\":\"O\",\"at\":0,\"frame\":0},"
		     "{\"type\":\"C\",\"at\":4503599627370497,\"frame\":0}]}]}",
		     "a 4503599627370497\n");
}

static void sampled_profiles_of_speedscope_are_threads(void **state)
{
	assert_reads("{" FRAMES ",\"profiles\":["
		     "{\"type\":\"sampled\",\"name\":\"t1\",\"unit\":\"milliseconds\","
		     "\"samples\":[[0],[0,1],[0]],\"weights\":[1,2.5,1]},"
		     "{\"type\":\"sampled\",\"name\":\"t2\",\"unit\":\"milliseconds\","
		     "\"samples\":[[1]],\"weights\":[4]}]}",
		     "a 2000000\na;b 2500000\nb 4000000\n");
}

static void open_frames_of_speedscope_last_until_they_close(void **state)
{
	assert_reads(
		"{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"none\","
		"\"startValue\":10,\"events\":[{\"type\":\"O\",\"at\":10,\"frame\":0},"
		"{\"type\":\"O\",\"at\":13,\"frame\":1},{\"type\":\"C\",\"at\":18,\"frame\":1},"
		"{\"type\":\"C\",\"at\":20,\"frame\":0}]}]}",
		"a 5\na;b 5\n");
}

#define OPEN(frame, at)  "{\"type\":\"O\",\"at\":" at ",\"frame\":" frame "}"
#define CLOSE(frame, at) "{\"type\":\"C\",\"at\":" at ",\"frame\":" frame "}"
#define EVENTED(events)                                                      \
	"{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"none\"," \
	"\"startValue\":0,\"endValue\":31,\"events\":[" events "]}]}"

static void frames_of_speedscope_that_stay_open_last_until_the_end(void **state)
{
	assert_reads(EVENTED(OPEN("0", "2") "," OPEN("1", "5")), "(no stack) 2\na 3\na;b 26\n");
}

static void time_of_speedscope_without_open_frames_has_no_stack(void **state)
{
	assert_reads(EVENTED(OPEN("0", "2") "," CLOSE("0", "5") "," OPEN("0", "12") "," CLOSE(
			     "0", "18")),
		     "(no stack) 22\na 9\n");
}

static void frames_of_speedscope_that_close_in_the_wrong_order_are_refused(void **state)
{
	assert_refused(EVENTED(OPEN("0", "2") "," OPEN("1", "5") "," CLOSE("0", "7")),
		       "closes a frame that is not the last one opened");
	assert_refused(EVENTED(CLOSE("0", "2")), "closes a frame that is not open");
	assert_refused(EVENTED(OPEN("0", "2") "," OPEN("1", "1")), "goes back in time");
	assert_refused(EVENTED("{\"type\":\"X\",\"at\":1,\"frame\":0}"), "does not exist");
}

static void a_damaged_speedscope_file_is_refused(void **state)
{
	assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\","
		       "\"samples\":[[2]],\"weights\":[1]}]}",
		       "profile \"x\": a stack has a frame that does not exist");
	assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0]],"
		       "\"weights\":[-1]}]}",
		       "a weight is no number from 0");
	assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0]],"
		       "\"weights\":[9e15,1]}]}",
		       "not as many weights");
	assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"events\":["
		       "{\"type\":\"C\",\"at\":1,\"frame\":0}]}]}",
		       "closes a frame");
	assert_refused("{" FRAMES ",\"profiles\":[{\"type\":\"x\"}]}", "its type is not known");
}

static void raw_profiles_of_firefox_are_read(void **state)
{
	assert_reads(
		"{\"meta\":{\"version\":24},\"threads\":[{\"name\":\"Main\",\"pid\":7,\"tid\":8,"
		"\"stringTable\":[\"outer\",\"inner\"],"
		"\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0],[1]]},"
		"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},"
		"\"data\":[[null,0],[0,1]]},"
		"\"samples\":{\"schema\":{\"stack\":0,\"time\":1},"
		"\"data\":[[1,0.5],[0,1.5],[1,2.5],[null,3]]}}]}",
		"(no stack) 1\nouter 1\nouter;inner 2\n");
	assert_refused(
		"{\"meta\":{},\"threads\":[{\"stackTable\":{\"frame\":[0,0],\"prefix\":[1,0]},"
		"\"samples\":{\"stack\":[1]}}]}",
		"a stack is damaged");
}

static void samples_of_firefox_without_a_stack_keep_their_weight(void **state)
{
	assert_reads(
		"{\"meta\":{},\"threads\":[{\"stringArray\":[\"f\"],\"funcTable\":{\"name\":[0]},"
		"\"frameTable\":{\"func\":[0]},"
		"\"stackTable\":{\"frame\":[0],\"prefix\":[null]},"
		"\"samples\":{\"stack\":[0,null,0,null],\"weight\":[1,2,3,5]}}]}",
		"(no stack) 7\nf 4\n");
}

/* A profile as the Firefox Profiler saves it: tables that all threads share. */
#define SAVED_BY_FIREFOX(version, frame, stacks)                                              \
	"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":" version "},"              \
	"\"libs\":[{\"name\":\"y.so\"},{\"name\":\"z.so\"}],\"shared\":{"                     \
	"\"stringArray\":[\"outer\",\"0x11f\",\"run\",\"/src/A.java\"],"                      \
	"\"sources\":{\"filename\":[3]},\"resourceTable\":{\"name\":[0]},"                    \
	"\"funcTable\":{\"name\":[0,1,2],\"resource\":[-1,-1,-1],\"source\":[null,null,0]},"  \
	"\"frameTable\":{\"func\":[0,1,2]" frame "},\"stackTable\":{\"frame\":[0,1,2]" stacks \
	"}},"                                                                                 \
	"\"threads\":[{\"name\":\"Main\",\"pid\":\"7\",\"tid\":8,"                            \
	"\"samples\":{\"stack\":[2,1,0,2],\"weight\":[1,2,3,5],\"weightType\":\"samples\"}}]}"

/* Since version 66 a stack has the distance to its parent, since 70 a frame has its library. */
static void profiles_of_the_newest_firefox_profiler_are_read(void **state)
{
	assert_reads(SAVED_BY_FIREFOX("66", "", ",\"prefixOffset\":[0,1,2]"),
		     "outer 3\nouter;0x11f 2\nouter;run 6\n");
	assert_reads(SAVED_BY_FIREFOX("70", ",\"lib\":[-1,1,-1]", ",\"prefixOffset\":[0,1,1]"),
		     "outer 3\nouter;[z.so]+0x11f 2\nouter;[z.so]+0x11f;run 6\n");
	assert_refused(SAVED_BY_FIREFOX("70", "", ",\"prefixOffset\":[0,2,1]"),
		       "a stack is damaged");
	assert_refused(SAVED_BY_FIREFOX("70", "", ",\"prefixOffset\":[0,1,-1]"),
		       "a stack is damaged");
}

/* A newer version may mean something else by the same names. */
static void newer_versions_of_firefox_are_refused(void **state)
{
	assert_refused(SAVED_BY_FIREFOX("71", "", ",\"prefixOffset\":[0,1,2]"),
		       "version 71 of the Firefox Profiler's format, and this sysflame knows "
		       "versions up to 70");
	assert_refused(SAVED_BY_FIREFOX("1e9", "", ",\"prefixOffset\":[0,1,2]"),
		       "version 1000000000");
	assert_refused("{\"meta\":{\"version\":36},\"threads\":[],\"processes\":["
		       "{\"meta\":{\"version\":37},\"threads\":[]}]}",
		       "version 37 of the format in which Firefox records");
	assert_refused(SAVED_BY_FIREFOX("70", "", ",\"parent\":[null,0,1]"),
		       "its stacks have no parents");
}

static void the_source_of_a_raw_frame_is_no_part_of_its_name(void **state)
{
	assert_reads("{\"meta\":{\"version\":36},\"threads\":[{\"name\":\"Main\","
		     "\"stringTable\":[\"f (https://a.b/c.js:1:2)[4]\",\"a[12]\",\"(b)[x]\"],"
		     "\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0],[1],[2]]},"
		     "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},"
		     "\"data\":[[null,0],[0,1],[1,2]]},"
		     "\"samples\":{\"schema\":{\"stack\":0},\"data\":[[2]]}}]}",
		     "f (https://a.b/c.js:1:2);a[12];(b)[x] 1\n");
}

static void addresses_without_a_symbol_are_offsets_in_libraries(void **state)
{
	assert_reads("{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":"
		     "{\"typeStrindex\":1,\"unitStrindex\":2},"
		     "\"samples\":[{\"stackIndex\":1,\"values\":[\"7\"]}]}]}]}],"
		     "\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"count\",\"/lib/z.so\"],"
		     "\"mappingTable\":[{},{\"memoryStart\":\"4096\",\"memoryLimit\":\"8192\","
		     "\"fileOffset\":\"256\",\"filenameStrindex\":3}],"
		     "\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"4127\"},"
		     "{\"mappingIndex\":1,\"address\":\"31\"},{\"address\":\"31\"}],"
		     "\"stackTable\":[{},{\"locationIndices\":[1,2,3]}]}}",
		     "[unknown];[z.so]+0x1f;[z.so]+0x11f 7\n");
	assert_reads("{\"meta\":{},\"libs\":[{\"name\":\"z.so\"}],\"threads\":[{"
		     "\"stringArray\":[\"0x11f\",\"main\"],\"resourceTable\":{\"lib\":[0]},"
		     "\"funcTable\":{\"name\":[0,1],\"resource\":[0,-1],\"fileName\":[null,null]},"
		     "\"frameTable\":{\"func\":[0,1]},"
		     "\"stackTable\":{\"frame\":[1,0],\"prefix\":[null,0]},"
		     "\"samples\":{\"stack\":[1]}}]}",
		     "main;[z.so]+0x11f 1\n");
	assert_reads("a 7/7 1.1: PERF_RECORD_MMAP2 7/7: [0x1000(0x1000) @ 0x100 fe:00 1 0]: "
		     "r-xp /lib/z.so\n"
		     "a 7/7 1.2: cycles:\n\t101f [unknown] (/lib/z.so)\n\t9 [unknown] (/lib/y.so)\n"
		     "\t9 [unknown] (/lib/x.so+0x2f)\n\t9 f (/lib/x.so+0x3f)\n"
		     "\t1020 [unknown] ([unknown])\n\n",
		     "a;[unknown];f;[x.so]+0x2f;[y.so];[z.so]+0x11f 1\n");
}

/* The format is determined by the start of the file, which may end anywhere in such a line. */
static void mappings_may_fill_the_start_of_perf_script(void **state)
{
	for (int name_len = 1; name_len <= 80; name_len++) {
		auto_str struct str text = { 0 };

		str_addf(&text, "%0*d 7/7 1.0: PERF_RECORD_MMAP2 7/7: [0x1(0x1) @ 0]: y.so\n",
			 name_len, 1);
		for (int i = 0; i < 97; i++)
			str_addf(&text,
				 "a 7/7 [001] 1.1: PERF_RECORD_MMAP2 7/7: [0x%d000(0x1000) @ 0]: "
				 "z.so\n",
				 i);
		str_add(&text, "a 7/7 1.2: cycles:\n\t9601f [unknown] (/lib/z.so)\n\n");
		assert_reads(text.at, "a;[z.so]+0x1f 1\n");
	}
}

/* A profile of many weights, one for each thread. */
static struct profile *large_profile(u32 nr)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	for (u32 i = 1; i <= nr; i++)
		profile_add(p, node, profile_intern_labels(p, &(struct labels){ .tid = i }), 0, 3);
	return p;
}

/* A collector writes a request in each line. A sum of all weights for each line takes minutes. */
static void many_lines_of_otlp_are_read_in_little_time(void **state)
{
	auto_str struct str text = { 0 }, why = { 0 };
	struct timespec begin, end;
	const u32 nr = 1000003, nr_lines = 10007;
	struct profile *p = large_profile(nr);

	for (u32 i = 0; i < nr_lines; i++)
		str_add(&text, "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
			       "\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},"
			       "\"samples\":[{\"stackIndex\":1,\"values\":[7]}]}]}]}],"
			       "\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"count\",\"f\"],"
			       "\"functionTable\":[{},{\"nameStrindex\":3}],"
			       "\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],"
			       "\"stackTable\":[{},{\"locationIndices\":[1]}]}}\n");
	FILE *f = fmemopen(text.at, text.len, "r");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(profile_read(f, p, &why), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(profile_total(p, 0), 3 * nr + 7 * nr_lines);
	assert_true(end.tv_sec - begin.tv_sec < 30);
	fclose(f);
	profile_free(p);
}

static void the_time_of_otlp_spans_all_its_requests(void **state)
{
	static const struct {
		int start_ns, duration_ns;
	} all[] = { { 5000, 1000 }, { 2000, 500 }, { 5100, 300 } };
	auto_str struct str text = { 0 }, why = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		str_addf(&text,
			 "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
			 "\"sampleType\":{},\"timeUnixNano\":\"%d\",\"durationNano\":%d}]}]}],"
			 "\"dictionary\":{\"stringTable\":[\"\"]}}\n",
			 all[i].start_ns, all[i].duration_ns);
	struct profile *p = read_text(text.at, 0, &why);
	assert_int_equal(p->start_wall_ns, 2000);
	assert_int_equal(p->duration_ns, 4000);
	profile_free(p);
}

/* Newer profiles of Firefox share their tables. A copy for each thread takes minutes. */
static void many_threads_of_firefox_share_their_tables(void **state)
{
	auto_str struct str text = { 0 }, why = { 0 };
	struct timespec begin, end;
	const u32 nr = 300007;

	str_add(&text,
		"{\"meta\":{},\"shared\":{\"stringArray\":[\"f\"],\"funcTable\":{\"name\":[0]},"
		"\"frameTable\":{\"func\":[0]},\"stackTable\":{\"prefix\":[null");
	for (u32 i = 1; i < nr; i++)
		str_add(&text, ",0");
	str_add(&text, "],\"frame\":[0");
	for (u32 i = 1; i < nr; i++)
		str_add(&text, ",0");
	str_add(&text, "]}},\"threads\":[{\"samples\":{\"stack\":[0,1,7]}}");
	for (u32 i = 1; i < nr; i++)
		str_add(&text, ",{\"samples\":{\"stack\":[7]}}");
	str_add(&text, "]}");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	struct profile *p = read_text(text.at, 0, &why);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 30);
	char *got = collapsed(p);
	assert_string_equal(got, "f 1\nf;f 300008\n");
	free(got);
	profile_free(p);
}

/* JSON may escape any character. */
static void names_of_threads_in_json_become_clean_and_short(void **state)
{
	static const char speedscope[] =
		"{\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":["
		"{\"type\":\"sampled\",\"unit\":\"none\",\"name\":\"%1$s\",\"samples\":[[0]],"
		"\"weights\":[1]},{\"type\":\"sampled\",\"unit\":\"none\",\"name\":\"b\","
		"\"samples\":[],\"weights\":[]}]}";
	static const char firefox[] =
		"{\"meta\":{},\"threads\":[{\"name\":\"%1$s\",\"processName\":\"%1$s\","
		"\"stringArray\":[\"f\"],\"funcTable\":{\"name\":[0]},"
		"\"frameTable\":{\"func\":[0]},\"stackTable\":{\"frame\":[0],\"prefix\":[null]},"
		"\"samples\":{\"stack\":[0]}}]}";
	static const char *const formats[] = { speedscope, firefox };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		auto_str struct str name = { 0 }, text = { 0 }, why = { 0 };
		str_add(&name, "a\\u001b");
		while (name.len < 1000)
			str_add_char(&name, 'n');
		str_addf(&text, formats[i], name.at);
		struct profile *p = read_text(text.at, 0, &why);
		const struct labels *l = &p->labels.at[p->weights.at[0].labels];
		assert_int_equal(strlen(l->thread), 256);
		assert_memory_equal(l->thread, "a\xef\xbf\xbdnn", 6);
		assert_true(formats[i] == speedscope || !strcmp(l->comm, l->thread));
		profile_free(p);
	}
}

static void other_files_are_named(void **state)
{
	assert_refused("[{\"ph\":\"X\"}]", "a trace of Chrome");
	assert_refused("{\"traceEvents\":[]}", "a trace of Chrome");
	assert_refused("[]", "an empty list");
	assert_refused("[{\"a\":1}]", "none of the known formats");
	assert_refused("{\"a\":1}", "none of the known formats");
	assert_refused("{\"a\":", "damaged JSON");
	assert_refused("heap profile: 1: 2 [3: 4] @ heapprofile\n", "go tool pprof -proto");
	assert_refused("<svg></svg>", "this is a picture");
	assert_refused("<!DOCTYPE html><p>async-profiler heatmap",
		       "heat maps of async-profiler are not read; convert the recording");
	assert_refused("<!DOCTYPE html><p>async-profiler", "only flame graphs of async-profiler");
	assert_reads("[unknown] 3\n", "[unknown] 3\n");
}

/* Names share their start with the previous one: '!' is 1 character, ' ' none. */
static void flame_graphs_of_async_profiler_are_read(void **state)
{
	static const char page[] =
		"<!DOCTYPE html>\n\tconst units = 'samples';\n"
		"const cpool = [\n'all',\n' java/A.run',\n'\\'other',\n' it\\'s'\n];\n"
		"unpack(cpool);\n\n"
		"n(3,20)\nu(9,15)\nu(26,5)\nn(29,7)\nf(29,1,15,5)\n"
		"search();\n";

	assert_reads(page, "it's 5\njava/A.run 3\njava/A.run;it's 12\n");
	assert_refused(
		"<!DOCTYPE html>const cpool = [\n'all'\n];\nunpack(cpool);\nn(3,1)\nu(3,2)\n",
		"wider than their caller");
	assert_refused("<!DOCTYPE html>const cpool = [\n'all'\n];\nunpack(cpool);\nn(99,1)\n",
		       "no parent or no name");
	assert_refused("<!DOCTYPE html>const cpool = ['all',\n'~x'];\nunpack(cpool);\n",
		       "shares more than");
}

/* A long text may be shared by many constants. The rest of a frame's name is cut off anyway. */
static void a_text_of_a_recording_is_cut_when_it_is_read(void **state)
{
	static const char start[] = { 3, (char)0x80, (char)0x80, 0x10 }; /* UTF-8, 256 KB */
	struct str text = { 0 }, out = { 0 };
	struct jfr_class class = { .plain = JFR_TEXT };
	struct jfr_chunk chunk = { .steps_left = 100 };

	str_add_bytes(&text, start, sizeof(start));
	while (text.len < sizeof(start) + (256 << 10))
		str_add_char(&text, 'n');
	for (char coding = 3; coding <= 5; coding++) {
		struct jfr_value v = { .class = &class,
				       .at = { (u8 *)text.at, (u8 *)text.at + text.len, false } };
		text.at[0] = coding;
		str_clear(&out);
		assert_true(jfr_text(&chunk, &v, &out));
		assert_int_equal(out.len, 65538);
		assert_true(jfr_skip(&chunk, &v));
		assert_ptr_equal(v.at.at, text.at + text.len);
	}
	str_fini(&text);
	str_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_json_has_the_same_stacks),
		cmocka_unit_test(large_weights_in_json_stay_exact),
		cmocka_unit_test(sampled_profiles_of_speedscope_are_threads),
		cmocka_unit_test(open_frames_of_speedscope_last_until_they_close),
		cmocka_unit_test(frames_of_speedscope_that_stay_open_last_until_the_end),
		cmocka_unit_test(time_of_speedscope_without_open_frames_has_no_stack),
		cmocka_unit_test(frames_of_speedscope_that_close_in_the_wrong_order_are_refused),
		cmocka_unit_test(a_damaged_speedscope_file_is_refused),
		cmocka_unit_test(raw_profiles_of_firefox_are_read),
		cmocka_unit_test(samples_of_firefox_without_a_stack_keep_their_weight),
		cmocka_unit_test(profiles_of_the_newest_firefox_profiler_are_read),
		cmocka_unit_test(newer_versions_of_firefox_are_refused),
		cmocka_unit_test(the_source_of_a_raw_frame_is_no_part_of_its_name),
		cmocka_unit_test(mappings_may_fill_the_start_of_perf_script),
		cmocka_unit_test(many_lines_of_otlp_are_read_in_little_time),
		cmocka_unit_test(the_time_of_otlp_spans_all_its_requests),
		cmocka_unit_test(many_threads_of_firefox_share_their_tables),
		cmocka_unit_test(names_of_threads_in_json_become_clean_and_short),
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(a_text_of_a_recording_is_cut_when_it_is_read),
		cmocka_unit_test(addresses_without_a_symbol_are_offsets_in_libraries),
		cmocka_unit_test(flame_graphs_of_async_profiler_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
