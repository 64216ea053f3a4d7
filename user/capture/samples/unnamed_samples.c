/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that lack names of an agent. */
#include "capture/samples/unnamed_samples.h"

static size_t bytes_of(const struct unnamed_sample *s)
{
	return sizeof(*s) + s->frames.cap * sizeof(s->frames.at[0]) +
	       s->unnamed.cap * sizeof(s->unnamed.at[0]);
}

void unnamed_samples_add(struct unnamed_samples *w, struct unnamed_sample *sample)
{
	vec_push(&w->samples, *sample);
	w->bytes += bytes_of(sample);
	sample->frames = (frame_list){ 0 };
	sample->unnamed = (unnamed_list){ 0 };
}

static void forget(struct unnamed_sample *s)
{
	vec_fini(&s->frames);
	vec_fini(&s->unnamed);
}

void unnamed_samples_retry(struct unnamed_samples *w, unnamed_samples_retry_fn retry, void *ctx)
{
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < w->samples.nr; i++) {
		struct unnamed_sample *s = &w->samples.at[i];
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

void unnamed_samples_fini(struct unnamed_samples *w)
{
	vec_each(s, &w->samples)
		forget(s);
	vec_fini(&w->samples);
	w->bytes = 0;
}
