/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "export/export.h"
#include "export/format/base91.h"
#include "export/format/decode.h"
#include "export/format/encode.h"
#include "export/format/envelope.h"
#include "export/format/fixed.h"
#include "export/format/gzip.h"
#include "export/format/sflm.h"
#include "export/format/varint.h"
#include "export/read.h"
#include "profile_text.h"

static struct profile *profile_of(const char *text)
{
	struct profile *p = profile_new();
	struct str why = { 0 };
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	profile_add_type(p, "cpu", "samples");
	if (profile_read(f, p, &why))
		fail_msg("%s", why.at);
	fclose(f);
	str_fini(&why);
	return p;
}

static struct str body_of(const struct profile *p)
{
	struct str body = { 0 };
	u32 nr_nodes;

	assert_int_equal(body_encode(p, NULL, &body, &nr_nodes), 0);
	return body;
}

static void assert_same_bytes(struct str *a, struct str *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->at, b->at, a->len);
	str_fini(a);
	str_fini(b);
}

/* The test vector of docs/profile-format.md. */
static void p6_the_documented_stacks_give_the_documented_body(void **state)
{
	static const u8 head[] = { 0x07, 1, 0x2b, 2, 0x20, 3, 0x0d, 4, 8, 5, 8, 6, 7, 7, 0x0a };
	static const u8 tail[] = {
		6, 0, 1,   'a', 0,   1,    'b', 0, 1, 'c', 0,   4,   'm', 'a', 'i', 'n',
		1, 5, 'e', 'm', 'c', 'p',  'y', 0, 7, 's', 'w', 'a', 'p', 'p', 'e', 'r',
		6, 0, 1,   2,   3,   4,    5,   6, 6, 4,   2,   2,   1,   0,   1,   0,
		0, 0, 3,   0,   0,   0,    0,   0, 0, 0,   0,   0,   1,   5,   3,   0,
		1, 4, 2,   0,   0,   0xc8, 1,   0, 0, 3,   2,   1,   0,   4,
	};
	struct profile *p = profile_of("main;a_[j];b_[j] 3\n"
				       "main;a_[j];b_[j];memcpy 2\n"
				       "main;c_[0] 1\n"
				       "main;c_[0];a_[j];b_[j] 4\n"
				       "swapper_[k] 200\n");
	struct str body = body_of(p);

	assert_int_equal(body.len, 136);
	assert_memory_equal(body.at, head, sizeof(head));
	assert_memory_equal(body.at + sizeof(head),
			    "{\"types\":[{\"name\":\"cpu\",\"unit\":\"samples\"}]}", 43);
	assert_memory_equal(body.at + sizeof(head) + 43, tail, sizeof(tail));
	assert_int_equal(crc32_z(0, (u8 *)body.at, body.len), 0x4641d576);
	str_fini(&body);
	profile_free(p);
}

static void the_order_of_stacks_does_not_change_a_byte(void **state)
{
	struct profile *a =
		profile_of("m;a_[j];x 1\nm;b_[1];x 1\nm;a_[1];y 7\nk_[k] 5\nm;a_[i] 2\n");
	struct profile *b =
		profile_of("k_[k] 5\nm;a_[i] 2\nm;a_[1];y 7\nm;b_[1];x 1\nm;a_[j];x 1\n");
	struct str body_a = body_of(a), body_b = body_of(b);

	assert_same_bytes(&body_a, &body_b);
	profile_free(a);
	profile_free(b);
}

/* Stacks with few names and weights, so that paths, methods, tiers and totals coincide. */
static void add_random(struct profile *p, const u32 *seeds, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		u32 seed = seeds[i];
		node_id node = 0;
		for (u32 depth = seed % 7 + 1; depth > 0; depth--) {
			char name[8];
			seed = seed * 1664525 + 1013904223;
			snprintf(name, sizeof(name), "f%u", seed >> 28);
			node = profile_child(p, node,
					     frames_intern(p->frames, seed >> 20 & 7, name,
							   seed >> 16 & 3 ? "" : "lib"));
		}
		struct labels labels = {
			.pid = seed >> 8 & 3,
			.tid = seed >> 5 & 7,
			.comm = seed & 1 ? "java" : "c",
			.thread = seed & 2 ? "main" : "",
			.pod = seed & 4 ? "web" : NULL,
		};
		profile_add(p, node, profile_intern_labels(p, &labels), seed >> 4 & 1, seed % 5);
	}
}

