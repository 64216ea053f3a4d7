/* SPDX-License-Identifier: Apache-2.0 */
/* Names functions of a profile by debug files that are found after the recording. */
#include "sym/files/late_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "sym/files/demangle.h"
#include "sym/files/parse_symbols.h"

#define TABLE_BYTES (60u << 20) /* of one file; below WORKER_RESULT_MAX */

void debuginfod_cache_add(struct str *out)
{
	const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME") ?: "";
	auto_free char *old = xasprintf("%s/.debuginfod_client_cache", home);

	if (path && *path)
		str_add(out, path);
	else if (!access(old, F_OK))
		str_add(out, old);
	else if (xdg && *xdg)
		str_addf(out, "%s/debuginfod_client", xdg);
	else
		str_addf(out, "%s/.cache/debuginfod_client", home);
}

/* Does a task with the file; waits for it. */
static int do_task(struct workers *w, u32 task, worker_fn run, int fd, size_t max, void **bytes,
		   size_t *nr)
{
	const struct symbols_request request = { TABLE_BYTES };
	auto_str struct str params = { 0 };
	int err;

	str_add_bytes(&params, &request, sizeof(request));
	str_add_char(&params, '\0'); /* the path of the module is not known */
	const struct work_order order = {
		.task = task,
		.user = geteuid(),
		.fds = { dup(fd), -1 },
		.params = params.at,
		.len = params.len,
		.max = max,
		.run = run,
	};
	struct work *k = work_start(w, &order);
	do {
		if (w)
			workers_set_patience(w, NS_PER_SEC);
		err = work_result(k, bytes, nr);
	} while (err == -EAGAIN);
	work_free(k);
	return err;
}

static bool has_id(const struct parsed_headers *h, const char *build_id)
{
	auto_str struct str hex = { 0 };

	for (u32 i = 0; i < h->build_id_len; i++)
		str_addf(&hex, "%02x", h->build_id[i]);
	return hex.at && !strcmp(hex.at, build_id);
}

static int read_symbols(struct workers *w, int fd, const char *build_id, struct symbols **out)
{
	auto_free void *headers = NULL, *table = NULL;
	struct parsed_headers h;
	size_t nr;

	int err = do_task(w, WORKER_HEADERS, parse_headers_task, fd, sizeof(h), &headers, &nr)
			  ?: parsed_headers_take(headers, nr, &h);
	if (err)
		return err;
	if (!has_id(&h, build_id))
		return -ESTALE;
	return do_task(w, WORKER_SYMBOLS, parse_symbols_task, fd, TABLE_BYTES + 4096, &table, &nr)
		       ?: symbols_decode(&table, nr, out);
}

/* -ENOENT: the folder has no such file. */
static int find_in_folder(struct workers *w, const char *folder, const char *build_id,
			  struct symbols **out)
{
	auto_free char *by_id = xasprintf(".build-id/%.2s/%s.debug", build_id, build_id + 2);
	auto_free char *in_cache = xasprintf("%s/debuginfo", build_id);
	auto_close int fd = debugfile_open_host(folder, DEBUG_BY_BUILD_ID, by_id);

	if (fd == -ENOENT || fd == -ENOTDIR)
		fd = debugfile_open_host(folder, DEBUG_BY_LINK, in_cache);
	if (fd == -EACCES) /* elfutils stores "no server has it" as a file with mode 0 */
		return -ENOENT;
	if (fd < 0)
		return fd == -ENOTDIR ? -ENOENT : fd;
	return read_symbols(w, fd, build_id, out);
}

/* Reads a file that has arrived from a server. */
static int find_fetched(const struct late_sources *from, struct late_file *file,
			struct symbols **out)
{
	auto_close int fd = debuginfod_file(from->debuginfod, file->build_id, &file->why);

	if (fd < 0)
		return fd;
	int err = read_symbols(from->workers, fd, file->build_id, out);
	debuginfod_judge(from->debuginfod, file->build_id, !err);
	return err;
}

static int find_symbols(const struct late_sources *from, struct late_file *file,
			struct symbols **out)
{
	int worst = -ENOENT;

	for (size_t i = 0; i < from->nr_folders; i++) {
		int err = find_in_folder(from->workers, from->folders[i], file->build_id, out);
		if (!err)
			return 0;
		worst = err == -ENOENT ? worst : err;
	}
	if (!from->debuginfod)
		return worst;
	int err = find_fetched(from, file, out);
	return err == -ENOENT ? worst : err;
}

