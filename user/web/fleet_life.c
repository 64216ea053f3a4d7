/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of life of a node. */
#include "web/fleet_life.h"

#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "fleet/link.h"
#include "fleet/stream_names.h"

#define MOST_NS (30 * NS_PER_SEC) /* between two of them, which are kept for 90 s */

void fleet_life_tick(struct fleet_life *f, struct link *l, const char *node, u64 now_ns)
{
	u64 jitter = 0;

	if (now_ns < f->next_ns)
		return;
	if (getrandom(&jitter, sizeof(jitter), GRND_NONBLOCK) < 0)
		jitter = now_ns;
	f->next_ns = now_ns + MOST_NS / 2 + jitter % (MOST_NS / 2);
	auto_free char *subject = xasprintf(STREAM_SEEN "%s", node);
	auto_free char *from_leaf = xasprintf(STREAM_FROM_LEAF(STREAM_SEEN) "%s", node);
	link_publish(l, subject, "", SYSFLAME_VERSION, strlen(SYSFLAME_VERSION));
	link_publish(l, from_leaf, "", SYSFLAME_VERSION, strlen(SYSFLAME_VERSION));
}
