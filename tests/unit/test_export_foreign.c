/* SPDX-License-Identifier: Apache-2.0 */
/* What other tools write in pprof, OTLP and perf's text, and what a hostile one would. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/pb.h"
#include "export/read.h"
#include "export/varint.h"

static int read_bytes(struct str *bytes, struct profile *p, struct str *why)
{
	FILE *f = fmemopen(bytes->at, bytes->len, "r");
	int err = profile_read(f, p, why);

	fclose(f);
	str_fini(bytes);
	return err;
}

static void assert_refused(struct str *bytes, const char *expected)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	assert_int_equal(read_bytes(bytes, p, &why), -EINVAL);
	if (!strstr(why.at, expected))
		fail_msg("'%s', not '%s'", why.at, expected);
	profile_free(p);
}

static void add_number(struct str *out, u32 field, u64 value)
{
	varint_add(out, field << 3);
	varint_add(out, value);
}

static void add_text(struct str *out, u32 field, const char *text)
{
	pb_add_bytes(out, field, text, strlen(text));
}

/* Frees the message. */
static void add_message(struct str *out, u32 field, struct str *message)
{
	pb_add_bytes(out, field, message->at ?: "", message->len);
	str_fini(message);
}

static void fill(char *text, size_t len)
{
	memset(text, 'z', len);
	text[len] = '\0';
}

/* 8 bytes of the file ask for 64 KB of work, and with other lines or modules for as much memory. */
static void names_of_pprof_without_end_are_refused(void **state)
{
	static char name[65536];
	struct str bytes = { 0 }, type = { 0 }, function = { 0 };

	fill(name, 65535);
	add_number(&type, 1, 1);
	add_message(&bytes, 1, &type);
	add_number(&function, 1, 1);
	add_number(&function, 2, 2);
	add_message(&bytes, 5, &function);
	for (u64 id = 1; id < 4200; id++) {
		struct str location = { 0 }, line = { 0 };
		add_number(&line, 1, 1);
		add_number(&location, 1, id);
		add_message(&location, 4, &line);
		add_message(&bytes, 4, &location);
	}
	add_text(&bytes, 6, "");
	add_text(&bytes, 6, "cpu");
	add_text(&bytes, 6, name);
	assert_refused(&bytes, "names of more than 256 MB");
}

static void names_of_otlp_without_end_are_refused(void **state)
{
	static char name[65536];
	struct str bytes = { 0 }, dictionary = { 0 }, function = { 0 };

	fill(name, 65535);
	add_text(&dictionary, 5, "");
	add_text(&dictionary, 5, name);
	add_number(&function, 1, 1);
	add_text(&dictionary, 3, "");
	add_message(&dictionary, 3, &function);
	for (int i = 0; i < 4200; i++) {
		struct str location = { 0 }, line = { 0 };
		add_number(&line, 1, 1);
		add_message(&location, 3, &line);
		add_message(&dictionary, 2, &location);
	}
	add_message(&bytes, 2, &dictionary);
	assert_refused(&bytes, "names of more than 256 MB");
}

/* An attribute of the dictionary: the text of number `key`, with a text of a number or a number. */
static void add_attribute(struct str *dictionary, u64 key, u64 text, u64 number)
{
	struct str attribute = { 0 }, value = { 0 };

	add_number(&attribute, 1, key);
	add_number(&value, text ? 8 : 3, text ?: number);
	add_message(&attribute, 2, &value);
	add_message(dictionary, 6, &attribute);
}

/* One sample of 7, whose attributes are 1 to 3; key and value of the resource are texts 6 and 7. */
static struct str otlp_of_references(void)
{
	static const char *const texts[] = { "",          "thread.name", "worker",    "process.pid",
					     "thread.id", "f",           "host.name", "node-7",
					     "cpu",       "count" };
	struct str bytes = { 0 }, d = { 0 }, resources = { 0 }, scopes = { 0 }, profile = { 0 };
	struct str type = { 0 }, sample = { 0 }, resource = { 0 }, attribute = { 0 }, value = { 0 };

	add_number(&type, 1, 8);
	add_number(&type, 2, 9);
	add_message(&profile, 1, &type);
	add_number(&sample, 1, 1);
	pb_add_bytes(&sample, 2, "\1\2\3", 3);
	pb_add_bytes(&sample, 4, "\7", 1);
	add_message(&profile, 2, &sample);
	add_message(&scopes, 2, &profile);
	add_number(&attribute, 3, 6);
	add_number(&value, 8, 7);
	add_message(&attribute, 2, &value);
	add_message(&resource, 1, &attribute);
	add_message(&resources, 1, &resource);
	add_message(&resources, 2, &scopes);
	add_message(&bytes, 1, &resources);

	/* The attributes stand before the texts that they name. */
	add_text(&d, 6, "");
	add_attribute(&d, 1, 2, 0);
	add_attribute(&d, 3, 0, 17);
	add_attribute(&d, 4, 0, 18);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&d, 5, texts[i]);
	add_text(&d, 3, "");
	pb_add_bytes(&d, 3, "\10\5", 2);
	add_text(&d, 2, "");
	pb_add_bytes(&d, 2, "\x1a\2\10\1", 4);
	add_text(&d, 7, "");
	pb_add_bytes(&d, 7, "\12\1\1", 3);
	add_message(&bytes, 2, &d);
	return bytes;
}

