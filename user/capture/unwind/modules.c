/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind rows of files. */
#include "capture/unwind/modules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dict.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/unwind/extents.h"
#include "capture/unwind/packed.h"
#include "elf/elf.h"
#include "elf/rowcache.h"
#include "proc/mapped_file.h"

#define CACHE_BYTES_MAX (256u << 20)
#define SPARSE_SHARE    8 /* a file of few rows gets at most this share of the table */

/* Maps a part of the file from file offsets to the file's own addresses. */
struct part {
	u64 file_off, vaddr;
};

struct module {
	u64 key;
	u64 base;                 /* rows' pcs count from here */
	u32 first_word, nr_words; /* of unwind_rows */
	u32 first_page, nr_pages;
	u32 refs;
	u64 put_ns;    /* when refs became 0 */
	int err;       /* why there are no rows; -ENOSPC may pass */
	u32 nr_wanted; /* words needed, if there was no room */
	struct stat stat;
	VEC(struct part) parts; /* of the executable mappings seen so far: mostly one */
};

struct modules {
	union unwind_word *words;
	struct rowcache cache;
	struct extents extents;
	struct dict by_key; /* struct module * */
	u32 nr_failed;
	u64 build_ns;
	bool is_full; /* the last rows did not fit */
};

struct modules *modules_new(union unwind_word *words, u32 nr, const char *cache_path)
{
	struct modules *all = xcalloc(1, sizeof(*all));
	struct rowcache none = ROWCACHE_NONE;

	all->words = words;
	all->cache = none;
	int err = cache_path ? rowcache_open(cache_path, CACHE_BYTES_MAX, &all->cache) : 0;
	if (err)
		log_debug("unwind rows are not kept in %s: %s", cache_path, strerror(-err));
	extents_init(&all->extents, nr);
	return all;
}

static void free_module(struct modules *all, struct module *mod)
{
	extents_free(&all->extents, mod->first_word, mod->nr_words, time_mono_ns());
	all->nr_failed -= mod->err && mod->err != -ENOSPC;
	vec_fini(&mod->parts);
	free(mod);
}

void modules_free(struct modules *all)
{
	if (!all)
		return;
	dict_each(slot, &all->by_key)
		free_module(all, (struct module *)slot->value);
	dict_fini(&all->by_key);
	extents_fini(&all->extents);
	rowcache_fini(&all->cache);
	free(all);
}

void module_put(struct module *mod)
{
	if (mod && !--mod->refs)
		mod->put_ns = time_mono_ns();
}

static void remove_module(struct modules *all, struct module *mod)
{
	dict_remove(&all->by_key, mod->key);
	free_module(all, mod);
}

bool modules_evict(struct modules *all)
{
	struct module *oldest = NULL;

	dict_each(slot, &all->by_key) {
		struct module *mod = (struct module *)slot->value;
		if (!mod->refs && mod->nr_words && (!oldest || mod->put_ns < oldest->put_ns))
			oldest = mod;
	}
	if (oldest)
		remove_module(all, oldest);
	return oldest;
}

static bool is_vdso(const struct mapping *m)
{
	return !strcmp(m->path, "[vdso]");
}

static int store_rows(struct modules *all, struct module *mod, const struct rows *rows)
{
	auto_packed struct packed packed = { 0 };
	u64 now = time_mono_ns();

	int err = packed_new(rows, all->extents.size / SPARSE_SHARE, &packed);
	if (err)
		return err;
	mod->nr_wanted = packed.nr;
	while ((err = extents_alloc(&all->extents, packed.nr, now, &mod->first_word))) {
		if (!modules_evict(all)) {
			all->is_full = true;
			return err;
		}
		now = time_mono_ns() + EXTENTS_REST_NS; /* reuses the evicted extent at once */
	}
	mod->base = rows->base;
	mod->first_page = mod->first_word + packed.nr_rules;
	mod->nr_pages = packed.nr_pages;
	mod->nr_words = packed.nr;
	memcpy(all->words + mod->first_word, packed.words, packed.nr * sizeof(*packed.words));
	return 0;
}

static int build(struct modules *all, struct module *mod, const struct elf *e)
{
	auto_rows struct rows rows = { 0 };
	u64 start = time_worked_ns();
	int err = e ? rowcache_build(&all->cache, e, &rows) : rows_build_vdso(&rows);

	all->build_ns += time_worked_ns() - start;
	if (!err)
		err = store_rows(all, mod, &rows);
	return err;
}

static const struct part *find_part(const struct module *mod, u64 file_off)
{
	vec_each(part, &mod->parts)
		if (part->file_off == file_off)
			return part;
	return NULL;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec;
}