static void assert_reads_back(const struct str *body)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	if (body_decode((u8 *)body->at, body->len, p, &why))
		fail_msg("%s", why.at);
	auto_str struct str again = body_of(p);
	assert_int_equal(again.len, body->len);
	assert_memory_equal(again.at, body->at, body->len);
	profile_free(p);
}

static void random_profiles_are_encoded_alike_in_any_order(void **state)
{
	enum {
		STACKS = 211,
		ROUNDS = 40
	};
	u32 seeds[STACKS], seed = 7;

	for (int round = 0; round < ROUNDS; round++) {
		struct str bodies[2] = { 0 };
		for (int i = 0; i < STACKS; i++)
			seeds[i] = seed = seed * 1103515245 + 12345;
		for (int shuffled = 0; shuffled < 2; shuffled++) {
			struct profile *p = profile_new();
			profile_add_type(p, "cpu", "samples");
			profile_add_type(p, "alloc", "bytes");
			add_random(p, seeds, STACKS);
			bodies[shuffled] = body_of(p);
			profile_free(p);
			for (int i = STACKS - 1; i > 0; i--) {
				int other =
					(int)((seed = seed * 1103515245 + 12345) >> 8) % (i + 1);
				u32 swap = seeds[i];
				seeds[i] = seeds[other];
				seeds[other] = swap;
			}
		}
		assert_reads_back(&bodies[0]);
		assert_same_bytes(&bodies[0], &bodies[1]);
	}
}

static void a_decoded_body_is_encoded_to_the_same_bytes(void **state)
{
	struct profile *a = profile_of("m;a_[j];x 1\nm;b_[1];x 1\nm;a_[j];y 7\nk_[k] 5\nm 2\n");
	struct profile *b = profile_new();
	struct str why = { 0 };

	a->host = (free(a->host), strdup("node <1>"));
	a->start_wall_ns = 1763640000123456789ull;
	a->rate_hz = 99;
	profile_note(a, "lost", "samples lost", 3);
	const struct labels labels = {
		.pid = 7,
		.tid = 8,
		.comm = "java",
		.thread = "exec-1",
		.state = "sleeping",
		.container_id = "0123456789ab",
		.pod = "web-7d",
	};
	profile_add(a, 1, profile_intern_labels(a, &labels), 0, 11);
	struct str body_a = body_of(a);
	assert_int_equal(body_decode((u8 *)body_a.at, body_a.len, b, &why), 0);
	struct str body_b = body_of(b);
	assert_same_bytes(&body_a, &body_b);
	bool is_there = false;
	vec_each(l, &b->labels)
		is_there |= !strcmp(l->pod, "web-7d") && !strcmp(l->state, "sleeping");
	assert_true(is_there);
	profile_free(a);
	profile_free(b);
	str_fini(&why);
}

static void a_name_that_ends_in_a_number_keeps_it(void **state)
{
	static const struct labels sets[] = {
		{ .comm = "sh-8", .thread = "exec-7" },
		{ .pid = 5, .tid = 9, .comm = "sh-8", .thread = "exec-0" },
		{ .comm = "pool-0", .thread = "x-" },
	};
	struct profile *a = profile_new(), *b = profile_new();
	auto_str struct str why = { 0 };

	profile_add_type(a, "cpu", "samples");
	for (size_t i = 0; i < 3; i++)
		profile_add(a, 0, profile_intern_labels(a, &sets[i]), 0, 1);
	auto_str struct str body = body_of(a);
	assert_int_equal(body_decode((u8 *)body.at, body.len, b, &why), 0);
	for (size_t i = 0; i < 3; i++) {
		bool is_there = false;
		vec_each(l, &b->labels)
			is_there |= l->pid == sets[i].pid && l->tid == sets[i].tid &&
				    !strcmp(l->comm, sets[i].comm) &&
				    !strcmp(l->thread, sets[i].thread);
		assert_true(is_there);
	}
	profile_free(a);
	profile_free(b);
}

/* The total of all frames of that kind, over the stacks that have one. */
static u64 weight_of(const struct profile *p, enum frame_kind kind)
{
	u64 sum = 0;

	vec_each(w, &p->weights)
		for (node_id n = w->node; n; n = p->nodes.at[n].parent)
			sum += frames_get(p->frames, p->nodes.at[n].frame)->kind == kind ? w->value
											 : 0;
	return sum;
}

