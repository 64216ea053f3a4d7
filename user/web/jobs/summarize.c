/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a profile that lists show. */
#include "web/jobs/summarize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "export/writers/json.h"
#include "profile/count.h"
#include "profile/diff.h"
#include "profile/tree.h"

enum kind {
	KIND_JAVA,
	KIND_NATIVE,
	KIND_KERNEL,
	KIND_JVM,
	KIND_OTHER,
	NR_KINDS
};

static const char *const kind_names[NR_KINDS] = { "java", "native", "kernel", "jvm", "other" };
_Static_assert(NR_KINDS == SUMMARY_KINDS, "the header has their number");

const char *summary_kind(u32 i)
{
	return kind_names[i];
}

static const enum kind kind_of[NR_FRAME_KINDS] = {
	[FRAME_UNKNOWN] = KIND_OTHER, [FRAME_KERNEL] = KIND_KERNEL,    [FRAME_NATIVE] = KIND_NATIVE,
	[FRAME_JVM] = KIND_JVM,       [FRAME_INTERPRETED] = KIND_JAVA, [FRAME_C1] = KIND_JAVA,
	[FRAME_C2] = KIND_JAVA,       [FRAME_INLINED] = KIND_JAVA,     [FRAME_GROUP] = KIND_OTHER,
	[FRAME_STUB] = KIND_JVM,      [FRAME_CLASS] = KIND_OTHER,
};

/*
 * The kind of a node's code. A node for the class of an object is no code, so its caller's kind
 * counts.
 */
static enum kind kind_of_node(const struct profile *p, node_id n)
{
	while (n && frames_get(p->frames, p->nodes.at[n].frame)->kind == FRAME_CLASS)
		n = p->nodes.at[n].parent;
	return n ? kind_of[frames_get(p->frames, p->nodes.at[n].frame)->kind] : KIND_OTHER;
}

static double share_of(u64 part, u64 total)
{
	return total ? (double)part / (double)total : 0;
}

static void write_text(const char *key, const char *text, FILE *f)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, SUMMARY_NAME_MAX);
	fprintf(f, ",\"%s\":", key);
	json_write_text(clean.at ?: "", f);
}

static void write_kinds(const struct profile *p, u64 total, FILE *f)
{
	u64 by_kind[NR_KINDS] = { 0 };
	const char *comma = "";

	vec_each(w, &p->weights)
		if (w->type == 0)
			by_kind[kind_of_node(p, w->node)] += w->value;
	fputs("{\"kinds\":{", f);
	for (enum kind kind = 0; kind < NR_KINDS; kind++)
		if (by_kind[kind]) {
			fprintf(f, "%s\"%s\":%.4f", comma, kind_names[kind],
				share_of(by_kind[kind], total));
			comma = ",";
		}
	fputc('}', f);
}

static void write_top(const struct profile *p, u64 total, FILE *f)
{
	auto_tree struct tree t = { 0 };
	auto_hot_methods struct hot_methods hot = { 0 };

	fputs(",\"top\":[", f);
	if (total) {
		tree_make(p, 0, &t);
		hot_methods_make(p, &t, &hot);
	}
	for (size_t i = 0; i < hot.all.nr && i < SUMMARY_TOP && hot.all.at[i].self; i++) {
		auto_str struct str clean = { 0 };
		utf8_clean(&clean, frames_get(p->frames, hot.all.at[i].frame)->name,
			   SUMMARY_NAME_MAX);
		fputs(i ? ",{\"name\":" : "{\"name\":", f);
		json_write_text(clean.at, f);
		fprintf(f, ",\"share\":%.4f}", share_of(hot.all.at[i].self, total));
	}
	fputc(']', f);
}

struct alert {
	char *text;
	u64 value;
};

