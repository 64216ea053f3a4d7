/* SPDX-License-Identifier: Apache-2.0 */
/* How often new mappings wake the recorder. */
#include "base/time.h"
#include "capture/kernel/sideband.h"
#include "test.h"

/* Wakes as often as allowed, 500 times a second; returns how often. */
static u32 wake(struct wakes *w, u64 from_ns, u64 end_ns)
{
	u32 nr = 0;

	for (u64 now = from_ns; now < end_ns; now += 2 * NS_PER_MS) {
		if (!wakes_left(w, now))
			continue;
		wakes_take(w, now);
		nr++;
	}
	return nr;
}

static void a_burst_is_followed_at_once_and_a_stream_rarely(void **state)
{
	struct wakes w = { 0 };

	assert_int_equal(wake(&w, NS_PER_SEC, NS_PER_SEC + WAKES_BURST * 2 * NS_PER_MS),
			 WAKES_BURST);
	assert_false(wakes_left(&w, NS_PER_SEC + WAKES_BURST * 2 * NS_PER_MS));
	assert_in_range(wake(&w, 2 * NS_PER_SEC, 12 * NS_PER_SEC), 10 * WAKES_PER_SEC,
			10 * WAKES_PER_SEC + WAKES_PER_SEC);
}

static void after_a_pause_a_burst_is_allowed_again(void **state)
{
	struct wakes w = { 0 };

	wake(&w, NS_PER_SEC, 3 * NS_PER_SEC);
	assert_int_equal(
		wake(&w, 3600 * NS_PER_SEC, 3600 * NS_PER_SEC + WAKES_BURST * 2 * NS_PER_MS),
		WAKES_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_followed_at_once_and_a_stream_rarely),
		cmocka_unit_test(after_a_pause_a_burst_is_allowed_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