static void the_parts_of_a_node_in_several_tiers_are_restored(void **state)
{
	struct profile *p = profile_of("m;a_[0] 2\nm;a_[j];x 3\nm;a_[1];x 4\nm;a_[i] 4\n");
	struct profile *back = profile_new();
	struct str body = body_of(p), why = { 0 };

	assert_int_equal(body_decode((u8 *)body.at, body.len, back, &why), 0);
	char *text = collapsed(back);
	assert_string_equal(text, "m;a 6\nm;a;x 7\n");
	assert_int_equal(weight_of(back, FRAME_INTERPRETED), 2);
	assert_int_equal(weight_of(back, FRAME_C1), 4);
	assert_int_equal(weight_of(back, FRAME_INLINED), 4);
	assert_int_equal(weight_of(back, FRAME_C2), 3);
	/* TIERS: node 2, 2 interpreted, 4 in C1, 4 inlined. */
	static const u8 tiers[] = { 2, 2, 4, 4 };
	assert_non_null(memmem(body.at, body.len, tiers, sizeof(tiers)));
	free(text);
	str_fini(&body);
	str_fini(&why);
	profile_free(p);
	profile_free(back);
}

static void weights_above_2_to_the_53_are_refused(void **state)
{
	struct profile *p = profile_of("a 9007199254740991\n");
	struct str body = body_of(p);
	u32 nr_nodes;

	profile_add(p, 1, 0, 0, 1);
	assert_int_equal(body_encode(p, NULL, &body, &nr_nodes), -EOVERFLOW);
	str_fini(&body);
	profile_free(p);
}

static void a_stack_deeper_than_65535_frames_is_refused(void **state)
{
	struct profile *p = profile_new();
	struct str body = { 0 };
	node_id node = 0;
	u32 nr_nodes;

	profile_add_type(p, "cpu", "samples");
	for (int i = 0; i < 65535; i++)
		node = profile_child(p, node, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" }),
		    0, 1);
	assert_int_equal(body_encode(p, NULL, &body, &nr_nodes), 0);
	assert_int_equal(nr_nodes, 65536);
	node = profile_child(p, node, 0);
	profile_add(p, node, 0, 0, 1);
	assert_int_equal(body_encode(p, NULL, &body, &nr_nodes), -E2BIG);
	str_fini(&body);
	profile_free(p);
}

static void nodes_without_a_weight_are_skipped(void **state)
{
	struct profile *p = profile_new();
	struct str body = { 0 };
	u32 nr_nodes;

	profile_add_type(p, "cpu", "samples");
	profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	assert_int_equal(body_encode(p, NULL, &body, &nr_nodes), 0);
	assert_int_equal(nr_nodes, 1);
	str_fini(&body);
	profile_free(p);
}

static void refuse_damage(enum compression how)
{
	static const struct {
		size_t at;
		u8 flip;
		const char *says;
	} cases[] = {
		{ 0, 1, "no profile" },
		{ 4, 3, "damaged header" },
		{ 29, 1, "damaged header" },
		{ 40, 1, "damaged data: its checksum" },
		{ 36 + 20, 0x80, "damaged data" },
	};
	struct profile *p = profile_of("a;b 3\nc 4\n");
	struct str body = body_of(p), packed = { 0 };

	assert_int_equal(envelope_pack(&body, 4, how, &packed), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str out = { 0 }, why = { 0 };
		packed.at[cases[i].at] ^= (char)cases[i].flip;
		assert_int_equal(envelope_unpack((u8 *)packed.at, packed.len, &out, &why), -EINVAL);
		assert_non_null(strstr(why.at, cases[i].says));
		packed.at[cases[i].at] ^= (char)cases[i].flip;
		str_fini(&out);
		str_fini(&why);
	}
	for (size_t len = 0; len < packed.len; len++) {
		struct str out = { 0 }, why = { 0 };
		u8 *cut = xmemdup(packed.at, len);
		assert_int_equal(envelope_unpack(cut, len, &out, &why), -EINVAL);
		free(cut);
		str_fini(&out);
		str_fini(&why);
	}
	str_fini(&packed);
	str_fini(&body);
	profile_free(p);
}

static void a_damaged_container_says_what_is_wrong(void **state)
{
	refuse_damage(COMPRESSED_GZIP);
	refuse_damage(COMPRESSED_ZSTD);
}

