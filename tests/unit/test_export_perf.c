/* SPDX-License-Identifier: Apache-2.0 */
/* Output of `perf script`. */
#include "test.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "export/read.h"
#include "export/readers/input.h"

static int read_bytes(struct str *bytes, struct profile *p, struct str *why)
{
	FILE *f = fmemopen(bytes->at, bytes->len, "r");
	int err = profile_read(f, p, why);

	fclose(f);
	str_fini(bytes);
	return err;
}

/*
 * Expects two samples of a thread "C1 thread" with the frames "leaf" and "root". Period 0: none
 * given.
 */
static void assert_is_perf(const char *header, const char *heading, u32 tid, u64 period)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, header);
	for (int i = 0; i < 2; i++)
		str_addf(&bytes, "%s\n\t    7f6d leaf+0x1 (/lib/a b.so)\n\t  80 root (inlined)\n\n",
			 heading);
	if (read_bytes(&bytes, p, &why))
		fail_msg("'%s': %s", heading, why.at);
	assert_int_equal(p->weights.nr, p->types.nr);
	assert_int_equal(p->types.nr, period ? 2 : 1);
	assert_int_equal(profile_total(p, 0), period ? 2 * period : 2);
	assert_int_equal(profile_total(p, p->types.nr - 1), 2);
	assert_string_equal(p->types.at[p->types.nr - 1].unit, "samples");
	assert_int_equal(p->labels.at[0].tid, tid);
	assert_string_equal(p->labels.at[0].thread, "C1 thread");
	node_id leaf = p->weights.at[0].node;
	assert_string_equal(frames_get(p->frames, p->nodes.at[leaf].frame)->name, "leaf");
	profile_free(p);
}

static void perf_script_may_omit_fields_with_f(void **state)
{
	assert_is_perf("", "C1 thread 12 [000] 40113.616058:   10101010 cpu-clock: ", 12, 10101010);
	assert_is_perf("", "C1 thread 11/12 40113.616058: cpu-clock:u: ", 12, 0);
	assert_is_perf("", "C1 thread 12 40113.616058: ", 12, 0);
	assert_is_perf("", "C1 thread 12 40113.616058:         17 ", 12, 17);
	assert_is_perf("", "C1 thread 11/12 cpu-clock: ", 12, 0);
	assert_is_perf("", "C1 thread 11/12 [001]   10101010 cycles:P: ", 12, 10101010);
	assert_is_perf("", "C1 thread 11/12   10101010 sched:sched_switch: ", 12, 10101010);
	assert_is_perf("", "C1 thread 12 cpu-clock: ", 12, 0);
	assert_is_perf("", "C1 thread    12          7        page-faults: ", 12, 7);
	assert_is_perf("", "C1 thread 12 1234567890        page-faults: ", 12, 1234567890);
}

/* Without -g perf pads the command, and the frame is on the line of its sample. */
static void perf_script_without_g_keeps_ids_and_periods(void **state)
{
	static const char *const ids[] = { "   12", "11/12" };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct profile *p = profile_new();
		struct str bytes = { 0 };
		auto_str struct str why = { 0 };
		for (int nr = 0; nr < 2; nr++)
			str_addf(&bytes,
				 "       C1 thread %s     250000 cycles:  ffffffff81000000 f "
				 "(k.ko)\n",
				 ids[i]);
		assert_int_equal(read_bytes(&bytes, p, &why), 0);
		assert_int_equal(p->types.nr, 2);
		assert_int_equal(profile_total(p, 0), 500000);
		assert_int_equal(profile_total(p, 1), 2);
		assert_int_equal(p->labels.at[0].tid, 12);
		assert_string_equal(p->labels.at[0].thread, "C1 thread");
		profile_free(p);
	}
}

/* Expects the PID of a sample, and the name of its frame in a library that process 7 has mapped. */
static void assert_process(const char *ids, u32 pid, const char *name)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_addf(&bytes,
		 "a 7/7 1.1: PERF_RECORD_MMAP2 7/7: [0x1000(0x1000) @ 0x100 fe:00 1 0]: "
		 "r-xp /lib/z.so\na %s 1.2: cycles:\n\t101f [unknown] (/lib/z.so)\n\n",
		 ids);
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	const struct weight *w = &p->weights.at[0];
	assert_int_equal(p->labels.at[w->labels].pid, pid);
	assert_string_equal(frames_get(p->frames, p->nodes.at[w->node].frame)->name, name);
	profile_free(p);
}

