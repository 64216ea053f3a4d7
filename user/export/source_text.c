/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text of sampled lines from source files. */
#include "export/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"

#define LINES_MAX     2000
#define TEXT_MAX      240       /* bytes of a line */
#define LINE_MAX_READ (1 << 16) /* bytes; a longer line ends the reading of its file */
#define FILE_MAX      (8 << 20) /* bytes */

static const char *const endings[] = { ".java", ".kt", ".kts", ".scala", ".clj", ".cljc", ".groovy",
				       ".c",    ".h",  ".cc",  ".cpp",   ".cxx", ".hpp",  ".rs",
				       ".go",   ".py", ".js",  ".ts",    ".rb" };

struct wanted {
	frame_id frame;
	u64 weight;
};

/* A line of a file to search for, and its text. */
struct file_search {
	u32 left; /* lines until it */
	char *text;
};

static bool is_source(const char *file)
{
	size_t len = strlen(file);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i]);
		if (len > end && !strcmp(file + len - end, endings[i]))
			return !strchr(file, '/');
	}
	return false;
}

/* "java/util/HashMap.java" for a line of java.util.HashMap.get; NULL without a package. */
static char *path_in_package(const struct frame *f)
{
	auto_free char *name = frame_function(f);
	name[strcspn(name, "(")] = '\0'; /* a signature */
	char *method = strrchr(name, '.');

	if (!method || strpbrk(name, "/ :"))
		return NULL;
	*method = '\0';
	char *class = strrchr(name, '.');
	if (!class)
		return NULL;
	*class = '\0';
	for (char *c = name; *c; c++)
		if (*c == '.')
			*c = '/';
	return xasprintf("%s/%s", name, f->file);
}

static int visit_line(const char *line, const char *end, void *ctx)
{
	struct file_search *s = ctx;

	if (--s->left)
		return 0;
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	auto_free char *raw = strndup(line, (size_t)(end - line));
	struct str clean = { 0 };
	utf8_clean(&clean, raw ? raw : "", TEXT_MAX);
	s->text = str_take(&clean);
	return 1;
}

/* Returns NULL if the folder has no such file or the file no such line. */
static char *line_below(int folder, const char *path, u32 line)
{
	auto_close int fd = file_open_below(folder, path);
	struct file_search s = { .left = line };

	if (fd < 0 || lseek(fd, 0, SEEK_END) > FILE_MAX || lseek(fd, 0, SEEK_SET))
		return NULL;
	file_each_line(fd, LINE_MAX_READ, visit_line, &s);
	return s.text;
}

static char *find_text(int folder, const struct frame *f)
{
	auto_free char *path = path_in_package(f);
	char *text = path ? line_below(folder, path, f->line) : NULL;

	return text ? text : line_below(folder, f->file, f->line);
}

static int by_weight(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* The frames with a line, the heaviest first. Counts those whose file is not looked for. */
static struct wanted *heaviest(const struct profile *p, size_t *nr, size_t *nr_refused)
{
	u32 nr_frames = frames_nr(p->frames);
	struct wanted *all = xcalloc(nr_frames + 1, sizeof(*all));

	for (u32 i = 0; i < nr_frames; i++)
		all[i].frame = i;
	vec_each(w, &p->weights)
		for (node_id n = w->node; w->type == 0 && n; n = p->nodes.at[n].parent)
			all[p->nodes.at[n].frame].weight += w->value;
	*nr = *nr_refused = 0;
	for (u32 i = 0; i < nr_frames; i++) {
		const struct frame *f = frames_get(p->frames, i);
		if (!all[i].weight || !f->line)
			continue;
		if (is_source(f->file))
			all[(*nr)++] = all[i];
		else
			++*nr_refused;
	}
	qsort(all, *nr, sizeof(*all), by_weight);
	return all;
}

static bool add_text(struct profile *p, int folder, frame_id id)
{
	const struct frame *f = frames_get(p->frames, id);
	auto_free char *text = find_text(folder, f);
	auto_free char *key = xasprintf("%s%s", SOURCE_NOTE, f->name);

	if (text)
		profile_note(p, key, text, 0);
	return text;
}

int source_texts_add(struct profile *p, const char *folders, struct source_texts *out)
{
	auto_free char *list = xstrdup(folders);
	size_t nr, nr_refused, nr_folders = 0;
	auto_free struct wanted *all = heaviest(p, &nr, &nr_refused);
	size_t most = nr < LINES_MAX ? nr : LINES_MAX;

	*out = (struct source_texts){ .nr_left = nr - most, .nr_refused = nr_refused };
	char *next = list;
	for (char *name; (name = strsep(&next, ":"));) {
		if (!*name)
			continue;
		auto_close int folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0)
			return -errno;
		nr_folders++;
		for (size_t i = 0; i < most; i++)
			if (all[i].weight && add_text(p, folder, all[i].frame)) {
				all[i].weight = 0; /* found */
				out->nr_found++;
			}
	}
	out->nr_missing = most - out->nr_found;
	return nr_folders ? 0 : -EINVAL;
}