/* Every truncation and every changed byte of a body either fails with a sentence or decodes. */
static void a_damaged_body_never_crashes_the_decoder(void **state)
{
	struct profile *p = profile_of("m;a_[j];x 1\nm;b_[1];x 1\nm;a_[1];y 7\nk_[k] 5\n");
	profile_add(
		p, 1,
		profile_intern_labels(
			p, &(struct labels){ .pid = 7, .tid = 8, .comm = "java", .thread = "t" }),
		0, 11);
	struct str body = body_of(p);

	for (size_t i = 0; i < body.len * 3; i++) {
		struct profile *back = profile_new();
		struct str why = { 0 };
		size_t len = i < body.len ? i : body.len;
		u8 *bytes = xmemdup(body.at, len);
		if (i >= body.len)
			bytes[i % body.len] ^= i < 2 * body.len ? 1 : 0xff;
		int err = body_decode(bytes, len, back, &why);
		assert_true(err == 0 || (err == -EINVAL && why.len));
		free(bytes);
		str_fini(&why);
		profile_free(back);
	}
	str_fini(&body);
	profile_free(p);
}

/* The same container with more compression than sysflame uses. */
static struct str packed_tightly(const struct str *packed, const struct str *body)
{
	struct str out = { 0 };
	auto_str struct str payload = { 0 };
	FILE *f = open_memstream(&payload.at, &payload.len);
	struct gzip gzip;

	gzip_init(&gzip, f);
	gzip_write(&gzip, body->at, body->len);
	gzip_finish(&gzip);
	fclose(f);
	str_add_bytes(&out, packed->at, 36);
	fixed_put((u8 *)out.at + 8, payload.len, 8);
	fixed_put((u8 *)out.at + 24, crc32_z(0, (u8 *)payload.at, payload.len), 4);
	fixed_put((u8 *)out.at + 32, crc32_z(0, (u8 *)out.at, 32), 4);
	str_add_bytes(&out, payload.at, payload.len);
	return out;
}

/* Few methods that call each other, as deep as `depth`, below each of `nr_roots` frames. */
static struct profile *deep_profile(u32 nr_types, u32 nr_roots, u32 depth)
{
	struct profile *p = profile_new();
	labels_id labels = profile_intern_labels(p, &(struct labels){ 0 });
	char name[16];

	for (u32 i = 0; i < nr_types; i++) {
		snprintf(name, sizeof(name), "type%u", i);
		profile_add_type(p, name, "samples");
	}
	frame_id called = frames_intern(p->frames, FRAME_NATIVE, "called", "");
	for (u32 root = 0; root < nr_roots; root++) {
		snprintf(name, sizeof(name), "root%u", root);
		node_id node =
			profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, name, ""));
		for (u32 i = 1; i < depth; i++)
			node = profile_child(p, node, called);
		profile_add(p, node, labels, root % nr_types, 1);
	}
	return p;
}

static void assert_is_read(const struct str *bytes, int wanted_err, const char *says)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	FILE *f = fmemopen(bytes->at, bytes->len, "r");

	assert_int_equal(profile_read(f, p, &why), wanted_err);
	if (says)
		assert_non_null(strstr(why.at, says));
	fclose(f);
	profile_free(p);
}

static void more_frames_than_a_page_of_its_size_has_are_refused(void **state)
{
	struct profile *p = deep_profile(1, 11, 50021);
	struct str body = body_of(p), packed = { 0 };

	assert_true(body.len < 8 << 20);
	assert_int_equal(envelope_pack(&body, 1, COMPRESSED_GZIP, &packed), 0);
	struct str bomb = packed_tightly(&packed, &body);
	assert_true(bomb.len < 16000);
	assert_is_read(&packed, 0, NULL);
	assert_is_read(&bomb, -EINVAL, "it expands to more frames");
	str_fini(&bomb);
	str_fini(&packed);
	str_fini(&body);
	profile_free(p);
}

/* A reader limits the nodes by the size, and zstd shrinks recursion to next to nothing. */
static void a_deep_recursion_can_be_read_back_from_its_own_file(void **state)
{
	struct profile *p = deep_profile(1, 40, 50021);
	struct str packed = { 0 };

	assert_int_equal(sflm_write(p, &packed), 0);
	assert_is_read(&packed, 0, NULL);
	str_fini(&packed);
	profile_free(p);
}

/* A byte of SELF for each type and node, nearly all of them zeros. */
static void a_page_that_expands_to_250_times_its_size_is_neither_written_nor_read(void **state)
{
	struct profile *p = deep_profile(61, 61, 4001);
	struct str body = body_of(p), packed = { 0 };

	assert_true(body.len > 8 << 20);
	assert_int_equal(envelope_pack(&body, 1, COMPRESSED_GZIP, &packed), 0);
	assert_true(body.len / packed.len < 250);
	struct str bomb = packed_tightly(&packed, &body);
	assert_true(body.len / bomb.len > 250);
	assert_is_read(&packed, 0, NULL);
	assert_is_read(&bomb, -EINVAL, "it expands to more than 250 times its size");
	str_fini(&bomb);
	str_fini(&packed);
	str_fini(&body);
	profile_free(p);
}