/* perf prints no PID by default. */
static void a_lone_number_of_perf_script_is_a_tid(void **state)
{
	assert_process("7/8", 7, "[z.so]+0x11f");
	assert_process("8", 0, "[z.so]");
	assert_process("7", 0, "[z.so]+0x11f"); /* the main thread */
}

static void perf_script_samples_weigh_their_period_in_the_events_unit(void **state)
{
	static const struct {
		const char *event, *type, *unit;
	} all[] = {
		{ "cycles:uppp", "cycles", "events" },
		{ "cpu-clock", "cpu-clock", "ns" },
		{ "page-faults:u", "page-faults", "faults" },
		{ "sched:sched_switch", "sched:sched_switch", "hits" },
		{ "sched:sched_stat_sleep", "sched:sched_stat_sleep", "ns" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *p = profile_new();
		struct str bytes = { 0 };
		auto_str struct str why = { 0 };
		str_addf(&bytes, "a 1 2.3:  1 %s: \n\t7f light\n\na 1 2.4: 499 %s: \n\t7f heavy\n",
			 all[i].event, all[i].event);
		assert_int_equal(read_bytes(&bytes, p, &why), 0);
		assert_int_equal(p->types.nr, 2);
		assert_string_equal(p->types.at[0].name, all[i].type);
		assert_string_equal(p->types.at[0].unit, all[i].unit);
		assert_int_equal(profile_total(p, 0), 500);
		assert_int_equal(profile_total(p, 1), 2);
		profile_free(p);
	}
}

/* A class generated by the JVM has an address in its name. */
static void perf_script_has_names_that_contain_offsets(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes,
		"java 1 2.3: cpu-clock: \n\t7f void A$$Lambda+0x7f.run() (/tmp/perf-1.map)\n"
		"\t7f f(int)+0x1f (/lib/a.so)\n");
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	node_id leaf = p->weights.at[0].node;
	assert_string_equal(frames_get(p->frames, p->nodes.at[leaf].frame)->name,
			    "void A$$Lambda+0x7f.run()");
	leaf = p->nodes.at[leaf].parent;
	assert_string_equal(frames_get(p->frames, p->nodes.at[leaf].frame)->name, "f(int)");
	profile_free(p);
}

/* Expects the names of a stack from its leaf on, with their kinds. */
static void assert_frames(struct profile *p, const struct frame *wanted)
{
	for (node_id n = p->weights.at[0].node; p->nodes.at[n].parent; n = p->nodes.at[n].parent) {
		const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);
		assert_string_equal(f->name, wanted->name);
		assert_string_equal(f->module, "");
		assert_int_equal(f->kind, wanted->kind);
		wanted++;
	}
	assert_null(wanted->name);
}

static void perf_script_frames_of_maps_are_recognised_as_java(void **state)
{
	static const struct frame frames[] = {
		{ .name = "void Spin.main(java.lang.String[])", .kind = FRAME_C2 },
		{ .name = "Lio/netty/Loop;::run", .kind = FRAME_C2 },
		{ .name = "a.b.C.m", .kind = FRAME_C2 },
		{ .name = "La/D;::o", .kind = FRAME_INLINED },
		{ .name = "La/C;::n", .kind = FRAME_INLINED },
		{ .name = "La/B;::m", .kind = FRAME_C2 },
		{ .name = "Interpreter", .kind = FRAME_INTERPRETED },
		{ .name = "StubRoutines (1)", .kind = FRAME_STUB },
		{ .name = "JS:*spin /app/n.js:2:14", .kind = FRAME_NATIVE },
		{ .name = "BytecodeHandler:LdaConstant.Wide", .kind = FRAME_NATIVE },
		{ 0 },
	};
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, "java 1 2.3: cpu-clock: \n");
	for (const struct frame *f = frames; f->name; f++)
		if (!strcmp(f->name, "La/D;::o"))
			str_add(&bytes,
				"\t7f La/B;::m->La/C;::n->La/D;::o+0x7 (/tmp/perf-1.map)\n");
		else if (f->kind != FRAME_INLINED && strcmp(f->name, "La/B;::m") != 0)
			str_addf(&bytes, "\t7f %s+0x7 (/tmp/perf-1.map)\n", f->name);
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_frames(p, frames);
	profile_free(p);
}

