/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of code for which no symbol is known. */
#include "profile/unnamed.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"

#define BUILD    " [build "
#define FUNCTION "] function at 0x"
#define RANGE    "] code at 0x"
#define ADDRESS  "]+0x"

void unnamed_name(struct str *out, const char *file, const struct unnamed *u)
{
	unsigned long long start = u->start, last = u->end - 1;

	/* "[vdso]" has brackets already. */
	if (file[0] == '[')
		str_add_bytes(out, file, strlen(file) - 1);
	else
		str_addf(out, "[%s", file);
	if (u->kind == UNNAMED_FUNCTION)
		str_addf(out, FUNCTION "%llx", start);
	else if (u->kind == UNNAMED_RANGE)
		str_addf(out, RANGE "%llx-0x%llx", start, last);
	else
		str_addf(out, ADDRESS "%llx", start);
}

void module_with_build(struct str *out, const char *file, const u8 *build_id, size_t len)
{
	str_add(out, file);
	if (!len)
		return;
	str_add(out, BUILD);
	for (size_t i = 0; i < len; i++)
		str_addf(out, "%02x", build_id[i]);
	str_add_char(out, ']');
}

/* The digits of the build id in a module; NULL if the module has no build id. */
static const char *find_build(const char *module, size_t *len)
{
	const char *at = NULL;

	for (const char *next = module; (next = strstr(next, BUILD)); next++)
		at = next + strlen(BUILD);
	*len = at ? strspn(at, "0123456789abcdef") : 0;
	return *len && *len <= BUILD_ID_HEX_MAX && !(*len % 2) && !strcmp(at + *len, "]") ? at
											  : NULL;
}

size_t module_file_len(const char *module)
{
	size_t len;
	const char *build = find_build(module, &len);

	return build ? (size_t)(build - module) - strlen(BUILD) : strlen(module);
}

/* Reads the hexadecimal number at *at, and moves on. */
static bool read_number(const char **at, u64 *out)
{
	size_t len = strspn(*at, "0123456789abcdef");

	if (!len || len > 16)
		return false;
	*out = strtoull(*at, NULL, 16);
	*at += len;
	return true;
}

static bool takes(const char **at, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*at, text, len))
		return false;
	*at += len;
	return true;
}

/* `at` is behind the file's name. */
static bool parse_place(const char *at, struct unnamed *u)
{
	if (takes(&at, FUNCTION)) {
		u->kind = UNNAMED_FUNCTION;
		return read_number(&at, &u->start) && !*at;
	}
	if (takes(&at, ADDRESS)) {
		u->kind = UNNAMED_ADDRESS;
		return read_number(&at, &u->start) && !*at;
	}
	if (takes(&at, RANGE)) {
		u->kind = UNNAMED_RANGE;
		return read_number(&at, &u->start) && takes(&at, "-0x") &&
		       read_number(&at, &u->end) && ++u->end > u->start && !*at;
	}
	u->kind = UNNAMED_GROUP;
	return (takes(&at, " below ") || takes(&at, ": ")) && *at;
}

bool unnamed_parse(const struct frame *f, struct unnamed *out)
{
	struct unnamed u = { 0 };
	size_t len = module_file_len(f->module), build_len;
	const char *build = find_build(f->module, &build_len);

	if ((f->kind != FRAME_NATIVE && f->kind != FRAME_JVM) || f->name[0] != '[' || !len ||
	    f->module[0] == '[' || strncmp(f->name + 1, f->module, len) ||
	    !parse_place(f->name + 1 + len, &u))
		return false;
	if (build)
		memcpy(u.build_id, build, build_len);
	*out = u;
	return true;
}

struct search {
	const struct profile *p;
	unnamed_files *files;
	struct dict by_module; /* hash of a module -> index of its file + 1 */
	u32 *of_frame;         /* index of its file + 1; 0: the frame has a name */
};

static u32 file_of(struct search *s, const struct frame *f)
{
	size_t len = module_file_len(f->module);
	struct unnamed u;

	if (!unnamed_parse(f, &u))
		return 0;
	for (u64 key = hash_keyed(f->module, strlen(f->module));; key++) {
		u64 *known = dict_add(&s->by_module, key);
		if (!*known) {
			struct unnamed_file file = { .name = xstrndup(f->module, len) };
			memcpy(file.build_id, u.build_id, sizeof(file.build_id));
			vec_push(s->files, file);
			*known = s->files->nr;
			return (u32)*known;
		}
		const struct unnamed_file *file = &s->files->at[*known - 1];
		if (!strcmp(file->build_id, u.build_id) && strlen(file->name) == len &&
		    !memcmp(file->name, f->module, len))
			return (u32)*known;
	}
}

/* The weight below each node, its own included, of the first type. */
static u64 *totals_of(const struct profile *p)
{
	u64 *totals = xcalloc(p->nodes.nr, sizeof(totals[0]));

	vec_each(w, &p->weights)
		if (!w->type)
			totals[w->node] += w->value;
	for (size_t i = p->nodes.nr; i-- > 1;)
		totals[p->nodes.at[i].parent] += totals[i];
	return totals;
}

/* A stack counts once for a file: at the file's function nearest to the root. */
static void add_weights(struct search *s)
{
	const struct profile *p = s->p;
	auto_free u64 *totals = totals_of(p);
	/* By node: the nearest one without a name, itself or towards the root; 0: none. */
	auto_free node_id *near = xcalloc(p->nodes.nr, sizeof(near[0]));

	for (node_id i = 1; i < p->nodes.nr; i++) {
		node_id above = near[p->nodes.at[i].parent];
		u32 file = s->of_frame[p->nodes.at[i].frame];
		near[i] = file ? i : above;
		while (file && above && s->of_frame[p->nodes.at[above].frame] != file)
			above = near[p->nodes.at[above].parent];
		if (file && !above)
			s->files->at[file - 1].weight += totals[i];
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct unnamed_file *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name) ?: strcmp(x->build_id, y->build_id);
}

void unnamed_files_find(const struct profile *p, unnamed_files *out)
{
	struct search s = { .p = p, .files = out };

	s.of_frame = xcalloc(frames_nr(p->frames) + 1ul, sizeof(s.of_frame[0]));
	for (node_id i = 1; i < p->nodes.nr; i++) {
		frame_id id = p->nodes.at[i].frame;
		if (!s.of_frame[id])
			s.of_frame[id] = file_of(&s, frames_get(p->frames, id));
	}
	add_weights(&s);
	if (out->nr)
		qsort(out->at, out->nr, sizeof(out->at[0]), by_weight);
	free(s.of_frame);
	dict_fini(&s.by_module);
}

void unnamed_files_fini(unnamed_files *files)
{
	vec_each(f, files)
		free(f->name);
	vec_fini(files);
}