/* Adds to the module the part that `m` maps; builds the rows of a new module. */
static int learn_file(struct modules *all, struct module *mod, pid_t pid, const struct mapping *m,
		      bool is_new)
{
	auto_close int fd = mapped_file_open(pid, m);
	auto_elf struct elf *e = NULL;
	struct stat st;
	u64 bias;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	/* The inode of a file that is no longer mapped may belong to another file by now. */
	if (!is_new && !is_same_file(&st, &mod->stat))
		return -ESTALE;
	int err = elf_open_fd(fd, &e) ?: elf_bias(e, m->start, m->file_off, &bias);
	if (!err && is_new)
		err = build(all, mod, e);
	if (err)
		return err;
	mod->stat = st;
	if (!find_part(mod, m->file_off))
		vec_push(&mod->parts, (struct part){ m->file_off, m->start - bias });
	return 0;
}

static int learn(struct modules *all, struct module *mod, pid_t pid, const struct mapping *m,
		 bool is_new)
{
	if (!is_vdso(m))
		return learn_file(all, mod, pid, m, is_new);
	vec_push(&mod->parts, (struct part){ m->file_off, 0 });
	return is_new ? build(all, mod, NULL) : 0;
}

/*
 * Whether the error does not concern the file itself: mapped_file_open did not reach it. The
 * process may be gone, and with it the root in which the file has its path.
 */
static bool is_passing(int err)
{
	return err == -ENOENT || err == -ESTALE || err == -ESRCH || err == -EACCES ||
	       err == -EPERM || err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static struct module *add_module(struct modules *all, u64 key, pid_t pid, const struct mapping *m)
{
	struct module *mod = xcalloc(1, sizeof(*mod));

	mod->key = key;
	mod->err = learn(all, mod, pid, m, true);
	if (is_passing(mod->err)) { /* another process that maps the file may have more luck */
		vec_fini(&mod->parts);
		free(mod);
		return NULL;
	}
	if (mod->err && mod->err != -ENOSPC) {
		log_debug("no unwind rows for %s: %s", m->path,
			  mod->err == -EFBIG ? "it would take too much of the unwinder's table"
					     : strerror(-mod->err));
		all->nr_failed++;
	}
	*dict_add(&all->by_key, key) = (u64)(uintptr_t)mod;
	return mod;
}

static u64 key_of(const struct mapping *m)
{
	if (is_vdso(m))
		return 1;
	return hash_u64(m->inode ^ hash_u64((u64)m->dev_major << 32 | m->dev_minor));
}

/* Whether rows for which there was no room may fit now. */
static bool may_fit(const struct modules *all, const struct module *mod)
{
	u32 nr = all->extents.size - all->extents.nr_used;

	dict_each(slot, &all->by_key) {
		const struct module *other = (const struct module *)slot->value;
		nr += other->refs ? 0 : other->nr_words;
	}
	return nr >= mod->nr_wanted;
}

/* The module of the file that `m` maps, with that part; NULL if it is not available. */
static struct module *find_module(struct modules *all, pid_t pid, const struct mapping *m)
{
	u64 key = key_of(m), *known = dict_find(&all->by_key, key);
	struct module *mod = known ? (struct module *)*known : NULL;

	if (mod && mod->err == -ENOSPC) {
		all->is_full = !may_fit(all, mod);
		if (all->is_full)
			return NULL;
		remove_module(all, mod);
		mod = NULL;
	}
	if (!mod)
		return add_module(all, key, pid, m);
	if (mod->err || (mod->refs && find_part(mod, m->file_off)))
		return mod;
	if (!learn(all, mod, pid, m, false))
		return mod;
	if (mod->refs)
		return NULL;
	remove_module(all, mod);
	return add_module(all, key, pid, m);
}

int modules_range(struct modules *all, pid_t pid, const struct mapping *m, struct module **mod,
		  struct unwind_range *out)
{
	*mod = NULL;
	*out = (struct unwind_range){ .start = m->start, .end = m->end, .kind = RANGE_NO_ROWS };
	if (!m->inode && !is_vdso(m))
		return 0;

	all->is_full = false;
	struct module *found = find_module(all, pid, m);
	if (all->is_full)
		return -ENOSPC;
	const struct part *part = found && !found->err ? find_part(found, m->file_off) : NULL;
	if (!part)
		return 0;
	found->refs++;
	*mod = found;
	out->kind = RANGE_ROWS;
	out->bias = m->start - part->vaddr + found->base;
	out->first_page = found->first_page;
	out->nr_pages = found->nr_pages;
	return 0;
}

struct modules_usage modules_usage(const struct modules *all)
{
	return (struct modules_usage){
		.nr_modules = (u32)all->by_key.nr,
		.nr_failed = all->nr_failed,
		.nr_rows = all->extents.nr_used,
		.nr_rows_max = all->extents.size,
		.build_ns = all->build_ns,
	};
}
