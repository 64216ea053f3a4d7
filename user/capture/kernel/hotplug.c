/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when to look at the events of CPUs. */
#include "capture/kernel/hotplug.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"

#define LOOK_NS   (30 * NS_PER_SEC)
#define SLEPT_NS  (100 * NS_PER_MS) /* the clocks are read one after the other */
#define NR_SERIES 2

static bool has_other_cpus(struct hotplug *h, const char *history)
{
	if (!history || (h->history && !strcmp(h->history, history)))
		return false;
	free(h->history);
	h->history = xstrdup(history);
	return true;
}

static bool has_slept(struct hotplug *h, u64 asleep_ns)
{
	bool has = asleep_ns > h->asleep_ns + SLEPT_NS;

	h->asleep_ns = asleep_ns;
	return has;
}

bool hotplug_needs_look(struct hotplug *h, const char *history, u64 mono_ns, u64 boot_ns)
{
	bool is_changed = has_other_cpus(h, history);

	is_changed |= has_slept(h, boot_ns > mono_ns ? boot_ns - mono_ns : 0);
	if (is_changed || mono_ns - h->looked_ns >= LOOK_NS) {
		h->looked_ns = mono_ns;
		h->nr_pending = NR_SERIES;
	}
	if (!h->nr_pending)
		return false;
	h->nr_pending--;
	return true;
}

void hotplug_fini(struct hotplug *h)
{
	free(h->history);
}
