/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of memory, held back until it is known whether the memory was freed. */
#include "capture/samples/live_allocs.h"

#define ENDED_MIN 4096

static u64 key_of(u32 tid, u64 time_ns)
{
	return hash_u64(time_ns ^ hash_u64(tid));
}

static struct live_alloc *find(const struct live_allocs *h, u64 key)
{
	const u64 *at = dict_find(&h->by_key, key);

	return at ? &h->samples.at[*at] : NULL;
}

void live_allocs_begin(struct live_allocs *h, pid_t pid, u32 tid, u64 time_ns)
{
	u64 key = key_of(tid, time_ns);

	h->nr_begun++;
	if (h->samples.nr == LIVE_ALLOCS_MAX) {
		h->nr_left_out++;
		return;
	}
	*dict_add(&h->by_key, key) = h->samples.nr;
	vec_push(&h->samples, (struct live_alloc){ .time_ns = time_ns, .key = key, .pid = pid });
	++*dict_add(&h->by_pid, (u64)pid);
}

/* Removes `s`; the last sample takes its place. */
static void drop(struct live_allocs *h, struct live_alloc *s)
{
	const struct live_alloc *last = &h->samples.at[h->samples.nr - 1];

	dict_remove(&h->by_key, s->key);
	if (s != last) {
		*dict_find(&h->by_key, last->key) = (u64)(s - h->samples.at);
		*s = *last;
	}
	h->samples.nr--;
}

static void add_if_old(const struct live_alloc *s, u64 ended_ns, struct cut *cut)
{
	if (s->time_ns + s->weight.age_ns <= ended_ns)
		live_allocs_weigh(&s->weight, cut);
}

void live_allocs_name(struct live_allocs *h, u32 tid, u64 time_ns,
		      const struct live_alloc_weight *weight, struct cut *cut)
{
	struct live_alloc *s = find(h, key_of(tid, time_ns));

	if (!s)
		return;
	s->weight = *weight;
	s->is_named = true;
	if (s->ended_ns)
		add_if_old(s, s->ended_ns, cut);
	if (s->is_freed || s->ended_ns)
		drop(h, s);
}

void live_allocs_free(struct live_allocs *h, u32 tid, u64 time_ns)
{
	struct live_alloc *s = find(h, key_of(tid, time_ns));

	/* no such sample, or its process has ended: the report is about another process */
	if (!s || s->ended_ns)
		return;
	s->is_freed = true;
	if (s->is_named)
		drop(h, s);
}

void live_allocs_forget(struct live_allocs *h, u32 tid, u64 time_ns)
{
	struct live_alloc *s = find(h, key_of(tid, time_ns));

	if (s)
		drop(h, s);
}

static void weigh(const struct live_alloc_weight *w, struct cut *cut, u32 type, u64 value)
{
	const struct weight weight = { w->node, w->labels, type, value };

	if (w->request)
		traces_add(&cut->traces, cut->profile, &weight, w->request,
			   w->is_counted && type == w->type);
	else
		profile_add(cut->profile, w->node, w->labels, type, value);
}

void live_allocs_weigh(const struct live_alloc_weight *w, struct cut *cut)
{
	u32 type = w->type;

	cut->counts.by_event[w->event] += w->is_counted;
	cut->counts.by_stop[w->stop] += w->is_counted;
	weigh(w, cut, type++, w->value);
	if (w->has_samples)
		weigh(w, cut, type++, 1);
	if (w->count)
		weigh(w, cut, type, w->count);
}

void live_allocs_end(struct live_allocs *h, pid_t pid, u64 time_ns)
{
	const u64 *nr = dict_find(&h->by_pid, (u64)pid);

	if (!nr)
		return;
	h->nr_ended += *nr;
	dict_remove(&h->by_pid, (u64)pid);
	u64 *last = dict_add(&h->last_ends, (u64)pid);
	vec_push(&h->ends, (struct live_allocs_end){ .time_ns = time_ns, .earlier = *last });
	*last = h->ends.nr;
}

bool live_allocs_is_due(const struct live_allocs *h)
{
	return h->nr_ended > ENDED_MIN && h->nr_ended > h->samples.nr / 4;
}

/* The end of the process that took a sample at `time_ns`; 0 if it is still running. */
static u64 end_of(const struct live_allocs *h, pid_t pid, u64 time_ns)
{
	const u64 *last = dict_find(&h->last_ends, (u64)pid);
	u64 end_ns = 0;

	for (u64 i = last ? *last : 0; i && h->ends.at[i - 1].time_ns >= time_ns;
	     i = h->ends.at[i - 1].earlier)
		end_ns = h->ends.at[i - 1].time_ns;
	return end_ns;
}

bool live_allocs_lives(struct live_allocs *h, pid_t pid, u32 tid, u64 time_ns)
{
	struct live_alloc *s = find(h, key_of(tid, time_ns));

	if (s)
		s->is_live = true;
	return end_of(h, pid, time_ns);
}

/* `ended_ns` is the end for running processes; 0 if the recording goes on. */
static void judge(struct live_allocs *h, u64 ended_ns, struct cut *cut)
{
	for (size_t i = h->samples.nr; i-- > 0;) {
		struct live_alloc *s = &h->samples.at[i];
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
			add_if_old(s, end_ns, cut);
			drop(h, s);
		}
	}
	dict_fini(&h->last_ends);
	h->ends.nr = 0;
	h->nr_ended = 0;
}

void live_allocs_judge(struct live_allocs *h, struct cut *cut)
{
	judge(h, 0, cut);
}

void live_allocs_release(struct live_allocs *h, u64 ended_ns, struct cut *cut)
{
	judge(h, ended_ns, cut);
}

void live_allocs_fini(struct live_allocs *h)
{
	dict_fini(&h->by_key);
	vec_fini(&h->samples);
	dict_fini(&h->by_pid);
	dict_fini(&h->last_ends);
	vec_fini(&h->ends);
}
