/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes take part, and when. */
#include "fleet/waves.h"

#include <stdlib.h>

static int by_coin(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

void waves_sort(u32 *coins, size_t nr)
{
	qsort(coins, nr, sizeof(coins[0]), by_coin);
}

u32 waves_sizes(u32 nr_chosen, bool in_waves, u32 sizes[WAVES_MAX])
{
	u32 second = (nr_chosen + 50) / 100, nr = 0;

	if (in_waves && nr_chosen > 1) {
		sizes[nr++] = 1;
		if (second > 1 && second + 1 < nr_chosen)
			sizes[nr++] = second;
	}
	sizes[nr] = nr_chosen;
	for (u32 i = 0; i < nr; i++)
		sizes[nr] -= sizes[i];
	return nr + 1;
}

/* The bound above the coin of node `i`: all of the fleet above the last one. */
static u32 bound(const u32 *coins, u32 nr, u32 i)
{
	return i < nr ? coins[i] : FLEET_PPB;
}

void waves_plan(const u32 *coins, u32 nr, u32 nr_chosen, bool in_waves, struct waves *out)
{
	u32 sizes[WAVES_MAX], end = 0;

	*out = (struct waves){ 0 };
	out->nr = waves_sizes(nr_chosen < nr ? nr_chosen : nr, in_waves, sizes);
	for (u32 i = 0; i < out->nr; i++) {
		end += sizes[i];
		out->nr_nodes[i] = sizes[i];
		out->to_ppb[i] = bound(coins, nr, end);
	}
}
