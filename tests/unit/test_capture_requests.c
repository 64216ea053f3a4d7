/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of threads, right and forged, as labels. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "../programs/publish.h"
#include "base/alloc.h"
#include "capture/samples/requests.h"
#include "capture/samples/traces.h"
#include "jvm/process/process_context.h"

struct forged {
	struct sample head;
	u64 words[CONTEXT_BYTES / sizeof(u64)];
};

static struct thread_context *context_of(struct forged *f)
{
	return (struct thread_context *)f->words;
}

/* A sample whose context has no attribute. */
static void begin(struct forged *f)
{
	*f = (struct forged){ .head.nr_context = CONTEXT_BYTES / sizeof(u64) };
	context_of(f)->is_valid = 1;
}

static void add(struct forged *f, u8 key, const char *value)
{
	struct thread_context *c = context_of(f);
	u8 *at = c->attributes + c->attributes_bytes, len = (u8)strlen(value);

	at[0] = key;
	at[1] = len;
	memcpy(at + 2, value, len);
	c->attributes_bytes = (u16)(c->attributes_bytes + 2 + len);
}

static struct request read_one(struct requests *r, struct process *p, u8 key, const char *value)
{
	struct request out;
	struct forged f;

	begin(&f);
	add(&f, key, value);
	requests_of(r, p, &f.head, &out);
	return out;
}

/* A process with two keys; free it with done(). */
static struct process named(pid_t pid)
{
	struct process p = { .id = { pid, 1 }, .uid = (uid_t)pid };

	p.context.keys = xcalloc(PROCESS_KEYS_MAX, sizeof(p.context.keys[0]));
	p.context.keys[p.context.nr_keys++] = xstrdup("http.route");
	p.context.keys[p.context.nr_keys++] = xstrdup("user");
	return p;
}

static void done(struct process *p)
{
	process_context_fini(&p->context);
}

static void the_last_value_of_a_key_counts_and_routes_are_a_part(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);
	struct request out;
	struct forged f;

	begin(&f);
	add(&f, 1, "anna");
	add(&f, 0, "/first");
	add(&f, 0, "/second");
	requests_of(r, &p, &f.head, &out);
	assert_string_equal(out.tags[REQUEST_ATTRIBUTES], "http.route=/second, user=anna");
	assert_string_equal(out.tags[REQUEST_ROUTES], "http.route=/second");
	assert_int_equal(out.faults, 0);
	assert_false(out.has_other);
	requests_free(r);
	done(&p);
}

static void a_sample_without_context_has_no_label(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);
	struct forged f = { 0 };
	struct request out;

	requests_of(r, &p, &f.head, &out);
	assert_null(out.tags[REQUEST_ATTRIBUTES]);
	begin(&f);
	requests_of(r, &p, &f.head, &out);
	assert_null(out.tags[REQUEST_ATTRIBUTES]);
	assert_int_equal(requests_nr(r), 0);
	requests_free(r);
	done(&p);
}

static void further_values_of_a_key_are_other(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7), q = named(8);
	char value[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(value, sizeof(value), "/%d", i);
		struct request out = read_one(r, &p, 0, value);
		assert_int_equal(out.has_other, i >= REQUEST_VALUES_MAX);
		if (i >= REQUEST_VALUES_MAX)
			assert_string_equal(out.tags[REQUEST_ROUTES], "http.route=[other]");
	}
	assert_string_equal(read_one(r, &p, 0, "/5").tags[0], "http.route=/5");
	assert_string_equal(read_one(r, &q, 0, "/999").tags[0], "http.route=/999");
	requests_free(r);
	done(&p);
	done(&q);
}

