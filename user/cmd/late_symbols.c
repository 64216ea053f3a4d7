/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols for functions that had none where they were recorded. */
#include "cmd/late_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "elf/debugfile.h"
#include "sym/files/late_names.h"

#define MISSING_MAX 5 /* files of which the reason is printed */

static const char *why_not_started(int err)
{
	switch (err) {
	case -EINVAL:
		return "takes addresses that begin with http:// or https://";
	case -ENOTSUP:
		return "this is the static build, which cannot ask servers";
	default:
		return strerror(-err);
	}
}

int late_symbols_start(struct late_symbols *l)
{
	const char *urls = l->urls && *l->urls ? l->urls : getenv(DEBUGINFOD_URLS);
	auto_str struct str cache = { 0 };

	debuginfod_cache_add(&cache);
	l->cache = str_take(&cache);
	if (l->urls && (!urls || !*urls))
		urls = DEBUGINFOD_DEFAULT;
	if (!urls || !*urls)
		return 0;
	int err = debuginfod_start(urls, l->cache, &l->debuginfod);
	if (err && l->urls) {
		log_error("--debuginfod %s: %s", urls, why_not_started(err));
		return err;
	}
	/* Distributions set the variable for everybody. */
	if (err)
		log_warn(DEBUGINFOD_URLS "=%s is not used: %s", urls, why_not_started(err));
	return 0;
}

/*
 * Whether elfutils or sysflame has asked for the file before. A server's "no" is stored as an empty
 * file.
 */
static bool is_cached(const struct late_symbols *l, const char *build_id)
{
	auto_free char *path = xasprintf("%s/%s/debuginfo", l->cache, build_id);
	struct stat st;

	return !stat(path, &st) && st.st_size;
}

void late_symbols_want(struct late_symbols *l, const char *build_id)
{
	if (l->debuginfod && build_id && !is_cached(l, build_id))
		debuginfod_want(l->debuginfod, build_id);
	if (l->debuginfod)
		debuginfod_step(l->debuginfod);
}

static const char *reason_of(const struct late_file *f)
{
	if (f->why)
		return f->why;
	switch (f->err) {
	case -ENOENT:
		return "there is no debug file for it";
	case -EAGAIN:
		return "its debug file has not arrived yet; sysflame report --debuginfod waits for "
		       "it";
	case -EPERM:
		return "its debug file belongs to another user";
	case -ESTALE:
		return "its debug file is of another build";
	case -ENOEXEC:
	case -EBADMSG:
		return "its debug file is damaged, or no ELF file";
	case -EFBIG:
		return "its debug file is too large to be read";
	case -ETIMEDOUT:
		return "its debug file takes too long to read";
	default:
		return strerror(-f->err);
	}
}

static void print_missing(const late_files *files)
{
	u32 nr = 0;

	vec_each(f, files)
		if (f->err && nr++ < MISSING_MAX)
			log_warn("no symbols of %s, build id %s: %s", f->name, f->build_id,
				 reason_of(f));
	if (nr > MISSING_MAX)
		log_warn("no symbols of %u more files", nr - MISSING_MAX);
}

static void show_progress(u32 nr_open, void *ctx)
{
	fprintf(stderr, "\rfetching symbols, %u file%s left \033[K", nr_open, plural(nr_open));
}

static void wait_for_servers(struct late_symbols *l, u64 max_wait_ns)
{
	bool is_shown = !l->quiet && isatty(STDERR_FILENO);

	debuginfod_wait(l->debuginfod, max_wait_ns, is_shown ? show_progress : NULL, NULL);
	if (is_shown)
		fputs("\r\033[K", stderr);
}

/* Code that has no symbol although its file has some lacks nothing that a server could send. */
static void forgive(late_files *files, const late_files *read)
{
	vec_each(f, files)
		vec_each(other, read)
			if (!other->err && !strcmp(other->build_id, f->build_id))
				f->err = 0;
}

void late_symbols_give(struct late_symbols *l, struct profile *p, struct workers *workers,
		       u64 max_wait_ns)
{
	struct opt_list folders = { 0 };
	late_files files = { 0 }, rest = { 0 };

	vec_each(folder, &l->folders)
		vec_push(&folders, *folder);
	vec_push(&folders, DEBUG_ROOT);
	vec_push(&folders, l->cache);
	const struct late_sources local = { .folders = folders.at,
					    .nr_folders = folders.nr,
					    .workers = workers };
	late_names_give(p, &local, &files);
	if (l->debuginfod) {
		const struct late_sources fetched = { .debuginfod = l->debuginfod,
						      .workers = workers };
		vec_each(f, &files)
			if (f->err)
				late_symbols_want(l, f->build_id);
		wait_for_servers(l, max_wait_ns);
		late_names_give(p, &fetched, &rest);
		forgive(&rest, &files);
	}
	if (max_wait_ns)
		print_missing(l->debuginfod ? &rest : &files);
	late_files_fini(&files);
	late_files_fini(&rest);
	vec_fini(&folders);
}

void late_symbols_fini(struct late_symbols *l)
{
	debuginfod_free(l->debuginfod);
	vec_fini(&l->folders);
	free(l->cache);
	*l = (struct late_symbols){ 0 };
}
