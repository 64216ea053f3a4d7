/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of records that BPF programs fill. */
#include "capture/kernel/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

struct ring {
	struct ring_place place;
	struct ring_buffer *buffer;
	ring_record_fn record; /* during ring_drain */
	void *ctx;
};

static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *r = ctx;

	return r->record(data, len, r->ctx) ? 0 : -ENOBUFS;
}

int ring_new(const struct ring_place *place, struct ring **out)
{
	struct ring *r = xcalloc(1, sizeof(*r));

	r->place = *place;
	r->buffer = ring_buffer__new(place->fd, on_record, r, NULL);
	if (!r->buffer) {
		int err = -errno;
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->buffer);
	free(r);
}

int ring_drain(struct ring *r, ring_record_fn record, void *ctx)
{
	r->record = record;
	r->ctx = ctx;
	int nr = ring_buffer__consume(r->buffer);
	return nr < 0 ? nr : 0;
}

int ring_fd(const struct ring *r)
{
	return r->place.fd;
}

bool ring_answer_call(struct ring *r)
{
	return __atomic_exchange_n(r->place.is_called, 0, __ATOMIC_SEQ_CST);
}

void ring_set_halvings(struct ring *r, u32 halvings)
{
	if (r->place.halvings)
		__atomic_store_n(r->place.halvings, halvings, __ATOMIC_RELAXED);
}
