/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads speedscope's file format: profiles over one list of frames, either "sampled" (a stack and a
 * weight per sample) or "evented" (frames that open and close). Source: speedscope's
 * file-format-schema.json.
 * Part of export/readers/json_tables.h.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

struct speedscope {
	struct profile *p;
	struct str *why;
	struct stack_adder *stacks;
	VEC(frame_id) frames; /* by their number in the file */
	/* written by sysflame: each profile is a value type; in other files, a thread */
	bool is_ours;
	size_t nr_profiles;
};

/* One profile of the file. */
struct speedscope_profile {
	const json_t *json;
	const char *name;
	u32 type;
	labels_id labels;
	double scale; /* factor from the profile's unit to the type's unit */
};

static int refuse(struct speedscope *s, const struct speedscope_profile *one, const char *fault)
{
	str_addf(s->why, "profile \"%s\": %s", one->name, fault);
	return -EINVAL;
}

static int read_frames(struct speedscope *s, const json_t *frames)
{
	const json_t *f;
	size_t i;

	json_array_foreach(frames, i, f)
	{
		const char *file = json_text(f, "file");
		s64 line = json_index(json_object_get(f, "line"), UINT32_MAX);
		bool is_kind = s->is_ours && line <= 0;
		auto_free char *kind = is_kind ? xasprintf("[%s]", file) : xstrdup("");
		struct source_line source = { .file = is_kind ? "" : file,
					      .line = line > 0 ? (u32)line : 0 };
		vec_push(&s->frames,
			 frame_from_external(s->p, json_text(f, "name"), "", kind, false, source));
	}
	return 0;
}

static int add(struct speedscope *s, const struct speedscope_profile *one, s64 value)
{
	auto_str struct str why = { 0 };
	node_id node;
	int err = stack_find(s->stacks, &node, &why);

	if (!err && value)
		err = stack_add(s->stacks, node, one->labels, one->type, value, &why);
	return err ? refuse(s, one, why.at) : 0;
}

static int read_sampled(struct speedscope *s, const struct speedscope_profile *one)
{
	const json_t *samples = json_object_get(one->json, "samples"), *stack, *number;
	const json_t *weights = json_object_get(one->json, "weights");
	size_t i, k;

	if (json_array_size(samples) != json_array_size(weights))
		return refuse(s, one, "it has not as many weights as samples");
	json_array_foreach(samples, i, stack)
	{
		s64 value = json_scaled(json_array_get(weights, i), one->scale);
		if (value < 0)
			return refuse(s, one, "a weight is no number from 0 to 2^53 - 1");
		json_array_foreach(stack, k, number)
		{
			s64 frame = json_index(number, s->frames.nr);
			if (frame < 0)
				return refuse(s, one, "a stack has a frame that does not exist");
			vec_push(&s->stacks->frames, s->frames.at[frame]);
		}
		int err = add(s, one, value);
		if (err)
			return err;
	}
	return 0;
}

static int add_span(struct speedscope *s, const struct speedscope_profile *one, node_id node,
		    double value)
{
	auto_str struct str why = { 0 };

	if (value < 0.5)
		return 0;
	int err = stack_add(s->stacks, node, one->labels, one->type, json_rounded(value), &why);
	return err ? refuse(s, one, why.at) : 0;
}

/*
 * The stack of an evented profile: the tree's node for each open frame. An event opens or closes
 * one frame, so the nodes of the outer frames need not be looked up again.
 */
struct evented {
	double last; /* the time up to which the value is added */
	VEC(node_id) open;
};

/* The innermost open frame. */
static node_id top_of(const struct evented *e)
{
	return e->open.nr ? e->open.at[e->open.nr - 1] : 0;
}

static int pass_time(struct speedscope *s, const struct speedscope_profile *one, struct evented *e,
		     const json_t *until)
{
	double value = (json_number_value(until) - e->last) * one->scale;

	if (!json_is_number(until) || !(value >= 0 && value <= (double)VARINT_MAX))
		return refuse(s, one, "an event has no time, or goes back in time, or too far");
	e->last = json_number_value(until);
	return add_span(s, one, top_of(e), value);
}