/* Expects the name, the kind and the module of a frame, and the frame itself only once. */
static void assert_perf_frames(const char *const *lines, const char *name, enum frame_kind kind,
			       const char *module)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };
	u64 nr = 0;

	for (; lines[nr]; nr++)
		str_addf(&bytes, "java 1 2.3: cpu-clock: \n\t7f %s\n\n", lines[nr]);
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_int_equal(p->weights.nr, 1);
	assert_int_equal(p->weights.at[0].value, nr);
	const struct frame *f = frames_get(p->frames, p->nodes.at[p->weights.at[0].node].frame);
	assert_string_equal(f->name, name);
	assert_string_equal(f->module, module);
	assert_int_equal(f->kind, kind);
	profile_free(p);
}

static void perf_script_has_files_with_parentheses(void **state)
{
	static const char *const deleted[] = { "malloc+0x1d (/l/libc.so.6 (deleted))",
					       "malloc+0x2f (/l/libc.so.6 (deleted))",
					       "malloc (/l/libc.so.6 (deleted)+0x9f)",
					       "malloc+0x2f (/l/libc.so.6)", NULL };
	static const char *const libjvm[] = { "f(int (*)(char))+0x1 (/j (x)/libjvm.so (deleted))",
					      NULL };
	static const char *const memfd[] = { "[unknown] (/memfd:doublemapper (deleted)+0x7)",
					     NULL };
	static const char *const folder[] = { "g+0x1d (/opt/App (x86)/lib.so)", NULL };
	static const char *const open[] = { "operator()(int)+0x1d (/opt/a(b/lib.so)", NULL };
	static const char *const close[] = { "h+0x1d (/opt/a)b/lib.so)", NULL };

	assert_perf_frames(deleted, "malloc", FRAME_NATIVE, "/l/libc.so.6");
	assert_perf_frames(libjvm, "f(int (*)(char))", FRAME_JVM, "/j (x)/libjvm.so");
	assert_perf_frames(memfd, "[memfd:doublemapper]+0x7", FRAME_NATIVE, "/memfd:doublemapper");
	assert_perf_frames(folder, "g", FRAME_NATIVE, "/opt/App (x86)/lib.so");
	assert_perf_frames(open, "operator()(int)", FRAME_NATIVE, "/opt/a(b/lib.so");
	assert_perf_frames(close, "h", FRAME_NATIVE, "/opt/a)b/lib.so");
}

/* The header is longer than the part of a file that determines its format. */
static void perf_script_is_recognised_by_its_header(void **state)
{
	auto_str struct str header = { 0 };

	str_add(&header, "# ========\n# captured on    : Sun Nov 22 15:45:40 2026\n");
	while (header.len < 2 * INPUT_HEAD)
		str_add(&header, "# sibling sockets : 0-1\n");
	str_add(&header, "# ========\n#\n");
	assert_is_perf(header.at, "C1 thread 12 [000] 40113.616058: 10101010 cpu-clock: ", 12,
		       10101010);
}

static void text_of_stacks_that_looks_like_perf_is_read_as_text(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, "a 12 b: c;d 5\nmain;x 2\n");
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_int_equal(profile_total(p, 0), 7);
	profile_free(p);
}

static struct profile *read_text(const char *text)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, text);
	if (read_bytes(&bytes, p, &why))
		fail_msg("'%s': %s", text, why.at);
	return p;
}

