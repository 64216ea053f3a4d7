/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows and other results on disk. */
#include "elf/rowcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"

#define KEY         "key"
#define SUFFIX      ".rows"
#define NAMED       ".kept"
#define TMP_SUFFIX  ".tmp"
#define TMP_AGE_MAX 3600 /* seconds; an older one belongs to a process that died */
#define MAGIC       "sfrows\r\n"
#define VERSION     7 /* increase it when the same input gives other rows */

/* A file consists of this header and the rows, in this machine's byte order. */
struct header {
	char magic[8];
	u32 version, row_size;
	u64 seal;  /* seal of all following fields and the rows */
	u64 input; /* seal of the input that the rows were compiled from */
	u64 base;
	u32 nr, nr_fdes, nr_unsupported, nr_malformed, nr_unknown_ops, reserved;
};
_Static_assert(sizeof(struct header) == 64, "header is a file format");

/* Opens a file of the folder that only this user can access; -EBADMSG for anything else. */
static int open_own(int dir, const char *name, FILE **out, u64 *size)
{
	struct stat st;
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return -EBADMSG;
	FILE *f = fdopen(fd, "r");
	if (!f)
		return -errno;
	fd = -1;
	*out = f;
	*size = (u64)st.st_size;
	return 0;
}

struct part {
	const void *bytes;
	size_t len;
};

static int write_parts(int dir, const char *name, const struct part parts[2])
{
	auto_close int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	auto_fclose FILE *f = fdopen(fd, "w");
	if (!f)
		return -errno;
	fd = -1;
	for (int i = 0; i < 2; i++) {
		if (parts[i].len && fwrite(parts[i].bytes, parts[i].len, 1, f) != 1)
			return -EIO;
	}
	return fflush(f) || fsync(fileno(f)) ? -errno : 0;
}

/* Writes a whole file or none. An existing file is replaced if `replace`, otherwise kept. */
static int write_file(int dir, const char *name, const struct part parts[2], bool replace)
{
	u64 number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	auto_free char *tmp = xasprintf("%016llx" TMP_SUFFIX, (unsigned long long)number);

	int err = write_parts(dir, tmp, parts);
	if (!err && replace && renameat(dir, tmp, dir, name))
		err = -errno;
	else if (!err && !replace && linkat(dir, tmp, dir, name, 0) && errno != EEXIST)
		err = -errno;
	if (err || !replace)
		unlinkat(dir, tmp, 0);
	return err;
}

static int read_key(int dir, u8 key[SIPHASH_KEY_LEN])
{
	auto_fclose FILE *f = NULL;
	u64 size;

	int err = open_own(dir, KEY, &f, &size);
	if (err)
		return err;
	if (size != SIPHASH_KEY_LEN || fread(key, SIPHASH_KEY_LEN, 1, f) != 1)
		return -EBADMSG;
	return 0;
}

/* Existing files do not match a new key; they are replaced one by one. */
static int make_key(int dir)
{
	u8 key[SIPHASH_KEY_LEN];
	const struct part parts[2] = { { key, sizeof(key) } };

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	return write_file(dir, KEY, parts, false);
}

int rowcache_open(const char *path, u64 max_bytes, struct rowcache *out)
{
	struct rowcache cache = { .max_bytes = max_bytes };
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	if (fstat(dir, &st))
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;

	int err = read_key(dir, cache.key);
	if (err == -EBADMSG)
		unlinkat(dir, KEY, 0);
	if (err == -EBADMSG || err == -ENOENT) {
		err = make_key(dir);
		if (!err)
			err = read_key(dir, cache.key);
	}
	if (err)
		return err;
	cache.dir = take_fd(dir);
	*out = cache;
	return 0;
}

void rowcache_fini(struct rowcache *cache)
{
	if (cache->dir >= 0)
		close(cache->dir);
	*cache = (struct rowcache){ .dir = -1 };
}

/* The seal of all input that the rows depend on. */
static u64 seal_input(const u8 key[SIPHASH_KEY_LEN], const struct cfi_input *input)
{
	u64 words[5 + 4 * ARRAY_SIZE(input->sections)] = { input->base, input->size, input->nr,
							   input->entry, input->musl_end };

	for (size_t i = 0; i < input->nr; i++) {
		const struct cfi_section *s = &input->sections[i];
		u64 *w = &words[5 + 4 * i];
		w[0] = s->vaddr;
		w[1] = s->size;
		w[2] = s->is_debug_frame;
		w[3] = siphash(key, s->data, s->size);
	}
	return siphash(key, words, sizeof(words));
}