static int read_event(struct speedscope *s, const struct speedscope_profile *one, struct evented *e,
		      const json_t *event)
{
	const char *type = json_text(event, "type");
	s64 frame = json_index(json_object_get(event, "frame"), s->frames.nr);
	bool opens = !strcmp(type, "O");
	int err = pass_time(s, one, e, json_object_get(event, "at"));

	if (err)
		return err;
	if (frame < 0 || (!opens && strcmp(type, "C") != 0))
		return refuse(s, one, "an event has a frame or a type that does not exist");
	frame_id id = s->frames.at[frame];
	if (opens && e->open.nr == FORMAT_DEPTH_MAX)
		return refuse(s, one, "more than 65,535 frames are open");
	if (opens)
		vec_push(&e->open, profile_child(s->p, top_of(e), id));
	else if (!e->open.nr)
		return refuse(s, one, "an event closes a frame that is not open");
	else if (s->p->nodes.at[top_of(e)].frame != id)
		return refuse(s, one, "an event closes a frame that is not the last one opened");
	else
		e->open.nr--;
	return 0;
}

/* The end of the profile ends the frames that are still open. */
static int read_evented(struct speedscope *s, const struct speedscope_profile *one)
{
	struct evented e = { .last = json_number_value(json_object_get(one->json, "startValue")) };
	const json_t *end = json_object_get(one->json, "endValue"), *event;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(one->json, "events"), i, event)
	{
		err = read_event(s, one, &e, event);
		if (err)
			break;
	}
	if (!err && json_number_value(end) > e.last)
		err = pass_time(s, one, &e, end);
	vec_fini(&e.open);
	return err;
}

/* The unit in the file, and the one of our type. */
static u32 type_of(struct speedscope *s, const char *name, const char *unit, double *scale)
{
	static const struct {
		const char *theirs, *name, *ours;
		double scale;
	} units[] = {
		{ "nanoseconds", "time", "ns", 1 },    { "microseconds", "time", "ns", 1e3 },
		{ "milliseconds", "time", "ns", 1e6 }, { "seconds", "time", "ns", 1e9 },
		{ "bytes", "memory", "bytes", 1 },     { "none", "samples", "samples", 1 },
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units) && strcmp(unit, units[i].theirs) != 0)
		i++;
	*scale = units[i].scale;
	return profile_find_type(s->p, s->is_ours && *name ? name : units[i].name, units[i].ours);
}

static int read_profile(struct speedscope *s, const json_t *json)
{
	struct speedscope_profile one = { .json = json };
	auto_str struct str name = { 0 };
	const char *type = json_text(json, "type");

	utf8_clean(&name, json_text(json, "name"), 256);
	one.name = name.at;
	one.type = type_of(s, one.name, json_text(json, "unit"), &one.scale);
	bool is_thread = !s->is_ours && s->nr_profiles > 1;
	one.labels = profile_intern_labels(
		s->p, &(struct labels){ .thread = is_thread ? one.name : NULL });
	if (!strcmp(type, "evented"))
		return read_evented(s, &one);
	return !strcmp(type, "sampled") ? read_sampled(s, &one)
					: refuse(s, &one, "its type is not known");
}

bool speedscope_is(const json_t *all)
{
	return json_is_array(json_object_get(all, "profiles")) &&
	       json_is_array(json_object_get(json_object_get(all, "shared"), "frames"));
}

int speedscope_read(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	const json_t *profiles = json_object_get(all, "profiles"), *one;
	struct speedscope s = { .p = stacks->p,
				.why = why,
				.stacks = stacks,
				.nr_profiles = json_array_size(profiles) };
	size_t i;
	int err;

	s.is_ours = !strncmp(json_text(all, "exporter"), "sysflame ", strlen("sysflame "));
	err = read_frames(&s, json_object_get(json_object_get(all, "shared"), "frames"));
	json_array_foreach(profiles, i, one) if (!err) err = read_profile(&s, one);
	vec_fini(&s.frames);
	return err;
}