/* Each of 200 values of one key with each of the other one. */
static void combinations_are_bounded_and_no_other_process_pays(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7), q = named(8);
	size_t nr_left_out = 0;
	char value[32];

	for (int i = 0; i < 90; i++)
		for (int j = 0; j < 90; j++) {
			struct request out;
			struct forged f;
			begin(&f);
			snprintf(value, sizeof(value), "/%d", i);
			add(&f, 0, value);
			add(&f, 1, value + 1);
			snprintf(value, sizeof(value), "%d", j);
			add(&f, 1, value);
			requests_of(r, &p, &f.head, &out);
			nr_left_out += !strcmp(out.tags[REQUEST_ATTRIBUTES], "context=[other]");
		}
	assert_int_equal(nr_left_out, 90 * 90 - REQUEST_SETS_MAX);
	assert_true(requests_bytes(r) < REQUEST_PROCESS_BYTES + 4096);
	assert_string_equal(read_one(r, &q, 1, "otto").tags[REQUEST_ATTRIBUTES], "user=otto");
	size_t bytes = requests_bytes(r);
	requests_forget(r, &p);
	assert_true(requests_bytes(r) < bytes / 100);
	assert_int_equal(requests_nr(r), 1);
	requests_free(r);
	done(&p);
	done(&q);
}

/* Many processes of one user, each with as many large values as it may have. */
static void a_user_has_a_share_of_the_memory(void **state)
{
	struct requests *r = requests_new();
	char value[200];

	memset(value, 'v', sizeof(value));
	for (int pid = 1; pid < 200; pid++) {
		struct process p = named(pid);
		p.uid = 1000;
		for (int i = 0; i < 100; i++) {
			snprintf(value + 180, 20, "%d", i);
			read_one(r, &p, 1, value);
		}
		done(&p);
	}
	assert_true(requests_bytes(r) < REQUEST_USER_BYTES + 100 * 1024);
	struct process other = named(5000);
	assert_string_equal(read_one(r, &other, 1, "x").tags[REQUEST_ATTRIBUTES], "user=x");
	requests_free(r);
	done(&other);
}

static void forged_attributes_are_ignored_and_counted(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);
	struct request out;
	struct forged f;

	begin(&f);
	add(&f, 0, "/right");
	context_of(&f)->attributes_bytes += 1; /* a key without a length */
	requests_of(r, &p, &f.head, &out);
	assert_string_equal(out.tags[0], "http.route=/right");
	assert_int_equal(out.faults, REQUEST_CUT);

	begin(&f);
	add(&f, 0, "/right");
	add(&f, 0, "/longer");
	context_of(&f)->attributes[2 + 6 + 1] = 200; /* more than there is */
	requests_of(r, &p, &f.head, &out);
	assert_string_equal(out.tags[0], "http.route=/right");
	assert_int_equal(out.faults, REQUEST_CUT);

	out = read_one(r, &p, 200, "x");
	assert_null(out.tags[REQUEST_ATTRIBUTES]);
	assert_int_equal(out.faults, REQUEST_UNKNOWN_KEY);

	begin(&f);
	context_of(&f)->attributes_bytes = 0xffff;
	requests_of(r, &p, &f.head, &out);
	assert_null(out.tags[REQUEST_ATTRIBUTES]);
	assert_int_equal(out.faults, REQUEST_TOO_LARGE);

	f.head.nr_context = 4; /* what BPF sends if it cannot read the rest */
	context_of(&f)->attributes_bytes = 100;
	requests_of(r, &p, &f.head, &out);
	assert_int_equal(out.faults, REQUEST_UNREADABLE);
	f.head.nr_context = 3; /* less than a context */
	requests_of(r, &p, &f.head, &out);
	assert_int_equal(out.faults, 0);
	requests_free(r);
	done(&p);
}

/* Attributes of every content and length, in exact memory, so that the sanitizer sees a read behind
 * them. */
static void random_bytes_are_read_within_their_bounds(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);
	struct request out;

	for (int i = 0; i < 20000; i++) {
		size_t words = 4 + (size_t)rand() % 76;
		struct sample *s = xcalloc(1, sizeof(*s) + words * sizeof(u64));
		struct thread_context *c = (void *)(s + 1);
		s->nr_context = (u8)words;
		for (size_t at = 0; at < words * sizeof(u64); at++)
			((u8 *)c)[at] = (u8)(rand() % 4 ? rand() % 5 : rand());
		if (i % 4)
			c->attributes_bytes = (u16)(rand() % (words * sizeof(u64)));
		requests_of(r, &p, s, &out);
		free(s);
	}
	requests_free(r);
	done(&p);
}