/* The seal of the header from `input` on and of the rows. */
static u64 seal_file(const struct rowcache *cache, const struct header *h,
		     const struct unwind_row *rows)
{
	u64 words[2] = {
		siphash(cache->key, &h->input, sizeof(*h) - offsetof(struct header, input)),
		siphash(cache->key, rows, h->nr * sizeof(rows[0])),
	};
	return siphash(cache->key, words, sizeof(words));
}

void rowcache_identify(const u8 key[SIPHASH_KEY_LEN], const struct elf *e,
		       const struct cfi_input *input, struct rowcache_id *out)
{
	size_t len;

	*out = (struct rowcache_id){ .seal = seal_input(key, input) };
	if (!elf_build_id(e, out->build_id, &len))
		out->build_id_len = (u32)len;
}

static char *file_name(const struct rowcache_id *id)
{
	auto_str struct str name = { 0 };

	for (u32 i = 0; i < id->build_id_len && i < sizeof(id->build_id); i++)
		str_addf(&name, "%02x", id->build_id[i]);
	str_addf(&name, "-%016llx" SUFFIX, (unsigned long long)id->seal);
	return str_take(&name);
}

/* Returns -ENOENT if the file is missing, -EBADMSG if it is not one that sysflame wrote. */
static int load(const struct rowcache *cache, const char *name, u64 input_seal, struct rows *out)
{
	auto_fclose FILE *f = NULL;
	struct header h;
	u64 size;

	int err = open_own(cache->dir, name, &f, &size);
	if (err)
		return err;
	if (fread(&h, sizeof(h), 1, f) != 1 || memcmp(h.magic, MAGIC, sizeof(h.magic)) ||
	    h.version != VERSION || h.row_size != sizeof(struct unwind_row) ||
	    h.input != input_seal || h.nr > ROWS_MAX || size != sizeof(h) + h.nr * (u64)h.row_size)
		return -EBADMSG;
	auto_free struct unwind_row *at = xreallocarray(NULL, h.nr + 1, sizeof(at[0]));
	if (fread(at, sizeof(at[0]), h.nr, f) != h.nr || seal_file(cache, &h, at) != h.seal ||
	    !rows_are_valid(at, h.nr))
		return -EBADMSG;
	futimens(fileno(f), NULL); /* marks it as used: make_room removes it last */
	*out = (struct rows){
		.at = take(at),
		.nr = h.nr,
		.base = h.base,
		.nr_fdes = h.nr_fdes,
		.nr_unsupported = h.nr_unsupported,
		.nr_malformed = h.nr_malformed,
		.nr_unknown_ops = h.nr_unknown_ops,
	};
	return 0;
}

struct cache_entry {
	char *name;
	u64 size;
	struct timespec used;
};

static int compare_used(const void *a, const void *b)
{
	const struct cache_entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail && !strcmp(name + len - tail, suffix);
}

