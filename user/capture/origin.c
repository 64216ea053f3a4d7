/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a profile. */
#include "capture/origin.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

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
	free(p->target);
	p->target = xstrdup(targets_text(o->targets));
	p->rate_hz = o->sampling.freq_hz;
	return p;
}
