/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that wait for unwind rows. */
#include "capture/samples/unwalked_samples.h"

#include <stdlib.h>

#include "capture/kernel/task.h"
#include "capture/unwind/sample_stack.h"

static size_t bytes_of(const struct sample *s)
{
	return sizeof(*s) + sample_nr_words(s) * sizeof(u64);
}

bool unwalked_samples_keep(struct unwalked_samples *u, const struct sample *sample)
{
	size_t bytes = bytes_of(sample);

	if (u->bytes + bytes > UNWALKED_BYTES_MAX)
		return false;
	vec_push(&u->list, xmemdup(sample, bytes));
	u->bytes += bytes;
	return true;
}

bool unwalked_samples_has(const struct unwalked_samples *u, struct process_id id)
{
	vec_each(s, &u->list)
		if (process_id_same(id, task_process(&(*s)->task)))
			return true;
	return false;
}

u64 unwalked_samples_oldest_ns(const struct unwalked_samples *u)
{
	u64 oldest_ns = TIME_NEVER;

	vec_each(sample, &u->list)
		if ((*sample)->time_ns < oldest_ns)
			oldest_ns = (*sample)->time_ns;
	return oldest_ns;
}

void unwalked_samples_each(struct unwalked_samples *u, const struct process_id *only,
			   unwalked_sample_fn fn, void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->list.nr; i++) {
		struct sample *s = u->list.at[i];
		bool is_meant = !only || process_id_same(*only, task_process(&s->task));
		if (is_meant && fn(s, ctx)) {
			u->bytes -= bytes_of(s);
			free(s);
		} else {
			u->list.at[kept++] = s;
		}
	}
	u->list.nr = kept;
}

void unwalked_samples_fini(struct unwalked_samples *u)
{
	vec_each(s, &u->list)
		free(*s);
	vec_fini(&u->list);
	u->bytes = 0;
}