/* Expects one thread, whose samples have the frame f, and what its two samples weigh. */
static void assert_thread(const char *text, const char *name, u32 tid, const char *event,
			  u64 weight)
{
	auto_profile struct profile *p = read_text(text);

	if (p->labels.nr != 1 || strcmp(p->labels.at[0].thread, name) != 0)
		fail_msg("'%s': the thread is '%s'", text, p->labels.at[p->labels.nr - 1].thread);
	assert_int_equal(p->labels.at[0].tid, tid);
	assert_string_equal(p->types.at[0].name, event);
	assert_int_equal(p->types.nr, weight == 2 ? 1 : 2);
	assert_int_equal(profile_total(p, 0), weight);
	assert_int_equal(p->notes.nr, 0);
	vec_each(w, &p->weights) {
		const char *leaf = frames_get(p->frames, p->nodes.at[w->node].frame)->name;
		assert_string_equal(leaf, strchr(text, '(') ? "f" : name);
	}
}

/* As perf prints them: with -g the frames have lines of their own, without it names are padded. */
static void a_thread_may_have_any_name_in_perf_script(void **state)
{
	static const char *const all[] = {
		"#x",
		"#12 worker",
		"# 1/1 2.5: 3",
		"|x",
		"\tx",
		"x PERF_RECORD_",
		"v 1.2:",
		"cpu 0.5:",
		"5.5:",
		"task 3.14: ",
		"a 12 3.5: x",
		"12",
		"x 12.5: 7 y:",
		"[000] 5",
		"1/2",
		"x 1/1 1.5: 7 y:",
		"",
		"a\nb",
		"c\n\nd",
		"\ta\nz",
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		static const char form[] = "7/8       [001] 40113.616058:    2004008 cpu-clock: ";
		static const char frame[] = "          401182 f+0x2 (/a)";
		auto_str struct str stacks = { 0 }, lines = { 0 }, name = { 0 };
		for (int nr = 0; nr < 2; nr++) {
			str_addf(&stacks, "%s       %s\n\t%s\n\n", all[i], form, frame);
			str_addf(&lines, "%16s       %s %s\n", all[i], form, frame);
		}
		const char *shown = all[i] + strspn(all[i], "\t");
		size_t len = strlen(shown);
		while (len && shown[len - 1] == ' ')
			len--;
		auto_free char *cut = *all[i] ? xstrndup(shown, len) : xstrdup(":8");
		utf8_clean(&name, strchr(all[i], '\n') ? all[i] : cut, 256);
		assert_thread(stacks.at, name.at, 8, "cpu-clock", 4008016);
		assert_thread(lines.at, name.at, 8, "cpu-clock", 4008016);
	}
}

/* Text that a tracepoint prints may look like a sample of another thread. */
static void the_text_of_a_tracepoint_is_no_heading(void **state)
{
	static const char sample[] = "a       7/8       [001] 40113.616058:          1 syscalls:x: "
				     "b       1/1       [001] 40113.616058:          9 cycles: \n"
				     "\t          401182 f+0x2 (/a)\n\n";
	auto_free char *text = xasprintf("%s%s", sample, sample);
	auto_profile struct profile *p = read_text(text);

	assert_int_equal(profile_total(p, 0), 2);
	assert_string_equal(p->types.at[0].name, "syscalls:x");
	assert_string_equal(p->labels.at[0].thread, "a");
}

/* A record's thread may be called like a sample, too. */
static void records_of_perf_are_no_samples(void **state)
{
	auto_profile struct profile *p =
		read_text("x 12.5: 7 y:       7/8       40113.616058: PERF_RECORD_COMM: #a:7/8\n"
			  "#a       7/8       40113.616058:          5 cycles: \n\t          "
			  "401182 f (/a)\n\n");

	assert_int_equal(profile_total(p, 0), 5);
	assert_int_equal(p->types.nr, 2);
	assert_string_equal(p->labels.at[0].thread, "#a");
}

