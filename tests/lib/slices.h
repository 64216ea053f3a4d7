/* SPDX-License-Identifier: Apache-2.0 */
/* Slices in a store, for its tests. */
#pragma once

#include "stores.h"

#include <errno.h>

#include "export/slices/slice_reader.h"
#include "export/slices/slice_writer.h"

#define SLICE_NS (10 * NS_PER_SEC)

/* A record whose stacks weigh `value` ns, with its uses. Returns 0 or a negative errno. */
static inline int add_record(struct store *s, struct slice_writer *w, u64 begin, u64 value,
			     const struct store_use *uses, size_t nr)
{
	struct profile *p = profile_new();
	auto_str struct str record = { 0 };
	bool begins;

	profile_add_type(p, "cpu", "ns");
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ .pid = 7 }), 0, value);
	assert_int_equal(slice_writer_add(w, p, begin, begin + SLICE_NS, &record, &begins), 0);
	profile_free(p);
	return store_add_slice(s, record.at, record.len, begin, begin + SLICE_NS, uses, nr);
}

static inline int add_slice(struct store *s, struct slice_writer *w, u64 begin, u64 value)
{
	const struct store_use uses[] = { { "cpu", "cart", value },
					  { "cpu", "shop", 3 * value },
					  { "alloc", "shop", 7 * value } };

	return add_record(s, w, begin, value, uses, ARRAY_SIZE(uses));
}

/* The sum of all weights in [from, to). *lost: slices that could not be read. */
static inline u64 weight_of(struct store *s, u64 from, u64 to, u64 *lost)
{
	struct slice_query q = { .from_wall_ns = from, .to_wall_ns = to };
	struct profile *p = profile_new();
	int fd;

	while ((fd = store_open_slices(s, &from, to)) >= 0) {
		auto_str struct str bytes = { 0 }, why = { 0 };
		char chunk[4096];
		ssize_t got;
		while ((got = read(fd, chunk, sizeof(chunk))) > 0)
			str_add_bytes(&bytes, chunk, (size_t)got);
		close(fd);
		if (slices_read((u8 *)bytes.at, bytes.len, &q, p, &why))
			fail_msg("%s", why.at);
	}
	assert_int_equal(fd, -ENOENT);
	u64 total = p->types.nr ? profile_total(p, 0) : 0;
	const struct note *n = profile_find_note(p, "slices_lost");
	*lost = n ? n->value : 0;
	profile_free(p);
	return total;
}