/* Removes the oldest files until `more` bytes fit. Also removes temporary files of dead writers. */
static void make_room(const struct rowcache *cache, u64 more)
{
	VEC(struct cache_entry) all = { 0 };
	u64 total = more;
	struct stat st;
	auto_close int fd = openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd = -1;
	for (struct dirent *d; dir && (d = readdir(dir));) {
		bool is_tmp = ends_with(d->d_name, TMP_SUFFIX);
		if ((!is_tmp && !ends_with(d->d_name, SUFFIX) && !ends_with(d->d_name, NAMED)) ||
		    fstatat(cache->dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (is_tmp && time(NULL) - st.st_mtime > TMP_AGE_MAX)
			unlinkat(cache->dir, d->d_name, 0);
		if (is_tmp)
			continue;
		vec_push(&all,
			 (struct cache_entry){ xstrdup(d->d_name), (u64)st.st_size, st.st_mtim });
		total += (u64)st.st_size;
	}
	if (all.nr)
		qsort(all.at, all.nr, sizeof(all.at[0]), compare_used);
	vec_each(entry, &all) {
		if (total > cache->max_bytes && unlinkat(cache->dir, entry->name, 0) == 0)
			total -= entry->size;
		free(entry->name);
	}
	vec_fini(&all);
}

static void store(const struct rowcache *cache, const char *name, u64 input_seal,
		  const struct rows *rows)
{
	struct header h = {
		.version = VERSION,
		.row_size = sizeof(rows->at[0]),
		.input = input_seal,
		.base = rows->base,
		.nr = rows->nr,
		.nr_fdes = rows->nr_fdes,
		.nr_unsupported = rows->nr_unsupported,
		.nr_malformed = rows->nr_malformed,
		.nr_unknown_ops = rows->nr_unknown_ops,
	};
	const struct part parts[2] = { { &h, sizeof(h) },
				       { rows->at, rows->nr * sizeof(rows->at[0]) } };

	if (parts[0].len + parts[1].len > cache->max_bytes)
		return;
	memcpy(h.magic, MAGIC, sizeof(h.magic)); /* without its NUL */
	h.seal = seal_file(cache, &h, rows->at);
	make_room(cache, parts[0].len + parts[1].len);
	int err = write_file(cache->dir, name, parts, true);
	if (err)
		log_debug("unwind rows are not kept on disk: %s", strerror(-err));
}

bool rowcache_is_worth(const struct cfi_input *input)
{
	size_t len = 0;

	for (size_t i = 0; i < input->nr; i++)
		len += input->sections[i].size;
	return len >= ROWCACHE_MIN_INPUT;
}

int rowcache_load(struct rowcache *cache, const struct rowcache_id *id, struct rows *out)
{
	auto_free char *name = file_name(id);
	int err = cache->dir < 0 ? -ENOENT : load(cache, name, id->seal, out);

	cache->nr_hits += !err;
	if (err == -EBADMSG) {
		cache->nr_damaged++;
		unlinkat(cache->dir, name, 0);
	}
	return err ? -ENOENT : 0;
}

void rowcache_store(struct rowcache *cache, const struct rowcache_id *id, const struct rows *rows)
{
	auto_free char *name = file_name(id);

	if (cache->dir >= 0)
		store(cache, name, id->seal, rows);
}

/* The seal of the bytes and of their name. */
static u64 seal_named(const struct rowcache *cache, const char *name, const void *bytes, size_t len)
{
	const u64 words[2] = { siphash(cache->key, name, strlen(name)),
			       siphash(cache->key, bytes, len) };

	return siphash(cache->key, words, sizeof(words));
}

static int load_named(const struct rowcache *cache, const char *name, void **out, size_t *len)
{
	auto_free char *file = xasprintf("%s" NAMED, name);
	auto_fclose FILE *f = NULL;
	u64 seal, size;

	int err = open_own(cache->dir, file, &f, &size);
	if (err)
		return err;
	if (size <= sizeof(seal) || size > sizeof(seal) + ROWCACHE_NAMED_MAX ||
	    fread(&seal, sizeof(seal), 1, f) != 1)
		return -EBADMSG;
	size -= sizeof(seal);
	auto_free void *bytes = xmalloc(size);
	if (fread(bytes, size, 1, f) != 1 || seal_named(cache, name, bytes, size) != seal)
		return -EBADMSG;
	futimens(fileno(f), NULL);
	*out = take(bytes);
	*len = size;
	return 0;
}

int rowcache_load_named(struct rowcache *cache, const char *name, void **out, size_t *len)
{
	int err = cache->dir < 0 ? -ENOENT : load_named(cache, name, out, len);

	if (err == -EBADMSG) {
		auto_free char *file = xasprintf("%s" NAMED, name);
		cache->nr_damaged++;
		unlinkat(cache->dir, file, 0);
	}
	return err ? -ENOENT : 0;
}

void rowcache_store_named(const struct rowcache *cache, const char *name, const void *bytes,
			  size_t len)
{
	if (cache->dir < 0 || !len || len > ROWCACHE_NAMED_MAX || len > cache->max_bytes / 2)
		return;
	auto_free char *file = xasprintf("%s" NAMED, name);
	u64 seal = seal_named(cache, name, bytes, len);
	const struct part parts[2] = { { &seal, sizeof(seal) }, { bytes, len } };

	make_room(cache, sizeof(seal) + len);
	int err = write_file(cache->dir, file, parts, true);
	if (err)
		log_debug("%s is not kept on disk: %s", file, strerror(-err));
}
