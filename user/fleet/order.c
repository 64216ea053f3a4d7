/* SPDX-License-Identifier: Apache-2.0 */
/* A controller's order as a request to nodes. */
#include "fleet/order.h"

#include <string.h>

#include "fleet/key.h"

struct fleet_request order_request(const struct controller_order *o, enum fleet_want want)
{
	struct fleet_request r = { .want = want,
				   .hz = o->hz,
				   .duration_s = o->duration_s,
				   .ago_s = o->ago_s,
				   .share_ppb = FLEET_PPB };

	memcpy(r.selector, o->selector, sizeof(r.selector));
	memcpy(r.events, o->events, sizeof(r.events));
	memcpy(r.reason, o->reason, sizeof(r.reason));
	memcpy(r.coin, o->coin, sizeof(r.coin));
	return r;
}

int order_seal(const struct fleet_request *r, const u8 *private_key, struct str *out)
{
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	int err = request_encode(r, &m.sealed);

	err = err ?: key_sign(private_key, KEY_FOR_REQUEST, &m.sealed);
	if (!err)
		message_encode(&m, out);
	return err;
}
