/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a node of the fleet. */
#include "fleet/member_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

void member_run_free(struct run *r)
{
	free(r->bytes);
	free(r);
}

u64 member_now_ns(const struct member *n)
{
	return n->host->mono_ns(n->host->ctx);
}

struct run *member_find(struct member *n, const u8 *id)
{
	vec_each(r, &n->runs)
		if (!memcmp((*r)->request.id, id, FLEET_ID_LEN))
			return *r;
	return NULL;
}

void member_drop(struct member *n, struct run *r)
{
	for (size_t i = 0; i < n->runs.nr; i++) {
		if (n->runs.at[i] != r)
			continue;
		memmove(&n->runs.at[i], &n->runs.at[i + 1],
			(n->runs.nr - i - 1) * sizeof(n->runs.at[0]));
		n->runs.nr--;
		break;
	}
	member_run_free(r);
}

void member_publish(const struct member *n, const char *to, const struct fleet_message *m)
{
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	n->host->publish(n->host->ctx, to, bytes.at, bytes.len);
}

void member_publish_own(const struct member *n, const char *to, const struct fleet_message *m)
{
	auto_free char *own = xasprintf("%s.%s", to, n->name);

	member_publish(n, own, m);
}

void member_say_done(const struct member *n, const struct run *r,
		     const struct member_result *result)
{
	struct fleet_message m = { .kind = MESSAGE_DONE };
	struct fleet_done *d = &m.done;

	memcpy(d->id, r->request.id, sizeof(d->id));
	copy_text(d->node, sizeof(d->node), n->name);
	d->instance = n->instance;
	d->verdict = result->verdict;
	d->size = r->len;
	memcpy(d->sha256, r->sha256, sizeof(d->sha256));
	d->samples = result->samples;
	d->lost = result->lost;
	d->profile = result->profile;
	d->nr_died = result->nr_died;
	d->covered_ms = result->covered_ms;
	copy_text(d->why, sizeof(d->why), *r->stopped ? r->stopped : result->why);
	member_publish_own(n, r->reply, &m);
}
