/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as bytes for the controller's gather. */
#pragma once

#include "fleet/controller/gather.h"

static inline void gather_message(struct gather *g, const char *subject, const void *bytes,
				  size_t len)
{
	struct fleet_message m;

	if (message_decode(bytes, len, &m))
		return;
	gather_take(g, subject, &m);
	message_fini(&m);
}
