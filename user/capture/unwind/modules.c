/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind rows of files. */
#include "capture/unwind/modules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dict.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/unwind/extents.h"
#include "capture/unwind/packed.h"
#include "capture/unwind/row_build.h"
#include "proc/target_file.h"

#define SPARSE_SHARE 8 /* a file of few rows gets at most this share of the table */

#define KEEP_ROWS_NS (600 * NS_PER_SEC) /* for rows of a file that no process maps any more */
#define BUILDING_MAX 128 /* files that are built at a time; each takes two descriptors */
#define USER_SHARE   4   /* a user gets at most 1/4 of the files that are built at a time */

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
	bool is_used;  /* since the last turn */
	int err;       /* why there are no rows; -EAGAIN and -ENOSPC may pass */
	u32 nr_wanted; /* words needed, if there was no room */
	struct stat stat;
	VEC(struct part) parts; /* of the executable mappings seen so far: mostly one */
	struct elf_segment *segments;
	size_t nr_segments;
	struct row_build *build; /* while err is -EAGAIN */
	uid_t user;              /* for whom it is built */
	/* process for which the file was opened: a further mapping of it needs no new open */
	pid_t builder;
};

struct modules {
	union unwind_word *words;
	struct workers *workers; /* NULL: rows are built in this process */
	struct rowcache cache;
	struct extents extents;
	struct dict by_key; /* struct module * */
	uid_t user;
	struct ancestors ancestors;
	u32 nr_failed, nr_building;
	bool is_busy; /* the file asked for last cannot be opened or built now, but maybe later */
	u64 build_ns;
	bool is_full; /* the last rows did not fit */
};

struct modules *modules_new(union unwind_word *words, u32 nr, const char *cache_path)
{
	struct modules *all = xcalloc(1, sizeof(*all));
	struct rowcache none = ROWCACHE_NONE;

	all->words = words;
	all->cache = none;
	int err = cache_path ? rowcache_open(cache_path, ROWCACHE_BYTES_MAX, &all->cache) : 0;
	if (err)
		log_debug("unwind rows are not kept in %s: %s", cache_path, strerror(-err));
	extents_init(&all->extents, nr);
	return all;
}

void modules_use_workers(struct modules *all, struct workers *workers)
{
	all->workers = workers;
}

void modules_set_user(struct modules *all, uid_t user)
{
	all->user = user;
}

void modules_set_ancestors(struct modules *all, const struct ancestors *ancestors)
{
	all->ancestors = *ancestors;
}

/* Whether another file of this user may be built now. */
static bool may_build(const struct modules *all)
{
	u32 nr = 0;

	if (!all->workers || all->nr_building < BUILDING_MAX / USER_SHARE)
		return true;
	if (!all->user)
		return all->nr_building < BUILDING_MAX;
	dict_each(slot, &all->by_key) {
		const struct module *mod = (const struct module *)slot->value;
		nr += mod->build && mod->user == all->user;
	}
	return nr < BUILDING_MAX / USER_SHARE && all->nr_building < BUILDING_MAX;
}

static bool has_failed(const struct module *mod)
{
	return mod->err && mod->err != -ENOSPC && mod->err != -EAGAIN;
}