static void keys_of_our_labels_get_another_name(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);

	free(p.context.keys[1]);
	p.context.keys[1] = xstrdup("service");
	assert_string_equal(read_one(r, &p, 1, "x").tags[REQUEST_ATTRIBUTES], "context.service=x");
	requests_free(r);
	done(&p);
}

static u64 with_trace(const struct profile *p)
{
	u64 sum = 0;

	vec_each(w, &p->weights)
		sum += *p->labels.at[w->labels].trace ? w->value : 0;
	return sum;
}

static void the_oldest_traces_are_dropped_and_counted(void **state)
{
	struct profile *p = profile_new();
	struct traces t = { 0 };
	u32 type = profile_find_type(p, "cpu", "samples");
	struct weight w = { profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", "")),
			    profile_intern_labels(p, &(struct labels){ .comm = "c" }), type, 1 };
	struct request request = { .has_trace = true };

	for (u32 i = 1; i <= TRACES_MAX + 1000; i++) {
		memcpy(request.trace, &i, sizeof(i));
		traces_add(&t, p, &w, &request, true);
	}
	assert_int_equal(t.nr_dropped, 1000);
	assert_int_equal(profile_total(p, type), 1000);
	traces_release(&t, p);
	assert_int_equal(profile_total(p, type), TRACES_MAX + 1000);
	assert_int_equal(with_trace(p), TRACES_MAX);
	bool has_oldest = false, has_first_kept = false;
	vec_each(l, &p->labels) {
		has_oldest |= !strncmp(l->trace, "e8030000", 8); /* 1000, its first byte first */
		has_first_kept |= !strncmp(l->trace, "e9030000", 8);
	}
	assert_false(has_oldest);
	assert_true(has_first_kept);
	traces_fini(&t);
	profile_free(p);
}

static void a_trace_is_kept_only_if_there_is_one(void **state)
{
	struct requests *r = requests_new();
	struct process p = named(7);
	struct request out;
	struct forged f;

	begin(&f);
	requests_of(r, &p, &f.head, &out);
	assert_false(out.has_trace);
	context_of(&f)->trace[15] = 1;
	requests_of(r, &p, &f.head, &out);
	assert_true(out.has_trace);
	requests_free(r);
	done(&p);
}

static void a_payload_names_keys(void **state)
{
	static const char *const keys[] = { "http.route", "", "user" };
	static struct otel_bytes b;
	struct process_context c = { 0 };

	otel_service(&b, "shop", "1.2");
	otel_texts(&b, 2, "threadlocal.attribute_key_map", keys, 3);
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_int_equal(c.nr_keys, 3);
	assert_string_equal(c.keys[0], "http.route");
	assert_string_equal(c.keys[1], "");
	assert_false(c.has_threads);
	otel_text(&b, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_true(c.has_threads);
	process_context_fini(&c);

	b.len = 0;
	otel_text(&b, 2, "threadlocal.schema_version", "go_pprof_labels_v1");
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_false(c.has_threads);
	process_context_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_value_of_a_key_counts_and_routes_are_a_part),
		cmocka_unit_test(a_sample_without_context_has_no_label),
		cmocka_unit_test(further_values_of_a_key_are_other),
		cmocka_unit_test(combinations_are_bounded_and_no_other_process_pays),
		cmocka_unit_test(a_user_has_a_share_of_the_memory),
		cmocka_unit_test(forged_attributes_are_ignored_and_counted),
		cmocka_unit_test(random_bytes_are_read_within_their_bounds),
		cmocka_unit_test(keys_of_our_labels_get_another_name),
		cmocka_unit_test(the_oldest_traces_are_dropped_and_counted),
		cmocka_unit_test(a_trace_is_kept_only_if_there_is_one),
		cmocka_unit_test(a_payload_names_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
