/* SPDX-License-Identifier: Apache-2.0 */
/* A recording below the memory limit of a control group. */
#include "capture/memory_limit.h"

#include <malloc.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "proc/cgroup.h"

/* with a limit of this size or more, a recording with default tables fits */
#define MATTERS_BYTES (256u << 20)
/* budget of symbols: this fraction of the room at the start */
#define SYMBOLS_SHARE     8
#define RING_SHARE        16
#define BACKLOG_SHARE     16 /* of records copied out of the ring */
#define RESULTS_SHARE     32 /* of workers, before more work begins */
#define SYMBOLS_BYTES_MIN (1u << 20)
#define LOW_SHARE         4 /* caches are dropped when less than 1/4 of the limit is left */
#define CHECK_NS          (50 * NS_PER_MS)
#define LARGE_BLOCK_BYTES (128 << 10)
/* below this limit, tables are half as large and there is one worker */
#define TIGHT_BYTES (128u << 20)

void memory_limit_begin(struct memory_limit *m, struct symbolizer *s, struct workers *w)
{
	struct memory_room room;

	*m = (struct memory_limit){ 0 };
	if (!memory_room_read(getpid(), &room) || room.limit >= MATTERS_BYTES)
		return;
	m->limit = room.limit;
	/* Large blocks go back to the system at once. By default malloc keeps more and more of
	 * them. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	m->symbol_bytes = room.left / SYMBOLS_SHARE;
	symbolizer_set_budget(s, m->symbol_bytes);
	if (room.limit < TIGHT_BYTES)
		workers_save_memory(w, room.limit / RESULTS_SHARE);
}

struct tables_sizes memory_limit_tables(const struct memory_limit *m)
{
	struct tables_sizes t = TABLES_SIZES_DEFAULT;

	if (m->limit && m->limit < TIGHT_BYTES) {
		t.nr_words /= 2;
		t.nr_ranges /= 2;
	}
	return t;
}

size_t memory_limit_ring_bytes(const struct memory_limit *m)
{
	return m->limit / RING_SHARE;
}

size_t memory_limit_backlog_bytes(const struct memory_limit *m)
{
	return m->limit / BACKLOG_SHARE;
}

/* Freed memory counts until it is returned to the system. */
static void drop_caches(struct memory_limit *m, struct symbolizer *s)
{
	if (m->symbol_bytes > SYMBOLS_BYTES_MIN)
		m->symbol_bytes /= 2;
	symbolizer_set_budget(s, m->symbol_bytes);
	symbolizer_drop_caches(s);
	malloc_trim(0);
}

void memory_limit_check(struct memory_limit *m, struct symbolizer *s)
{
	struct memory_room room;
	u64 now = m->limit ? time_mono_ns() : 0;

	if (!m->limit || now - m->checked_ns < CHECK_NS)
		return;
	m->checked_ns = now;
	if (!memory_room_read(getpid(), &room) || room.left > m->limit / LOW_SHARE)
		return;
	drop_caches(m, s);
	if (!m->nr_drops++)
		log_warn("the control group's memory limit of %llu MB is nearly reached: names are "
			 "read again and again; raise it to 128 MB",
			 (unsigned long long)(m->limit >> 20));
}
