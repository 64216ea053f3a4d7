/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restart.h"

u64 restart_at_ns(struct restart *r, u64 now_ns)
{
	const u64 credit_ns = (RESTARTS_AT_ONCE - 1) * RESTART_EACH_NS;
	u64 paid_ns = r->paid_until_ns > now_ns ? r->paid_until_ns : now_ns;

	r->paid_until_ns = paid_ns + RESTART_EACH_NS;
	return paid_ns > now_ns + credit_ns ? paid_ns - credit_ns : now_ns;
}
