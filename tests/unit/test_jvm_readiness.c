/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "jvm/attach/readiness.h"
#include "jvm/process/perfdata.h"

static void live_events_are_for_jdks_that_do_not_crash_in_them(void **state)
{
	assert_true(readiness_for_live_events("17.0.15"));
	assert_true(readiness_for_live_events("25"));
	assert_true(readiness_for_live_events("28-ea"));
	assert_true(readiness_for_live_events("11.0.20"));
	assert_true(readiness_for_live_events("11.0.33.1"));
	assert_true(readiness_for_live_events("1.8.0_382"));
	assert_true(readiness_for_live_events("1.8.0_504-ea"));
	assert_false(readiness_for_live_events("1.8.0_381"));
	assert_false(readiness_for_live_events("1.8.0"));
	assert_false(readiness_for_live_events("1.7.0_999"));
	assert_false(readiness_for_live_events("11"));
	assert_false(readiness_for_live_events("11.0.19"));
	assert_false(readiness_for_live_events("16.0.2"));
	assert_false(readiness_for_live_events("?"));
	assert_false(readiness_for_live_events(""));
}

/* Makes a file of counters with one string. */
static size_t make_perfdata(u8 *out, const char *name, const char *value)
{
	const u8 prologue[32] = { 0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1, [24] = 32, [28] = 1 };
	u8 entry[84] = { 84, [4] = 20, [8] = 20, [12] = 'B', [16] = 64 };

	strcpy((char *)entry + 20, name);
	strcpy((char *)entry + 64, value);
	memcpy(out, prologue, sizeof(prologue));
	memcpy(out + sizeof(prologue), entry, sizeof(entry));
	return sizeof(prologue) + sizeof(entry);
}

static void a_string_counter_is_found_by_its_name(void **state)
{
	u8 bytes[200];
	size_t len = make_perfdata(bytes, "java.property.java.version", "1.8.0_504");
	char *value = perfdata_string(bytes, len, "java.property.java.version");

	assert_string_equal(value, "1.8.0_504");
	free(value);
	assert_null(perfdata_string(bytes, len, "java.property.java.versio"));
}

static void an_aligned_number_is_found(void **state)
{
	u8 bytes[200];
	size_t len = make_perfdata(bytes, "java.cls.unloadedClasses", "");

	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 0);
	bytes[32 + 8] = 0; /* no vector */
	bytes[32 + 12] = 'J';
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 32 + 64);
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClass"), 0);
	assert_int_equal(perfdata_number(bytes, len - 13, "java.cls.unloadedClasses"), 0);
	bytes[32 + 16] = 60;
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 0);
}

static void hostile_counters_are_read_within_their_bounds(void **state)
{
	u8 whole[200];
	size_t len = make_perfdata(whole, "n", "v");

	srand(7);
	for (int i = 0; i < 200003; i++) {
		size_t cut = (size_t)rand() % (len + 1);
		u8 *bytes = malloc(cut + 1);
		memcpy(bytes, whole, cut);
		if (cut > 24)
			for (int k = rand() % 4; k >= 0; k--)
				bytes[24 + (size_t)rand() % (cut - 24)] = (u8)rand();
		free(perfdata_string(bytes, cut, "n"));
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_events_are_for_jdks_that_do_not_crash_in_them),
		cmocka_unit_test(a_string_counter_is_found_by_its_name),
		cmocka_unit_test(an_aligned_number_is_found),
		cmocka_unit_test(hostile_counters_are_read_within_their_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
