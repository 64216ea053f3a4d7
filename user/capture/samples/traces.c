/* SPDX-License-Identifier: Apache-2.0 */
/* The traces of a cut's samples. */
#include "capture/samples/traces.h"

#include <string.h>

static void add(struct profile *p, const struct weight *w)
{
	profile_add(p, w->node, w->labels, w->type, w->value);
}

void traces_add(struct traces *t, struct profile *p, const struct weight *w,
		const struct request *request, bool is_sample)
{
	struct traced_weight new = { .weight = *w, .is_sample = is_sample };

	memcpy(new.trace, request->trace, sizeof(new.trace));
	memcpy(new.span, request->span, sizeof(new.span));
	if (t->ring.nr < TRACES_MAX) {
		vec_push(&t->ring, new);
		return;
	}
	struct traced_weight *oldest = &t->ring.at[t->oldest];
	add(p, &oldest->weight);
	t->nr_dropped += oldest->is_sample;
	*oldest = new;
	t->oldest = (t->oldest + 1) % TRACES_MAX;
}

void traces_change(struct traces *t, weight_fn change, void *ctx)
{
	vec_each(traced, &t->ring)
		change(&traced->weight, ctx);
}

static void add_hex(const u8 *bytes, size_t nr, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < nr; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

void traces_release(struct traces *t, struct profile *p)
{
	vec_each(traced, &t->ring) {
		char trace[2 * REQUEST_TRACE_BYTES + 1], span[2 * REQUEST_SPAN_BYTES + 1];
		struct labels labels = p->labels.at[traced->weight.labels];
		add_hex(traced->trace, sizeof(traced->trace), trace);
		add_hex(traced->span, sizeof(traced->span), span);
		labels.trace = trace;
		labels.span = span;
		traced->weight.labels = profile_intern_labels(p, &labels);
		add(p, &traced->weight);
	}
	traces_fini(t);
}

void traces_fini(struct traces *t)
{
	vec_fini(&t->ring);
	t->oldest = 0;
}
