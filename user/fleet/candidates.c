/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a census that match. */
#include "fleet/candidates.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "fleet/coin.h"
#include "fleet/policy.h"
#include "fleet/waves.h"

/* A node that does not know counts as one busy CPU. */
static double busy_cpus(const struct gather_node *n)
{
	return n->busy_ppm ? (double)n->busy_ppm / 1e6 : 1;
}

void candidates_take(struct candidates *out, const struct gather *census, const u8 *coin)
{
	out->coins = xcalloc(census->nodes.nr + 1, sizeof(out->coins[0]));
	vec_each(n, &census->nodes)
		if ((*n)->verdict != VERDICT_NO_MATCH) {
			out->coins[out->nr++] = coin_of(coin, (*n)->name);
			out->busy += busy_cpus(*n);
		}
	waves_sort(out->coins, out->nr);
}

void candidates_fini(struct candidates *all)
{
	free(all->coins);
}

/* Samples that a node adds in the mean. */
static double samples_per_node(const struct candidates *all, const struct controller_order *o)
{
	return all->busy / (double)all->nr * o->hz * o->duration_s;
}

double candidates_share(const struct candidates *all, const struct controller_order *o)
{
	double nr = (double)all->nr, share = o->share;

	if (o->nr_nodes > 0)
		share = o->nr_nodes / nr;
	else if (o->nr_samples > 0)
		share = o->nr_samples / samples_per_node(all, o) / nr;
	else if (!(share > 0))
		share = nr > POLICY_NODES && !o->is_confirmed ? POLICY_NODES / nr : 1;
	return share < 1 ? share : 1;
}