static void texts_of_otlp_may_be_those_of_the_dictionary(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = otlp_of_references();
	auto_str struct str why = { 0 };

	if (read_bytes(&bytes, p, &why))
		fail_msg("%s", why.at);
	assert_string_equal(p->host, "node-7");
	assert_int_equal(profile_total(p, 0), 7);
	const struct labels *l = &p->labels.at[p->weights.at[0].labels];
	assert_string_equal(l->thread, "worker");
	assert_int_equal(l->pid, 17);
	assert_int_equal(l->tid, 18);
	profile_free(p);
}

/* One sample of the frame of that name, of which nothing else is told. */
static struct profile *pprof_of(const char *name)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 2, "\12\1\1\22\1\3", 6);
	pb_add_bytes(&bytes, 4, "\10\1\42\2\10\1", 6);
	pb_add_bytes(&bytes, 5, "\10\1\20\3", 4);
	add_text(&bytes, 6, "");
	add_text(&bytes, 6, "cpu");
	add_text(&bytes, 6, "count");
	add_text(&bytes, 6, name);
	if (read_bytes(&bytes, p, &why))
		fail_msg("%s", why.at);
	return p;
}

static void java_is_known_by_its_names_as_in_text(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} all[] = { { "java/lang/Thread.run", FRAME_C2 },
		    { "App$$Lambda/0x00007f00.run", FRAME_C2 },
		    { "runtime/internal/atomic.(*Int64).Load", FRAME_NATIVE },
		    { "main.main", FRAME_NATIVE },
		    { "std::vector<a/b.c>::push", FRAME_NATIVE } };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *p = pprof_of(all[i].name);
		const struct frame *f = frames_get(p->frames, p->nodes.at[1].frame);
		assert_string_equal(f->name, all[i].name);
		assert_int_equal(f->kind, all[i].kind);
		profile_free(p);
	}
}

/* Of a heap: objects and bytes. */
static struct str pprof_of_a_heap(u64 default_type)
{
	static const char *const texts[] = { "", "objects", "count", "space", "bytes" };
	struct str bytes = { 0 };

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 1, "\10\3\20\4", 4);
	pb_add_bytes(&bytes, 2, "\12\1\1\22\2\3\11", 7);
	pb_add_bytes(&bytes, 4, "\10\1\30\1", 4);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&bytes, 6, texts[i]);
	if (default_type)
		add_number(&bytes, 14, default_type);
	return bytes;
}

/* profile.proto: "If unset, clients should default to the last sample value." */
static void the_type_that_pprof_wants_stands_first(void **state)
{
	for (u64 wanted = 0; wanted < 4; wanted++) {
		struct profile *p = profile_new();
		struct str bytes = pprof_of_a_heap(wanted);
		auto_str struct str why = { 0 };
		if (read_bytes(&bytes, p, &why))
			fail_msg("%s", why.at);
		assert_string_equal(p->types.at[0].name, wanted == 1 ? "objects" : "space");
		assert_int_equal(profile_total(p, 0), wanted == 1 ? 3 : 9);
		assert_int_equal(profile_total(p, 1), wanted == 1 ? 9 : 3);
		profile_free(p);
	}
}

/* Two samples of a thread "C1 thread" with the frames "leaf" and "root". */
static void assert_is_perf(const char *header, const char *heading, u32 tid)
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
	assert_int_equal(p->weights.nr, 1);
	assert_int_equal(profile_total(p, 0), 2);
	assert_int_equal(p->labels.at[0].tid, tid);
	assert_string_equal(p->labels.at[0].thread, "C1 thread");
	node_id leaf = p->weights.at[0].node;
	assert_string_equal(frames_get(p->frames, p->nodes.at[leaf].frame)->name, "leaf");
	profile_free(p);
}

static void perf_script_may_leave_out_what_f_says(void **state)
{
	assert_is_perf("", "C1 thread 12 [000] 40113.616058:   10101010 cpu-clock: ", 12);
	assert_is_perf("", "C1 thread 11/12 40113.616058: cpu-clock:u: ", 12);
	assert_is_perf("", "C1 thread 12 40113.616058: ", 12);
	assert_is_perf("", "C1 thread 11/12 cpu-clock: ", 12);
	assert_is_perf("", "C1 thread 11/12 [001]   10101010 cycles:P: ", 12);
	assert_is_perf("", "C1 thread 11/12   10101010 sched:sched_switch: ", 12);
	assert_is_perf("", "C1 thread 12 cpu-clock: ", 12);
}

/* It is longer than the part of a file by which its format is told. */
static void perf_script_is_known_by_its_header(void **state)
{
	auto_str struct str header = { 0 };

	str_add(&header, "# ========\n# captured on    : Sun Nov 22 15:45:40 2026\n");
	while (header.len < 2 * INPUT_HEAD)
		str_add(&header, "# sibling sockets : 0-1\n");
	str_add(&header, "# ========\n#\n");
	assert_is_perf(header.at, "C1 thread 12 [000] 40113.616058: 10101010 cpu-clock: ", 12);
}

static void text_of_stacks_that_looks_like_perf_is_none(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	str_add(&bytes, "a 12 b: c;d 5\nmain;x 2\n");
	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_int_equal(profile_total(p, 0), 7);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_pprof_without_end_are_refused),
		cmocka_unit_test(names_of_otlp_without_end_are_refused),
		cmocka_unit_test(texts_of_otlp_may_be_those_of_the_dictionary),
		cmocka_unit_test(java_is_known_by_its_names_as_in_text),
		cmocka_unit_test(the_type_that_pprof_wants_stands_first),
		cmocka_unit_test(perf_script_may_leave_out_what_f_says),
		cmocka_unit_test(perf_script_is_known_by_its_header),
		cmocka_unit_test(text_of_stacks_that_looks_like_perf_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
