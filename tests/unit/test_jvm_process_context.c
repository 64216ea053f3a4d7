/* SPDX-License-Identifier: Apache-2.0 */
/* What processes publish of themselves, made by the writer of tests/programs. */
#include "test.h"

#include <stdlib.h>

#include "../programs/publish.h"
#include "jvm/process/process_context.h"

static void done(struct process_context *c)
{
	free(c->service);
	free(c->instance);
	free(c->environment);
	free(c->version);
}

static void a_payload_has_service_instance_environment_and_version(void **state)
{
	static struct otel_bytes b;
	struct process_context c = { 0 };

	otel_service(&b, "shop", "1.2");
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_string_equal(c.service, "shop");
	assert_string_equal(c.instance, "i-4711");
	assert_string_equal(c.environment, "staging");
	assert_string_equal(c.version, "1.2");
	done(&c);
}

static void an_attribute_may_stand_beside_the_resource(void **state)
{
	static struct otel_bytes b;
	struct process_context c = { 0 };

	otel_text(&b, 2, "service.name", "first");
	otel_text(&b, 2, "service.name", "second");
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_string_equal(c.service, "first");
	assert_null(c.version);
	done(&c);
}

static void names_are_clean_and_bounded(void **state)
{
	static struct otel_bytes b;
	struct process_context c = { 0 };
	char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "a\xff\n", 3);
	otel_text(&b, 2, "service.name", name);
	assert_int_equal(process_context_parse(b.at, b.len, &c), 0);
	assert_true(strlen(c.service) < 200);
	assert_null(strchr(c.service, '\n'));
	assert_null(strchr(c.service, '\xff'));
	done(&c);
}

/* Exact copies, so that the sanitizer sees a read behind the end. */
static void a_cut_or_changed_payload_is_refused_or_read_within_its_bounds(void **state)
{
	static struct otel_bytes b;
	size_t nr_refused = 0;

	otel_service(&b, "shop", "1.2");
	for (size_t len = 0; len <= b.len; len++)
		for (int change = 0; change < 3; change++) {
			struct process_context c = { 0 };
			unsigned char *copy = malloc(len + !len);
			memcpy(copy, b.at, len);
			if (change && len)
				copy[len / 2] = change == 1 ? 0xff : 0x7f;
			int err = process_context_parse(copy, len, &c);
			nr_refused += err != 0;
			assert_true(!err || (!c.service && !c.version));
			free(copy);
			done(&c);
		}
	assert_true(nr_refused > b.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_has_service_instance_environment_and_version),
		cmocka_unit_test(an_attribute_may_stand_beside_the_resource),
		cmocka_unit_test(names_are_clean_and_bounded),
		cmocka_unit_test(a_cut_or_changed_payload_is_refused_or_read_within_its_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
