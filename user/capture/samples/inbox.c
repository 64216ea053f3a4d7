/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a turn, sorted by time. */
#include "capture/samples/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "capture/unwind/sample_stack.h"
#include "proc/mapping.h"

static size_t sample_size(const struct sample *s)
{
	return sizeof(*s) + sample_nr_words(s) * sizeof(u64);
}

static void add(struct inbox *in, struct item item)
{
	item.order = (u32)in->items.nr;
	vec_push(&in->items, item);
}

static void add_record(const struct inbox_feed *feed, enum item_kind kind, u64 time_ns,
		       const void *record, size_t size)
{
	add(feed->inbox, (struct item){ .kind = kind,
					.time_ns = time_ns,
					.size = (u32)size,
					.record = record,
					.recording = feed->recording });
}

static void add_of_node(const struct inbox_feed *feed, u32 kind, const void *record, size_t len)
{
	const struct process_record *process = record;

	if (kind >= RECORD_FORK && kind <= RECORD_HEADLESS && len >= sizeof(*process))
		add_record(feed, ITEM_PROCESS, process->time_ns, process, sizeof(*process));
	else
		feed->inbox->malformed++;
}

static void add_of_recording(const struct inbox_feed *feed, u32 kind, const void *record,
			     size_t len)
{
	const struct sample *sample = record;
	const struct selection_record *selection = record;
	const struct freed_record *freed = record;

	if ((kind == RECORD_SAMPLE || kind == RECORD_UNWALKED || kind == RECORD_PENDING) &&
	    len >= sizeof(*sample) && len >= sample_size(sample))
		add_record(feed, ITEM_SAMPLE, sample->time_ns, sample, sample_size(sample));
	else if ((kind == RECORD_SELECTED_FORK || kind == RECORD_SELECTED_EXEC) &&
		 len >= sizeof(*selection))
		add_record(feed, ITEM_SELECTION, selection->time_ns, selection, sizeof(*selection));
	else if (kind == RECORD_FREED && len >= sizeof(*freed))
		add_record(feed, ITEM_FREED, freed->time_ns, freed, sizeof(*freed));
	else
		feed->inbox->malformed++;
}

void inbox_add_record(const void *record, size_t len, void *feed)
{
	const struct inbox_feed *f = feed;
	u32 kind = 0;

	if (len >= sizeof(kind))
		memcpy(&kind, record, sizeof(kind));
	if (f->recording)
		add_of_recording(f, kind, record, len);
	else
		add_of_node(f, kind, record, len);
}

static bool has_path(const struct side_event *e)
{
	return e->kind == SIDE_MMAP || e->kind == SIDE_CODE;
}

void inbox_add_side(const struct side_event *e, void *inbox)
{
	struct item item = { .kind = ITEM_SIDE, .time_ns = e->time_ns, .side = *e };

	if (has_path(e))
		item.side.mapping.path = path_new(e->mapping.path, strlen(e->mapping.path));
	add(inbox, item);
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void inbox_sort(struct inbox *in)
{
	if (in->items.nr)
		qsort(in->items.at, in->items.nr, sizeof(in->items.at[0]), by_time);
}

static void item_fini(struct item *item)
{
	if (item->kind == ITEM_SIDE && has_path(&item->side))
		path_free(item->side.mapping.path);
	if (item->is_held)
		free((void *)item->record);
}

/* The ring's owner takes back the record after this turn. */
static void hold(struct inbox *in, const struct item *item)
{
	struct item held = *item;

	held.is_held = true;
	if (held.record)
		held.record = memcpy(xmalloc(held.size), held.record, held.size);
	add(in, held);
}

void inbox_begin_turn(struct inbox *in, u64 end_ns, struct inbox *turn)
{
	struct inbox empty = *turn;
	size_t nr = 0;

	inbox_sort(in);
	*turn = *in;
	*in = empty;
	in->malformed = turn->malformed;
	vec_each(item, &turn->items) {
		if (item->time_ns >= end_ns && !item->is_held)
			hold(in, item);
		else
			turn->items.at[nr++] = *item;
	}
	turn->items.nr = nr;
}

void inbox_drop(struct inbox *in, const struct recording *recording)
{
	size_t kept = 0;

	vec_each(item, &in->items) {
		if (item->recording == recording)
			item_fini(item);
		else
			in->items.at[kept++] = *item;
	}
	in->items.nr = kept;
}

void inbox_clear(struct inbox *in)
{
	vec_each(item, &in->items)
		item_fini(item);
	in->items.nr = 0;
}

void inbox_fini(struct inbox *in)
{
	inbox_clear(in);
	vec_fini(&in->items);
}
