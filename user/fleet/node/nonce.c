/* SPDX-License-Identifier: Apache-2.0 */
/* Nonces. */
#include "fleet/node/nonce.h"

#include <errno.h>
#include <string.h>

static void forget_old(struct nonces *n, u64 now_ms)
{
	size_t nr = 0;

	for (size_t i = 0; i < n->all.nr; i++)
		if (n->all.at[i].until_ms > now_ms)
			n->all.at[nr++] = n->all.at[i];
	n->all.nr = nr;
}

int nonces_add(struct nonces *n, const u8 *nonce, u64 now_ms, u64 until_ms)
{
	struct nonce new = { .until_ms = until_ms };

	forget_old(n, now_ms);
	vec_each(old, &n->all)
		if (!memcmp(old->bytes, nonce, sizeof(old->bytes)))
			return -EEXIST;
	if (n->all.nr >= NONCES_MAX)
		return -ENOSPC;
	memcpy(new.bytes, nonce, sizeof(new.bytes));
	vec_push(&n->all, new);
	return 0;
}

void nonces_fini(struct nonces *n)
{
	vec_fini(&n->all);
}
