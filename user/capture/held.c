/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of memory, held back until it is known whether the memory was freed. */
#include "capture/held.h"

static u64 key_of(u32 tid, u64 time_ns)
{
	return hash_u64(time_ns ^ hash_u64(tid));
}

static struct held_sample *find(const struct held *h, u64 key)
{
	const u64 *at = dict_find(&h->by_key, key);

	return at ? &h->samples.at[*at] : NULL;
}

void held_begin(struct held *h, u32 tid, u64 time_ns)
{
	u64 key = key_of(tid, time_ns);

	*dict_add(&h->by_key, key) = h->samples.nr;
	vec_push(&h->samples, (struct held_sample){ .time_ns = time_ns, .key = key });
}

/* The last sample takes its place. */
static void drop(struct held *h, struct held_sample *s)
{
	const struct held_sample *last = &h->samples.at[h->samples.nr - 1];

	dict_remove(&h->by_key, s->key);
	if (s != last) {
		*dict_find(&h->by_key, last->key) = (u64)(s - h->samples.at);
		*s = *last;
	}
	h->samples.nr--;
}

void held_name(struct held *h, u32 tid, u64 time_ns, const struct held_weight *weight)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (!s)
		return;
	s->weight = *weight;
	s->is_named = true;
	if (s->is_freed)
		drop(h, s);
}

void held_free(struct held *h, u32 tid, u64 time_ns)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (!s)
		return;
	s->is_freed = true;
	if (s->is_named)
		drop(h, s);
}

void held_weigh(const struct held_weight *w, struct profile *profile)
{
	u32 type = w->type;

	profile_add(profile, w->node, w->labels, type++, w->value);
	if (w->has_samples)
		profile_add(profile, w->node, w->labels, type++, 1);
	if (w->count)
		profile_add(profile, w->node, w->labels, type, w->count);
}

void held_release(struct held *h, u64 ended_ns, struct profile *profile)
{
	vec_each(s, &h->samples)
		if (s->is_named && !s->is_freed && s->time_ns + s->weight.age_ns <= ended_ns)
			held_weigh(&s->weight, profile);
}

void held_fini(struct held *h)
{
	dict_fini(&h->by_key);
	vec_fini(&h->samples);
}
