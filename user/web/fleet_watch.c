/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the JVMs that end during a recording of the fleet, or soon after it. */
#include "web/fleet_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "web/recorder_link.h"

static bool is_in(const struct control_jvm *j, const char *container)
{
	size_t len = strlen(container);

	return !len || !strcmp(j->container_name, container) ||
	       (len >= 6 && !strncmp(j->container, container, len));
}

struct fleet_watch *fleet_watch_new(u32 number, const struct recorder_link *r,
				    const char *container)
{
	struct fleet_watch *w = xcalloc(1, sizeof(*w));

	w->number = number;
	vec_each(j, &r->jvms) {
		struct watched_jvm one = { j->pid, j->started };
		if (is_in(j, container))
			vec_push(&w->jvms, one);
	}
	return w;
}

void fleet_watch_free(struct fleet_watch *w)
{
	if (!w)
		return;
	vec_fini(&w->jvms);
	free(w);
}

static bool runs(const struct recorder_link *r, const struct watched_jvm *one)
{
	vec_each(j, &r->jvms)
		if (j->pid == one->pid && j->started == one->started)
			return true;
	return false;
}

bool fleet_watch_look(struct fleet_watch *w, const struct recorder_link *r)
{
	size_t kept = 0;
	u32 before = w->nr_died;

	if (!r->is_up || !r->jvms.nr) /* a recorder that starts lists none at first */
		return false;
	for (size_t i = 0; i < w->jvms.nr; i++) {
		if (runs(r, &w->jvms.at[i]))
			w->jvms.at[kept++] = w->jvms.at[i];
		else
			w->nr_died++;
	}
	w->jvms.nr = kept;
	return w->nr_died > before;
}
