/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a JFR recording that only sysflame writes. */
#include "export/readers/jfr_own.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/utf8.h"
#include "export/interchange/jfr.h"

#define TYPES_MAX   1000
#define NOTES_MAX   1000
#define TEXT_MAX    1000
#define RATE_MAX_HZ 1e6

void jfr_own_process(struct jfr_stacks *s, const struct jfr_value *thread, struct labels *labels,
		     struct str *comm)
{
	struct jfr_value pid;

	if (jfr_find(&s->chunk, thread, JFR_PID_FIELD, &pid))
		labels->pid = (u32)jfr_number(&pid);
	jfr_field_text(s, thread, JFR_COMM_FIELD, comm);
}

/* Appends a text of an event without control characters. */
static void add_text(struct jfr_stacks *s, const struct jfr_value *event, const char *field,
		     struct str *out)
{
	auto_str struct str text = { 0 };

	jfr_field_text(s, event, field, &text);
	str_add(out, "");
	utf8_clean(out, text.at, TEXT_MAX);
}

int jfr_own_type(struct jfr_stacks *s, const struct jfr_value *event, u32 *type)
{
	auto_str struct str name = { 0 }, unit = { 0 };

	add_text(s, event, "event", &name);
	add_text(s, event, "unit", &unit);
	if (!name.len || !unit.len)
		return jfr_damaged(s->why, "a sample without an event");
	*type = profile_find_type(s->p, name.at, unit.at);
	return s->p->types.nr > TYPES_MAX ? jfr_damaged(s->why, "it has more than 1,000 events")
					  : 0;
}

static void add_note(struct jfr_stacks *s, const struct jfr_value *event)
{
	auto_str struct str key = { 0 }, text = { 0 };
	struct jfr_value value;

	add_text(s, event, "key", &key);
	add_text(s, event, "text", &text);
	if (!key.len || s->p->notes.nr >= NOTES_MAX || !jfr_find(&s->chunk, event, "value", &value))
		return;
	const struct note *old = profile_find_note(s->p, key.at);
	u64 sum = jfr_number(&value) + (old ? old->value : 0);
	profile_note(s->p, key.at, text.at, sum < VARINT_MAX ? sum : VARINT_MAX);
}

static void take_text(struct jfr_stacks *s, const struct jfr_value *event, const char *field,
		      char **to)
{
	struct str text = { 0 };

	add_text(s, event, field, &text);
	free(*to);
	*to = str_take(&text);
}

void jfr_own_facts(struct jfr_stacks *s, const struct jfr_value *event, struct jfr_own *own)
{
	struct jfr_value rate;

	if (!strcmp(event->class->name, JFR_OWN_NOTE))
		add_note(s, event);
	if (strcmp(event->class->name, JFR_OWN_PROFILE) != 0)
		return;
	take_text(s, event, "title", &s->p->title);
	take_text(s, event, "host", &s->p->host);
	take_text(s, event, "target", &s->p->target);
	str_clear(&own->first);
	add_text(s, event, "event", &own->first);
	double rate_hz = jfr_find(&s->chunk, event, "rate", &rate) ? jfr_double(&rate) : 0;
	if (rate_hz > 0 && rate_hz <= RATE_MAX_HZ)
		s->p->rate_hz = rate_hz;
}

/* Without samples no event has named the type. */
static void add_first_type(const char *first, struct profile *p)
{
	const char *slash = strrchr(first, '/'); /* the name may contain slashes */

	if (!slash || slash == first || !slash[1])
		return;
	auto_free char *name = xstrndup(first, (size_t)(slash - first));
	profile_find_type(p, name, slash + 1);
}

void jfr_own_settle(const struct jfr_own *own, struct profile *p)
{
	if (!p->types.nr && own->first.len)
		add_first_type(own->first.at, p);
	for (u32 i = 0; own->first.len && i < p->types.nr; i++)
		if (value_type_is(&p->types.at[i], own->first.at)) {
			profile_move_type_first(p, i);
			return;
		}
}

void jfr_own_fini(struct jfr_own *own)
{
	str_fini(&own->first);
}