/* The symbol of a function whose own symbol is known; NULL if it is not. */
static const char *symbol_of(const struct symbols *s, const struct unnamed *u)
{
	u64 start, other;
	const char *name = symbols_find(s, u->start, &start);

	/* The bounds of a signal's return begin a byte early (glibc, x86_64/libc_sigaction.c). */
	if (!name && u->kind == UNNAMED_FUNCTION)
		name = symbols_find(s, u->start + 1, &start);
	if (!name || !*name || symbols_is_role(s, name) || symbols_is_guess(s, name))
		return NULL;
	/* Code between functions may hold several. */
	if (u->kind == UNNAMED_RANGE &&
	    (symbols_find(s, u->end - 1, &other) != name || other != start))
		return NULL;
	return name;
}

struct renaming {
	struct profile *p;
	frame_id *of_frame; /* the frame that replaces it, or itself */
	u32 nr_frames;
};

/* Names the frames of one file. Returns how many. */
static u32 name_frames(struct renaming *r, const struct late_file *file, const struct symbols *s)
{
	auto_str struct str text = { 0 };
	u32 nr = 0;

	for (frame_id id = 0; id < r->nr_frames; id++) {
		const struct frame *f = frames_get(r->p->frames, id);
		struct unnamed u;
		if (!f->name || !unnamed_parse(f, &u) || u.kind == UNNAMED_GROUP ||
		    strcmp(u.build_id, file->build_id) != 0 ||
		    strncmp(f->module, file->name, strlen(file->name)) != 0 ||
		    module_file_len(f->module) != strlen(file->name))
			continue;
		const char *symbol = symbol_of(s, &u);
		if (!symbol)
			continue;
		demangle(&text, symbol);
		r->of_frame[id] = frames_intern(r->p->frames, f->kind, text.at, file->name);
		nr++;
	}
	return nr;
}

/* Gives the nodes their new frames; children that become equal are one. */
static void move_nodes(const struct renaming *r)
{
	struct profile *p = r->p;
	struct node_list nodes = { 0 };
	struct dict by_key = { 0 }; /* parent << 32 | frame -> node */
	auto_free node_id *at = xcalloc(p->nodes.nr, sizeof(at[0]));

	vec_push(&nodes.all, (struct profile_node){ 0 });
	for (node_id i = 1; i < p->nodes.nr; i++) {
		node_id parent = at[p->nodes.at[i].parent];
		frame_id frame = r->of_frame[p->nodes.at[i].frame];
		u64 *node = dict_add(&by_key, (u64)parent << 32 | frame);
		if (!*node) {
			*node = nodes.all.nr;
			vec_push(&nodes.all, (struct profile_node){ parent, frame });
		}
		at[i] = (node_id)*node;
	}
	profile_move(p, &nodes, at);
	dict_fini(&by_key);
}

static void find_files(const struct profile *p, late_files *out)
{
	unnamed_files files = { 0 };

	unnamed_files_find(p, &files);
	vec_each(f, &files) {
		struct late_file file = { .weight = f->weight, .err = -ENOENT };
		if (!*f->build_id)
			continue;
		file.name = take(f->name);
		memcpy(file.build_id, f->build_id, sizeof(file.build_id));
		vec_push(out, file);
	}
	unnamed_files_fini(&files);
}

void late_names_give(struct profile *p, const struct late_sources *from, late_files *out)
{
	struct renaming r = { .p = p, .nr_frames = frames_nr(p->frames) };
	u32 nr = 0;

	find_files(p, out);
	r.of_frame = xcalloc(r.nr_frames + 1ul, sizeof(r.of_frame[0]));
	for (frame_id id = 0; id < r.nr_frames; id++)
		r.of_frame[id] = id;
	vec_each(file, out) {
		auto_symbols struct symbols *s = NULL;
		file->err = find_symbols(from, file, &s);
		if (!file->err)
			file->nr_named = name_frames(&r, file, s);
		nr += file->nr_named;
	}
	if (nr)
		move_nodes(&r);
	free(r.of_frame);
}

void late_files_fini(late_files *files)
{
	vec_each(f, files)
		free(f->name);
	vec_fini(files);
}
