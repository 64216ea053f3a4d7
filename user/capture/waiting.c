/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that lack names. */
#include "capture/waiting.h"

static size_t bytes_of(const struct waiting_sample *s)
{
	return sizeof(*s) + s->frames.cap * sizeof(s->frames.at[0]) +
	       s->unnamed.cap * sizeof(s->unnamed.at[0]);
}

void waiting_add(struct waiting *w, const struct sample *head, struct sample_weight weight,
		 frame_list *frames, unnamed_list *unnamed)
{
	vec_push(&w->samples, (struct waiting_sample){ *head, weight, *frames, *unnamed });
	w->bytes += bytes_of(&w->samples.at[w->samples.nr - 1]);
	*frames = (frame_list){ 0 };
	*unnamed = (unnamed_list){ 0 };
}

static void forget(struct waiting_sample *s)
{
	vec_fini(&s->frames);
	vec_fini(&s->unnamed);
}

void waiting_retry(struct waiting *w, waiting_retry_fn retry, void *ctx)
{
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < w->samples.nr; i++) {
		struct waiting_sample *s = &w->samples.at[i];
		if (retry(s, ctx)) {
			forget(s);
			continue;
		}
		bytes += bytes_of(s);
		w->samples.at[kept++] = *s;
	}
	w->samples.nr = kept;
	w->bytes = bytes;
}

void waiting_fini(struct waiting *w)
{
	vec_each(s, &w->samples)
		forget(s);
	vec_fini(&w->samples);
	w->bytes = 0;
}