/* What a name could be without perf's other fields; records have shown that lines have a time. */
static void a_part_of_a_name_is_no_sample(void **state)
{
	static const char *const all[] = { "x 1/1 1.5: 7\nz", "x 1/1 1.5: y:\n", "q 12\nr" };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		auto_free char *text =
			xasprintf("a       7/8       40113.616058: PERF_RECORD_COMM: a:7/8\n\n"
				  "%s       7/8       40113.616058:          5 cycles: \n"
				  "\t          401182 f (/a)\n\n",
				  all[i]);
		auto_str struct str name = { 0 };
		auto_profile struct profile *p = read_text(text);
		utf8_clean(&name, all[i], 256);
		assert_int_equal(profile_total(p, 0), 5);
		assert_int_equal(p->types.nr, 2);
		assert_string_equal(p->labels.at[0].thread, name.at);
	}
}

static void assert_note(const struct profile *p, const char *key, u64 value)
{
	const struct note *note = profile_find_note(p, key);

	assert_non_null(note);
	assert_int_equal(note->value, value);
}

static void names_of_files_with_line_ends_lose_no_sample(void **state)
{
	auto_profile struct profile *p =
		read_text("a       7/8       40113.616058: PERF_RECORD_MMAP2 7/8: "
			  "[0x400000(0x1000) @ 0 fe:00 1 "
			  "0]: r-xp /x\nfile\n"
			  "a       7/8       40113.616058:          5 cycles: \n"
			  "\t          401182 f+0x2 (/x\nfile)\n\t          401183 g (/x\nfile)\n\n"
			  "a       7/8       40113.616059:          6 cycles: \n"
			  "\t          401182 f+0x2 (/x\n\nfile of a long name)\n"
			  "\t          401183 g (/x\n\nfile of a long name)\n\n");

	assert_int_equal(profile_total(p, 0), 11);
	assert_int_equal(p->labels.nr, 1);
	const struct frame *leaf = frames_get(p->frames, p->nodes.at[p->weights.at[0].node].frame);
	assert_string_equal(leaf->name, "f");
	assert_string_equal(leaf->module, "/x");
	assert_note(p, "lines_left_out", 5);
	assert_note(p, "stacks_left_out", 1);
}

static void stacks_without_a_readable_sample_are_counted(void **state)
{
	auto_profile struct profile *p =
		read_text("a cpu-clock: \n\t          401182 f (/a)\n\n#a cpu-clock: \n"
			  "\t          401182 f (/a)\n\t          401183 g (/a)\n\n|b cpu-clock: \n"
			  "\t          401182 f (/a)\n");

	assert_int_equal(profile_total(p, 0), 1);
	assert_note(p, "stacks_left_out", 2);
}

static void assert_refused(const char *text, const char *sentence)
{
	auto_profile struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, text);
	assert_true(read_bytes(&bytes, p, &why) < 0);
	assert_string_equal(why.at, sentence);
}

static void lines_of_unknown_kinds_are_refused(void **state)
{
	static const char record[] =
		"a 7/8 40113.616058: PERF_RECORD_MMAP 7/8: [0x4(0x1) @ 0]: x /a";
	auto_free char *statistics = xasprintf(
		"%s\nCPU   THREAD             VAL\n -1    32035          841521\n", record);

	assert_refused(
		"a 1/1 1.0: cycles: \n\t7f f\n\nnonsense in a line\nb 1/1 1.0: cycles: \n\t7f f\n",
		"line 4: neither a sample of perf script nor a frame");
	assert_refused("a 1/1 1.0: cycles: \n\t7f f\n\nnonsense",
		       "line 4: neither a sample of perf script nor a frame");
	assert_refused(statistics, "line 2: neither a sample of perf script nor a frame");
}

/* Expects the names of all types, separated by blanks, and the sum of the first and the third. */
static void assert_events(struct profile *p, const char *names, u64 first, u64 third)
{
	auto_str struct str all = { 0 };

	vec_each(t, &p->types)
		str_addf(&all, "%s%s", t == p->types.at ? "" : " ", t->name);
	assert_string_equal(all.at, names);
	assert_int_equal(profile_total(p, 0), first);
	if (p->types.nr > 2)
		assert_int_equal(profile_total(p, 2), third);
}

