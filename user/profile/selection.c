/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a profile of which only some processes are wanted. */
#include "profile/selection.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "profile/count.h"

#define KEYS_MAX 64 /* a file may claim any */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_key(const char *word, size_t len, const char *key)
{
	return strlen(key) == len && !strncmp(word, key, len);
}

static u64 *nr_of_key(struct selection *s, const char *word, size_t len)
{
	vec_each(k, &s->keys)
		if (is_key(word, len, k->key))
			return &k->nr;
	if (s->keys.nr == KEYS_MAX)
		return NULL;
	vec_push(&s->keys, (struct selection_key){ .key = xstrndup(word, len) });
	return &s->keys.at[s->keys.nr - 1].nr;
}

static void count_stack(struct selection *s, const char *keys, u64 nr)
{
	bool is_cut = false;

	for (size_t len; *keys; keys += len + (keys[len] == ' ')) {
		len = strcspn(keys, " ");
		if (is_key(keys, len, "approximate")) {
			s->nr_approximate += nr;
			continue;
		}
		u64 *of_key = len ? nr_of_key(s, keys, len) : NULL;
		if (of_key)
			*of_key += nr;
		is_cut |= len > 0;
	}
	s->nr_truncated += is_cut ? nr : 0;
}

void selection_count(struct selection *s, const struct labels *l, u64 nr)
{
	s->nr += nr;
	if (l->pid)
		dict_add(&s->pids, l->pid);
	if (l->leaf && !strcmp(l->leaf, "inexact"))
		s->nr_inexact += nr;
	count_stack(s, l->stack ?: "", nr);
}

void selection_fini(struct selection *s)
{
	vec_each(k, &s->keys)
		free(k->key);
	vec_fini(&s->keys);
	dict_fini(&s->pids);
}

static void add(struct profile *p, const char *key, const char *text, u64 nr)
{
	const struct note *old = profile_find_note(p, key);
	u64 before = old ? old->value : 0;

	profile_note(p, key, text, nr > INT64_MAX - before ? INT64_MAX : before + nr);
}

/* Finds the note's number for the selected samples; false if it is unknown. */
static bool find_own(const struct selection *s, const char *key, u64 *nr)
{
	*nr = !strcmp(key, "samples")        ? s->nr
	      : !strcmp(key, "truncated")    ? s->nr_truncated
	      : !strcmp(key, "approximate")  ? s->nr_approximate
	      : !strcmp(key, "inexact_leaf") ? s->nr_inexact
					     : UINT64_MAX;
	if (*nr != UINT64_MAX)
		return s->knows_samples && (s->knows_stacks || !strcmp(key, "samples"));
	vec_each(k, &s->keys)
		if (!strcmp(k->key, key)) {
			*nr = k->nr;
			return s->knows_samples;
		}
	return false;
}

/*
 * Whether the note is about the fleet, the file or its sources, and not about the node's samples.
 */
static bool is_general(const char *key)
{
	return begins(key, NOTE_NODE) || begins(key, "fleet-") || begins(key, "source/") ||
	       !strcmp(key, "slices_lost");
}

/* The process of a note on one; -1 for a note on something else, 0 for all processes. */
static long process_of(const char *key)
{
	char *end;
	long pid = strtol(key + strlen(NOTE_INCOMPLETE), &end, 10);

	return end == key + strlen(NOTE_INCOMPLETE) || *end != '-' ? -1 : pid;
}

void selection_note(const struct selection *s, struct profile *p, const struct note *n)
{
	long pid = begins(n->key, NOTE_INCOMPLETE) ? process_of(n->key) : 0;
	u64 nr;

	if (is_general(n->key) || pid < 0 || (pid && dict_find(&s->pids, (u64)pid))) {
		add(p, n->key, n->text, n->value);
		return;
	}
	if (begins(n->key, NOTE_INCOMPLETE)) /* notes on single processes that are not selected */
		return;
	if (find_own(s, n->key, &nr))
		add(p, n->key, n->text, nr);
	auto_free char *key = xasprintf(NOTE_NODE "%s", n->key);
	auto_free char *text = xasprintf("%s (on the whole node)", n->text);
	add(p, key, text, n->value);
}

static bool has_stacks(const struct profile *p)
{
	vec_each(l, &p->labels)
		if (*l->stack)
			return true;
	return false;
}

static bool is_selection(const struct profile *p)
{
	vec_each(n, &p->notes)
		if (begins(n->key, NOTE_NODE))
			return true;
	return false;
}

/*
 * Adds a note of a profile that is itself a selection, with the number of this selection. Notes on
 * the whole node keep theirs.
 */
static void note_again(const struct selection *s, struct profile *p, const struct note *n)
{
	u64 nr;

	add(p, n->key, n->text, find_own(s, n->key, &nr) ? nr : n->value);
}

void profile_select(struct profile *p, labels_keep_fn keeps, const void *ctx)
{
	const struct note *truncated = profile_find_note(p, "truncated");
	struct selection s = {
		.knows_samples = true,
		.knows_stacks = (truncated && !truncated->value) || has_stacks(p),
	};
	typeof(p->notes) old = p->notes;
	bool is_again = is_selection(p);

	p->notes = (typeof(p->notes)){ 0 };
	profile_keep_labels(p, keeps, ctx);
	vec_each(w, &p->weights)
		selection_count(&s, &p->labels.at[w->labels],
				count_of(p, w->type, w->value, p->rate_hz));
	vec_each(n, &old) {
		(is_again ? note_again : selection_note)(&s, p, n);
		free(n->key);
		free(n->text);
	}
	vec_fini(&old);
	selection_fini(&s);
}