static bool keeps_pod_a(const struct labels *l, const void *ctx)
{
	return !strcmp(l->pod, "pod-a");
}

static void samples_that_were_taken_out_leave_no_labels(void **state)
{
	struct profile *p = profile_new();
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", ""));
	const struct labels a = { .pod = "pod-a" }, b = { .pod = "pod-b", .trace = "77" };

	profile_add_type(p, "cpu", "samples");
	profile_add(p, node, profile_intern_labels(p, &b), 0, 5);
	profile_add(p, node, profile_intern_labels(p, &a), 0, 3);
	profile_keep_labels(p, keeps_pod_a, NULL);
	struct str body = body_of(p);
	assert_non_null(memmem(body.at, body.len, "pod-a", 5));
	assert_null(memmem(body.at, body.len, "pod-b", 5));
	assert_null(memmem(body.at, body.len, "trace_id", 8));
	assert_reads_back(&body);
	str_fini(&body);
	profile_free(p);
}

static void text_of_every_length_is_read_back(void **state)
{
	struct str bytes = { 0 };

	for (int len = 0; len < 40; len++) {
		struct str back = { 0 };
		char *text;
		size_t text_len;
		FILE *f = open_memstream(&text, &text_len);
		base91_write(&bytes, f);
		fclose(f);
		int rest = 8 * len % 13;
		assert_int_equal(text_len, 8 * len / 13 * 2 + (rest > 6 ? 2 : rest > 0));
		base91_read(text, text_len, &back);
		assert_int_equal(back.len, len);
		if (len)
			assert_memory_equal(back.at, bytes.at, back.len);
		free(text);
		str_fini(&back);
		str_add_char(&bytes, (char)(0xfb - len));
	}
	str_fini(&bytes);
}

static void a_page_is_read_back_and_holds_no_markup_from_names(void **state)
{
	struct profile *p = profile_of("main;a\"b_[j];c\\d_[j] 5\n"
				       "main;</script><b id=pwn>x_[j] 7\n");
	struct profile *back = profile_new();
	struct str why = { 0 };
	char *page, *text;
	size_t len;

	free(p->title);
	p->title = strdup("</title><b id=pwn>&");
	FILE *f = open_memstream(&page, &len);
	assert_int_equal(html_write(p, f), 0);
	fclose(f);
	assert_null(strstr(page, "pwn>"));
	assert_non_null(strstr(page, "&lt;/title&gt;&lt;b id=pwn&gt;&amp;"));
	f = fmemopen(page, len, "r");
	assert_int_equal(profile_read(f, back, &why), 0);
	fclose(f);
	text = collapsed(back);
	assert_string_equal(text, "main;</script><b id=pwn>x 7\nmain;a\"b;c\\d 5\n");
	assert_string_equal(back->title, p->title);
	free(text);
	free(page);
	str_fini(&why);
	profile_free(p);
	profile_free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p6_the_documented_stacks_give_the_documented_body),
		cmocka_unit_test(the_order_of_stacks_does_not_change_a_byte),
		cmocka_unit_test(random_profiles_are_encoded_alike_in_any_order),
		cmocka_unit_test(a_decoded_body_is_encoded_to_the_same_bytes),
		cmocka_unit_test(the_parts_of_a_node_in_several_tiers_are_restored),
		cmocka_unit_test(weights_above_2_to_the_53_are_refused),
		cmocka_unit_test(a_name_that_ends_in_a_number_keeps_it),
		cmocka_unit_test(a_stack_deeper_than_65535_frames_is_refused),
		cmocka_unit_test(nodes_without_a_weight_are_skipped),
		cmocka_unit_test(a_damaged_container_says_what_is_wrong),
		cmocka_unit_test(a_damaged_body_never_crashes_the_decoder),
		cmocka_unit_test(more_frames_than_a_page_of_its_size_has_are_refused),
		cmocka_unit_test(a_deep_recursion_can_be_read_back_from_its_own_file),
		cmocka_unit_test(
			a_page_that_expands_to_250_times_its_size_is_neither_written_nor_read),
		cmocka_unit_test(samples_that_were_taken_out_leave_no_labels),
		cmocka_unit_test(text_of_every_length_is_read_back),
		cmocka_unit_test(a_page_is_read_back_and_holds_no_markup_from_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