static void free_module(struct modules *all, struct module *mod)
{
	extents_free(&all->extents, mod->first_word, mod->nr_words, time_mono_ns());
	all->nr_failed -= has_failed(mod);
	all->nr_building -= mod->build != NULL;
	row_build_free(mod->build);
	free(mod->segments);
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

u64 modules_words_of(const struct modules *all, uid_t user)
{
	u64 nr = 0;

	dict_each(slot, &all->by_key) {
		const struct module *mod = (const struct module *)slot->value;
		nr += mod->user == user ? mod->nr_words : 0;
	}
	return nr;
}

bool modules_find_greedy(const struct modules *all, u32 share, uid_t but, uid_t *user)
{
	struct dict words = { 0 };
	bool is_found = false;

	dict_each(slot, &all->by_key) {
		const struct module *mod = (const struct module *)slot->value;
		if (!mod->user || mod->user == but)
			continue;
		u64 *nr = dict_add(&words, mod->user);
		*nr += mod->nr_words;
		is_found |= *nr > share;
		if (*nr > share)
			*user = mod->user;
	}
	dict_fini(&words);
	return is_found;
}

static void remove_module(struct modules *all, struct module *mod)
{
	dict_remove(&all->by_key, mod->key);
	free_module(all, mod);
}

/* Drops the rows that have been unused for longest; false if all are in use. */
static bool evict(struct modules *all)
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

void modules_turn(struct modules *all)
{
	struct dict kept = { 0 };

	u64 now = time_mono_ns();

	dict_each(slot, &all->by_key) {
		struct module *mod = (struct module *)slot->value;
		bool is_old = !mod->nr_words || now - mod->put_ns > KEEP_ROWS_NS;
		if (!mod->refs && !mod->is_used && is_old) {
			free_module(all, mod);
			continue;
		}
		mod->is_used = false;
		*dict_add(&kept, slot->key) = slot->value;
	}
	dict_fini(&all->by_key);
	all->by_key = kept;
}

/* Code that the kernel maps into a process and that belongs to no file. The numbers are keys. */
enum kernel_code {
	CODE_OF_FILE,
	CODE_VDSO,
	CODE_TRAMPOLINE,
};

static enum kernel_code kernel_code(const struct mapping *m)
{
	if (!strcmp(m->path, "[vdso]"))
		return CODE_VDSO;
	return mapping_is_uprobes_trampoline(m) ? CODE_TRAMPOLINE : CODE_OF_FILE;
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
		if (!evict(all)) {
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

static int add_part(struct module *mod, const struct mapping *m)
{
	u64 bias;
	int err = elf_bias_of(mod->segments, mod->nr_segments, m->start, m->file_off, &bias);

	if (!err && !find_part(mod, m->file_off))
		vec_push(&mod->parts, (struct part){ m->file_off, m->start - bias });
	return err;
}

/* Opens the file. Sets is_busy if another attempt may succeed. */
static int open_file(struct modules *all, pid_t pid, const struct mapping *m)
{
	int fd = mapped_file_open_by(&(struct mapper){ pid, all->ancestors }, m);

	all->is_busy |= fd == -EBUSY || fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM;
	return fd;
}

/* Adds the part that `m` maps to a module that is known, if that is still its file. */
static int learn_part(struct modules *all, struct module *mod, pid_t pid, const struct mapping *m)
{
	struct stat st;

	if (kernel_code(m)) {
		vec_push(&mod->parts, (struct part){ m->file_off, 0 });
		return 0;
	}
	if (pid != mod->builder) {
		auto_close int fd = open_file(all, pid, m);
		if (fd < 0)
			return fd;
		/* The inode of a file no longer mapped may belong to another file by now. */
		if (file_status(fd, &st) || !is_same_file(&st, &mod->stat))
			return -ESTALE;
	}
	return add_part(mod, m);
}

/*
 * Whether the error does not concern the file itself: mapped_file_open did not reach it. The
 * process may be gone, and with it the root in which the file has its path.
 */
static bool is_passing(int err)
{
	return err == -ENOENT || err == -ESTALE || err == -ESRCH || err == -EACCES ||
	       err == -EPERM || err == -EBUSY || err == -EPIPE || err == -EMFILE ||
	       err == -ENFILE || err == -ENOMEM;
}

/* Ends the building of rows with this error, or 0. */
static void settle(struct modules *all, struct module *mod, int err)
{
	mod->err = err;
	if (mod->build) {
		row_build_free(take(mod->build));
		all->nr_building--;
	}
	all->nr_failed += has_failed(mod);
}

static void build_kernel_code(struct modules *all, struct module *mod, enum kernel_code code)
{
	auto_rows struct rows rows = { 0 };
	int err = code == CODE_VDSO ? rows_build_vdso(&rows) : 0;

	if (code == CODE_TRAMPOLINE)
		rows_of_uprobes_trampoline(&rows);
	settle(all, mod, err ? err : store_rows(all, mod, &rows));
}

/* Takes the rows if they are built. */
static void poll_build(struct modules *all, struct module *mod)
{
	auto_built_rows struct built_rows built = { 0 };
	u64 start = time_worked_ns();
	int err = row_build_result(mod->build, &built);

	if (err == -EAGAIN)
		return;
	mod->segments = take(built.segments);
	mod->nr_segments = built.nr_segments;
	settle(all, mod, err ? err : store_rows(all, mod, &built.rows));
	all->build_ns += time_worked_ns() - start;
}

/*
 * Starts to build the rows of a file. NULL if the process is gone: the file may be opened by way of
 * another process later.
 */
static struct module *add_module(struct modules *all, u64 key, pid_t pid, const struct mapping *m)
{
	auto_close int fd = kernel_code(m) ? -1 : open_file(all, pid, m);
	struct stat st = { 0 };

	if (fd < 0 && !kernel_code(m) && is_passing(fd))
		return NULL;
	if (fd >= 0 && file_status(fd, &st))
		return NULL;
	struct module *mod = xcalloc(1, sizeof(*mod));
	mod->key = key;
	mod->stat = st;
	mod->builder = pid;
	mod->user = all->user;
	*dict_add(&all->by_key, key) = (u64)(uintptr_t)mod;
	if (fd >= 0) {
		u64 start = time_worked_ns();
		mod->err = -EAGAIN;
		mod->build = row_build_start(all->workers, &all->cache, fd, st.st_uid,
					     all->extents.size);
		all->nr_building++;
		all->build_ns += time_worked_ns() - start;
	} else if (kernel_code(m)) {
		build_kernel_code(all, mod, kernel_code(m));
	} else {
		settle(all, mod, fd);
	}
	return mod;
}

static u64 key_of(const struct mapping *m)
{
	if (kernel_code(m))
		return kernel_code(m);
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

/* Finishes a build. NULL if it failed for a reason outside the file. */
static struct module *finish_build(struct modules *all, struct module *mod, const struct mapping *m)
{
	poll_build(all, mod);
	if (is_passing(mod->err)) {
		remove_module(all, mod);
		return NULL;
	}
	if (has_failed(mod))
		log_debug("no unwind rows for %s: %s", m->path,
			  mod->err == -EFBIG ? "it would take too much of the unwinder's table"
					     : strerror(-mod->err));
	return mod;
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
	if (!mod && !may_build(all)) {
		all->is_busy = true;
		return NULL;
	}
	if (!mod)
		mod = add_module(all, key, pid, m);
	if (mod)
		mod->is_used = true;
	if (mod && mod->build)
		mod = finish_build(all, mod, m);
	if (!mod || mod->err || (mod->refs && find_part(mod, m->file_off)))
		return mod;
	if (!learn_part(all, mod, pid, m))
		return mod;
	if (all->is_busy || mod->refs || pid == mod->builder)
		return NULL;
	remove_module(all, mod);
	return find_module(all, pid, m);
}

void modules_prepare(struct modules *all, pid_t pid, const struct mapping *m)
{
	if (m->inode && all->workers && !dict_find(&all->by_key, key_of(m)) && may_build(all))
		add_module(all, key_of(m), pid, m);
}

int modules_range(struct modules *all, pid_t pid, const struct mapping *m, struct module **mod,
		  struct unwind_range *out)
{
	*mod = NULL;
	*out = (struct unwind_range){ .start = m->start, .end = m->end, .kind = RANGE_NO_ROWS };
	if (!m->inode && !kernel_code(m))
		return 0;

	all->is_full = all->is_busy = false;
	struct module *found = find_module(all, pid, m);
	if (all->is_full)
		return -ENOSPC;
	if (all->is_busy || (found && found->build))
		return -EAGAIN;
	const struct part *part = found && !found->err ? find_part(found, m->file_off) : NULL;
	if (!part)
		return 0;
	found->refs++;
	found->builder = 0;
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
		.bytes = all->by_key.nr * sizeof(struct module) + dict_bytes(&all->by_key),
	};
}
