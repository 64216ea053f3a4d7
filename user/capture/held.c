/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of memory, held back until it is known whether the memory was freed. */
#include "capture/held.h"

#define ENDED_MIN 4096

static u64 key_of(u32 tid, u64 time_ns)
{
	return hash_u64(time_ns ^ hash_u64(tid));
}

static struct held_sample *find(const struct held *h, u64 key)
{
	const u64 *at = dict_find(&h->by_key, key);

	return at ? &h->samples.at[*at] : NULL;
}

void held_begin(struct held *h, pid_t pid, u32 tid, u64 time_ns)
{
	u64 key = key_of(tid, time_ns);

	if (h->samples.nr == HELD_MAX) {
		h->nr_left_out++;
		return;
	}
	*dict_add(&h->by_key, key) = h->samples.nr;
	vec_push(&h->samples, (struct held_sample){ .time_ns = time_ns, .key = key, .pid = pid });
	++*dict_add(&h->by_pid, (u64)pid);
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

static void add_if_old(const struct held_sample *s, u64 ended_ns, struct profile *profile)
{
	if (s->time_ns + s->weight.age_ns <= ended_ns)
		held_weigh(&s->weight, profile);
}

void held_name(struct held *h, u32 tid, u64 time_ns, const struct held_weight *weight,
	       struct profile *profile)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (!s)
		return;
	s->weight = *weight;
	s->is_named = true;
	if (s->ended_ns)
		add_if_old(s, s->ended_ns, profile);
	if (s->is_freed || s->ended_ns)
		drop(h, s);
}

void held_free(struct held *h, u32 tid, u64 time_ns)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (!s || s->ended_ns) /* what is told so late is of another process */
		return;
	s->is_freed = true;
	if (s->is_named)
		drop(h, s);
}

void held_forget(struct held *h, u32 tid, u64 time_ns)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (s)
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

void held_end(struct held *h, pid_t pid, u64 time_ns)
{
	const u64 *nr = dict_find(&h->by_pid, (u64)pid);

	if (!nr)
		return;
	h->nr_ended += *nr;
	dict_remove(&h->by_pid, (u64)pid);
	u64 *last = dict_add(&h->last_ends, (u64)pid);
	vec_push(&h->ends, (struct held_end){ .time_ns = time_ns, .earlier = *last });
	*last = h->ends.nr;
}

bool held_is_due(const struct held *h)
{
	return h->nr_ended > ENDED_MIN && h->nr_ended > h->samples.nr / 4;
}

/* When the process ended that took a sample then; 0: not yet. */
static u64 end_of(const struct held *h, pid_t pid, u64 time_ns)
{
	const u64 *last = dict_find(&h->last_ends, (u64)pid);
	u64 end_ns = 0;

	for (u64 i = last ? *last : 0; i && h->ends.at[i - 1].time_ns >= time_ns;
	     i = h->ends.at[i - 1].earlier)
		end_ns = h->ends.at[i - 1].time_ns;
	return end_ns;
}

bool held_lives(struct held *h, pid_t pid, u32 tid, u64 time_ns)
{
	struct held_sample *s = find(h, key_of(tid, time_ns));

	if (s)
		s->is_live = true;
	return end_of(h, pid, time_ns);
}

/* `ended_ns` is for processes that run; 0: they go on. */
static void judge(struct held *h, u64 ended_ns, struct profile *profile)
{
	for (size_t i = h->samples.nr; i-- > 0;) {
		struct held_sample *s = &h->samples.at[i];
		u64 end_ns = end_of(h, s->pid, s->time_ns) ?: ended_ns;
		bool was_live = s->is_live;

		s->is_live = false;
		if (!end_ns || (s->ended_ns && !ended_ns))
			continue;
		if (!was_live || s->is_freed)
			drop(h, s);
		else if (!s->is_named)
			s->ended_ns = end_ns;
		else {
			add_if_old(s, end_ns, profile);
			drop(h, s);
		}
	}
	dict_fini(&h->last_ends);
	h->ends.nr = 0;
	h->nr_ended = 0;
}

void held_judge(struct held *h, struct profile *profile)
{
	judge(h, 0, profile);
}

void held_release(struct held *h, u64 ended_ns, struct profile *profile)
{
	judge(h, ended_ns, profile);
}

void held_fini(struct held *h)
{
	dict_fini(&h->by_key);
	vec_fini(&h->samples);
	dict_fini(&h->by_pid);
	dict_fini(&h->last_ends);
	vec_fini(&h->ends);
}
