/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes speedscope's file format: one "sampled" profile per value type over one list of frames.
 * Source: speedscope's file-format-schema.json.
 * Part of export/writers/writer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/title.h"
#include "export/interchange/external.h"
#include "export/writers/json.h"
#include "export/writers/writer.h"

static const char *unit_of(const struct value_type *t)
{
	if (!strcmp(t->unit, "ns"))
		return "nanoseconds";
	return !strcmp(t->unit, "bytes") ? "bytes" : "none";
}

static void write_frames(const struct profile *p, FILE *out)
{
	fputs("\"shared\":{\"frames\":[", out);
	for (u32 i = 0; i < frames_nr(p->frames); i++) {
		const struct frame *f = frames_get(p->frames, i);
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		json_write_text(f->name, out);
		fputs(",\"file\":", out);
		json_write_text(*f->file     ? f->file
				: *f->module ? f->module
					     : frame_kind_name(f->kind),
				out);
		if (f->line)
			fprintf(out, ",\"line\":%u", f->line);
		fputc('}', out);
	}
	fputs("]}", out);
}

static void write_stack(const struct profile *p, node_id leaf, FILE *out)
{
	VEC(frame_id) path = { 0 };

	for (node_id n = leaf; n; n = p->nodes.at[n].parent)
		vec_push(&path, p->nodes.at[n].frame);
	fputc('[', out);
	while (path.nr) {
		fprintf(out, "%u", path.at[--path.nr]);
		if (path.nr)
			fputc(',', out);
	}
	fputc(']', out);
	vec_fini(&path);
}

/* Writes the weights of one type by node, summed over all labels. */
static void write_type(const struct profile *p, u32 type, FILE *out)
{
	const struct value_type *t = &p->types.at[type];
	u64 *self = xcalloc(p->nodes.nr, sizeof(self[0]));
	bool is_first = true;

	vec_each(w, &p->weights)
		if (w->type == type)
			self[w->node] += w->value;
	fputs("{\"type\":\"sampled\",\"name\":", out);
	json_write_text(t->name, out);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\n\"samples\":[",
		unit_of(t), (unsigned long long)profile_total(p, type));
	for (node_id n = 0; n < p->nodes.nr; n++)
		if (self[n]) {
			fputs(is_first ? "\n" : ",\n", out);
			write_stack(p, n, out);
			is_first = false;
		}
	fputs("],\n\"weights\":[", out);
	is_first = true;
	for (node_id n = 0; n < p->nodes.nr; n++)
		if (self[n]) {
			fprintf(out, is_first ? "%llu" : ",%llu", (unsigned long long)self[n]);
			is_first = false;
		}
	fputs("]}", out);
	free(self);
}

int speedscope_write(const struct profile *p, FILE *out)
{
	auto_str struct str title = { 0 };

	title_add(p, &title);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"sysflame " SYSFLAME_VERSION "\",\"name\":",
	      out);
	json_write_text(title.len ? title.at : "sysflame", out);
	fputs(",\"activeProfileIndex\":0,\n", out);
	write_frames(p, out);
	fputs(",\n\"profiles\":[\n", out);
	for (u32 type = 0; type < p->types.nr; type++) {
		fputs(type ? ",\n" : "", out);
		write_type(p, type, out);
	}
	fputs("]}\n", out);
	return 0;
}
