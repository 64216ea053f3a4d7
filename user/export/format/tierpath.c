/* SPDX-License-Identifier: Apache-2.0 */
/* The path to the current node while a page is read. */
#include "export/format/tierpath.h"

#include "base/auto.h"
#include "export/format/section.h"
#include "export/format/varint.h"

#define NEVER        UINT64_MAX
#define NODES_SPARE  1000000
#define NODES_FACTOR 4

static const enum frame_kind kinds[NR_TIER_PARTS] = { FRAME_INTERPRETED, FRAME_C1, FRAME_INLINED };

/* The undivided nodes have room in `p` in any case, and the path that reaches the limit, too. */
void tierpath_init(struct tierpath *path, struct profile *p, size_t nr)
{
	size_t wanted = nr * NODES_FACTOR + NODES_SPARE, undivided = nr + FORMAT_DEPTH_MAX + 1;
	size_t room = p->nodes_max > p->nodes.nr ? p->nodes_max - p->nodes.nr : 0;
	size_t spare = room > undivided ? room - undivided : 0;

	*path = (struct tierpath){ .p = p, .nr_nodes = 1 };
	path->nodes_max = p->nodes.nr + (wanted < spare ? wanted : spare);
	vec_push(&path->steps, (struct tierpath_step){ .part = NR_TIER_PARTS, .first_end = NEVER });
}

void tierpath_fini(struct tierpath *path)
{
	vec_fini(&path->steps);
}

static u64 own_end(const struct tierpath_step *s)
{
	return s->part < NR_TIER_PARTS ? s->ends[s->part] : NEVER;
}

static frame_id other_kind(struct tierpath *path, frame_id frame, enum frame_kind kind)
{
	const struct frame *f = frames_get(path->p->frames, frame);
	auto_free char *function = frame_function(f);

	return frames_intern_line(path->p->frames, kind, function, f->module,
				  (struct source_line){ f->file, f->line });
}

/* Switches to the part that the next weight belongs to. */
static void choose_part(struct tierpath *path, size_t i)
{
	struct tierpath_step *s = &path->steps.at[i];
	u8 old = s->part;

	while (s->part < NR_TIER_PARTS && s->ends[s->part] <= path->sum)
		s->part++;
	if (s->part == old)
		return;
	s->frame = s->part == NR_TIER_PARTS ? s->c2 : other_kind(path, s->c2, kinds[s->part]);
	if (path->nr_nodes > i)
		path->nr_nodes = i;
}

static void find_first_ends(struct tierpath *path, size_t from)
{
	for (size_t i = from; i < path->steps.nr; i++) {
		u64 above = path->steps.at[i - 1].first_end, own = own_end(&path->steps.at[i]);
		path->steps.at[i].first_end = own < above ? own : above;
	}
}

/* Called when some part is full. Updates all steps from the first full one on. */
static void cross(struct tierpath *path)
{
	size_t first = 1, last = path->steps.nr - 1;

	while (first < last) {
		size_t middle = (first + last) / 2;
		if (path->steps.at[middle].first_end <= path->sum)
			last = middle;
		else
			first = middle + 1;
	}
	for (size_t i = first; i < path->steps.nr; i++)
		choose_part(path, i);
	find_first_ends(path, first);
}

/*
 * Limits hostile files: dividing every step of a deep path would make a node per weight and step.
 */
static void stop_dividing(struct tierpath *path)
{
	for (size_t i = 1; i < path->steps.nr; i++) {
		path->steps.at[i].part = NR_TIER_PARTS;
		path->steps.at[i].first_end = NEVER;
	}
}

bool tierpath_up(struct tierpath *path, size_t depth)
{
	bool is_good = true;

	for (size_t i = depth + 1; i < path->steps.nr; i++)
		is_good &= path->steps.at[i].part == NR_TIER_PARTS;
	path->steps.nr = depth + 1;
	if (path->nr_nodes > path->steps.nr)
		path->nr_nodes = path->steps.nr;
	return is_good;
}

void tierpath_down(struct tierpath *path, frame_id frame)
{
	u64 first_end = path->steps.at[path->steps.nr - 1].first_end;

	vec_push(&path->steps, (struct tierpath_step){ .frame = frame,
						       .c2 = frame,
						       .part = NR_TIER_PARTS,
						       .first_end = first_end });
}

bool tierpath_divide(struct tierpath *path, const u64 parts[NR_TIER_PARTS])
{
	struct tierpath_step *s = &path->steps.at[path->steps.nr - 1];
	u64 end = path->sum;

	if (path->p->nodes.nr >= path->nodes_max)
		return true;
	for (int i = 0; i < NR_TIER_PARTS; i++) {
		if (parts[i] > VARINT_MAX - end)
			return false;
		s->ends[i] = end += parts[i];
	}
	s->c2 = other_kind(path, s->frame, FRAME_C2);
	s->part = 0;
	s->frame = other_kind(path, s->c2, kinds[0]);
	choose_part(path, path->steps.nr - 1);
	find_first_ends(path, path->steps.nr - 1);
	return true;
}

node_id tierpath_node(struct tierpath *path)
{
	for (; path->nr_nodes < path->steps.nr; path->nr_nodes++) {
		struct tierpath_step *s = &path->steps.at[path->nr_nodes];
		s->node = profile_child(path->p, s[-1].node, s->frame);
	}
	return path->steps.at[path->steps.nr - 1].node;
}

void tierpath_add(struct tierpath *path, labels_id labels, u32 type, u64 value)
{
	while (value) {
		u64 room = path->steps.at[path->steps.nr - 1].first_end;
		room = room == NEVER ? value : room - path->sum;
		u64 part = value < room ? value : room;

		profile_add(path->p, tierpath_node(path), labels, type, part);
		value -= part;
		path->sum += part;
		if (path->p->nodes.nr >= path->nodes_max)
			stop_dividing(path);
		else if (path->steps.at[path->steps.nr - 1].first_end <= path->sum)
			cross(path);
	}
}
