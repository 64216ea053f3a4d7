/* SPDX-License-Identifier: Apache-2.0 */
/* Where, when and of what a profile is recorded. */
#include "capture/origin.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"

struct profile *origin_profile(const struct session_options *o)
{
	struct profile *p = profile_new();
	char host[256] = "";

	if (o->lines)
		frames_keep_lines(p->frames);
	p->slot_ns = o->slot_ns;
	gethostname(host, sizeof(host) - 1);
	free(p->host);
	p->host = xstrdup(host);
	p->start_wall_ns = time_wall_ns();
	free(p->target);
	p->target = xstrdup(targets_text(o->targets));
	p->rate_hz = o->sampling.freq_hz;
	return p;
}
