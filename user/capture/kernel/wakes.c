/* SPDX-License-Identifier: Apache-2.0 */
/* How often new mappings may wake the recorder between its ticks. */
#include "capture/kernel/wakes.h"

#include "base/time.h"

#define GIVE_BACK_NS (NS_PER_SEC / WAKES_PER_SEC)

static void give_back(struct wakes *w, u64 now_ns)
{
	u64 nr = (now_ns - w->counted_ns) / GIVE_BACK_NS;

	if (nr >= w->nr_taken) {
		w->nr_taken = 0;
		w->counted_ns = now_ns;
	} else {
		w->nr_taken -= (u32)nr;
		w->counted_ns += nr * GIVE_BACK_NS;
	}
}

bool wakes_left(struct wakes *w, u64 now_ns)
{
	give_back(w, now_ns);
	return w->nr_taken < WAKES_BURST;
}

void wakes_take(struct wakes *w, u64 now_ns)
{
	give_back(w, now_ns);
	w->nr_taken++;
}