static void events_of_several_modifiers_are_not_added_up(void **state)
{
	static const char user[] = "a 1/1 2.3:  5 cycles:u: \n\t7f f\n\n";
	static const char kernel[] = "a 1/1 2.3:  7 cycles:k: \n\t7f f\n\n";
	static const char all[] = "a 1/1 2.3:  9 cycles: \n\t7f f\n\n";
	auto_free char *both = xasprintf("%s%s%s", all, user, user);
	auto_free char *parts = xasprintf("%s%s", user, kernel);
	auto_profile struct profile *p = read_text(both), *q = read_text(parts),
				    *r = read_text(user);
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	assert_events(p, "cycles cycles-samples cycles:u cycles:u-samples", 9, 10);
	assert_events(q, "cycles:u cycles:u-samples cycles:k cycles:k-samples", 5, 7);
	assert_string_equal(q->types.at[2].unit, "events");
	assert_events(r, "cycles cycles-samples", 5, 0);
	str_add(&bytes, kernel);
	assert_int_equal(read_bytes(&bytes, r, &why), 0); /* another file */
	assert_events(r, "cycles cycles-samples", 12, 0);
}

/* perf prints a TID with "%7d " and a period with "%10lu ". */
static void numbers_of_perf_script_are_known_by_their_width(void **state)
{
	static const struct {
		const char *heading, *name, *event;
		u32 tid;
		u64 weight;
	} all[] = {
		{ "t: 1/2   16175    2004008 \n\t7f f (/a)\n\n", "t: 1/2", "events", 16175,
		  4008016 },
		{ "t: 1/2   16174/16175      2004008 \n\t7f f (/a)\n\n", "t: 1/2", "events", 16175,
		  4008016 },
		{ "t    2004008 \n\t7f f (/a)\n\n", "t", "events", 0, 4008016 },
		{ "t    2004008 cpu-clock: \n\t7f f (/a)\n\n", "t", "cpu-clock", 0, 4008016 },
		{ "t: 1/2   16175 cpu-clock: \n\t7f f (/a)\n\n", "t: 1/2", "cpu-clock", 16175, 2 },
		{ "t 40113.616058:    2004008           401182 f (/a)\n", "t", "events", 0,
		  4008016 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		auto_free char *text = xasprintf("%s%s", all[i].heading, all[i].heading);
		assert_thread(text, all[i].name, all[i].tid, all[i].event, all[i].weight);
	}
}

/* Without the address of a sample perf pads the name, and a blank ends the line. */
static void lists_of_threads_are_no_text_of_stacks(void **state)
{
	static const char *const all[] = { "   16175 ", " 16174/16175   ", "   16175 cpu-clock: " };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		auto_free char *text =
			xasprintf("%16s %s\n%16s %s\n", "t: 1/2", all[i], "t: 1/2", all[i]);
		assert_thread(text, "t: 1/2", 16175, i == 2 ? "cpu-clock" : "samples", 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_script_may_omit_fields_with_f),
		cmocka_unit_test(perf_script_without_g_keeps_ids_and_periods),
		cmocka_unit_test(a_lone_number_of_perf_script_is_a_tid),
		cmocka_unit_test(perf_script_samples_weigh_their_period_in_the_events_unit),
		cmocka_unit_test(perf_script_has_names_that_contain_offsets),
		cmocka_unit_test(perf_script_frames_of_maps_are_recognised_as_java),
		cmocka_unit_test(perf_script_has_files_with_parentheses),
		cmocka_unit_test(perf_script_is_recognised_by_its_header),
		cmocka_unit_test(text_of_stacks_that_looks_like_perf_is_read_as_text),
		cmocka_unit_test(a_thread_may_have_any_name_in_perf_script),
		cmocka_unit_test(the_text_of_a_tracepoint_is_no_heading),
		cmocka_unit_test(records_of_perf_are_no_samples),
		cmocka_unit_test(a_part_of_a_name_is_no_sample),
		cmocka_unit_test(names_of_files_with_line_ends_lose_no_sample),
		cmocka_unit_test(stacks_without_a_readable_sample_are_counted),
		cmocka_unit_test(lines_of_unknown_kinds_are_refused),
		cmocka_unit_test(events_of_several_modifiers_are_not_added_up),
		cmocka_unit_test(numbers_of_perf_script_are_known_by_their_width),
		cmocka_unit_test(lists_of_threads_are_no_text_of_stacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