/* Adds a note to the alert with its text, up to a share in brackets, which is that of one part. */
static void add_alert(const struct note *n, struct alert *alerts, u32 *nr)
{
	const char *share = strstr(n->text, " ("), *rest = share ? strchr(share, ')') : NULL;
	auto_free char *text =
		rest && strstr(share, " % of ")
			? xasprintf("%.*s%s", (int)(share - n->text), n->text, rest + 1)
			: xstrdup(n->text);
	u32 i = 0;

	while (i < *nr && strcmp(alerts[i].text, text))
		i++;
	if (i == SUMMARY_ALERTS)
		return;
	if (i == *nr)
		alerts[(*nr)++] = (struct alert){ take(text), 0 };
	alerts[i].value += n->value;
}

/* Whether the note is an alert, also one of a side of a comparison (profile/diff.c). */
static bool is_alert(const struct note *n)
{
	static const char *const sides[] = { "", "before_", "after_" };

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		size_t len = strlen(sides[i]);
		if (!strncmp(n->key, sides[i], len) &&
		    !strncmp(n->key + len, NOTE_INCOMPLETE, strlen(NOTE_INCOMPLETE)))
			return true;
	}
	return false;
}

static void write_alerts(const struct profile *p, FILE *f)
{
	struct alert alerts[SUMMARY_ALERTS];
	u32 nr = 0;

	vec_each(n, &p->notes)
		if (is_alert(n))
			add_alert(n, alerts, &nr);
	fputs(",\"alerts\":[", f);
	for (u32 i = 0; i < nr; i++) {
		auto_str struct str text = { 0 }, clean = { 0 };
		str_addf(&text, "%llu %s", (unsigned long long)alerts[i].value, alerts[i].text);
		utf8_clean(&clean, text.at, SUMMARY_ALERT_MAX);
		fputs(i ? "," : "", f);
		json_write_text(clean.at, f);
		free(alerts[i].text);
	}
	fputc(']', f);
}

static void write_events(const struct profile *p, FILE *f)
{
	auto_str struct str events = { 0 };

	str_add(&events, "");
	for (u32 type = 0; type < p->types.nr; type++) {
		bool is_side = p->types.at[type].role > VALUE_AFTER;
		auto_free char *name = diff_type_name(p, type);
		if (!is_side && (!type || !count_is_only(p, type)))
			str_addf(&events, "%s%s", events.len ? "," : "", name);
	}
	write_text("events", events.at, f);
}

static u64 note_value(const struct profile *p, const char *key)
{
	const struct note *n = profile_find_note(p, key);

	return n ? n->value : 0;
}

/*
 * The number of samples as the recorder counted them, or else from the weights; 0 if neither has
 * it.
 */
static u64 count_samples(const struct profile *p)
{
	u64 nr = note_value(p, "samples");
	u32 type;

	if (nr || !p->types.nr)
		return nr;
	return count_find(p, 0, &type) ? profile_total(p, type)
				       : count_of(p, 0, profile_total(p, 0), p->rate_hz);
}

static void write_facts(const struct profile *p, u64 total, FILE *f)
{
	fprintf(f, ",\"total\":%llu", (unsigned long long)total);
	write_text("unit", p->types.nr ? p->types.at[0].unit : "", f);
	write_events(p, f);
	fprintf(f, ",\"samples\":%llu,\"lost\":%llu,\"truncated\":%llu",
		(unsigned long long)count_samples(p), (unsigned long long)note_value(p, "lost"),
		(unsigned long long)note_value(p, "truncated"));
	fprintf(f, ",\"start_ms\":%llu,\"duration_ms\":%llu,\"rate_hz\":%.0f",
		(unsigned long long)(p->start_wall_ns / NS_PER_MS),
		(unsigned long long)(p->duration_ns / NS_PER_MS), p->rate_hz);
	write_text("host", p->host, f);
	write_text("target", p->target, f);
	write_text("title", p->title, f);
	fputc('}', f);
}

void summarize(const struct profile *p, struct str *out)
{
	struct str json = { 0 };
	FILE *f = open_memstream(&json.at, &json.len);
	u64 total = p->types.nr ? profile_total(p, 0) : 0;

	if (!f)
		return;
	write_kinds(p, total, f);
	write_top(p, total, f);
	write_alerts(p, f);
	write_facts(p, total, f);
	fclose(f);
	str_add_bytes(out, json.at, json.len);
	free(json.at);
}
