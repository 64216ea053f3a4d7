/* SPDX-License-Identifier: Apache-2.0 */
/* The perf maps of processes. */
#include "sym/files/generated_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/time.h"
#include "sym/files/perf_map.h"

#define MAPS_MAX     256 /* processes, with or without a map */
#define BUDGET_BYTES GENERATED_CODE_BYTES
#define USER_SHARE   4 /* one user's maps get at most 1/4 of the bytes */
#define REFRESH_NS   NS_PER_SEC
#define PAUSE_MAX_NS (64 * NS_PER_SEC)
#define TOO_LARGE    "the maps of one user may take 16 MB of memory here, all maps 64 MB"
/* the pause before a map is read again grows by a second for each 4 MB */
#define SLOW_BYTES (4u << 20)
#define OLDER      "it is older than the program: an earlier program with that PID left it"
/* between checks of a file: once a tick, after the samples that need it */
#define CHECK_NS (20 * NS_PER_MS)
/* Files get the time of the last timer tick, and start times are rounded down to 10 ms. */
#define TICK_NS (10 * NS_PER_MS)

/* A process's map as last read. */
struct known_map {
	struct process_id id;
	u64 program_ns;
	struct perf_map *map;           /* NULL if there is none */
	struct perf_map_source source;  /* the file that it was read from */
	struct perf_map_source reading; /* by `work` */
	struct work *work;
	u64 read_ns, pause_ns;
	u64 checked_ns;             /* when the file was last compared with `source`, .. */
	bool is_changed, has_grown; /* .. and the result */
	u64 used;                   /* number of the last call that needed this map */
	bool is_left_out, is_young;
};

struct generated_code {
	struct workers *workers;
	struct dict maps; /* pid -> struct known_map * */
	u64 nr_calls;
	struct maps_left_out left_out;
};

struct generated_code *generated_code_new(struct workers *workers)
{
	struct generated_code *g = xcalloc(1, sizeof(*g));

	g->workers = workers;
	return g;
}

static void forget_map(struct known_map *k)
{
	work_free(k->work);
	perf_map_free(k->map);
	free(k);
}

void generated_code_drop(struct generated_code *g)
{
	dict_each(slot, &g->maps)
		forget_map((void *)slot->value);
	dict_fini(&g->maps);
}

void generated_code_free(struct generated_code *g)
{
	if (!g)
		return;
	generated_code_drop(g);
	free(g);
}

/* The bytes that a new map of that user may take. The map that it replaces does not count. */
static size_t room(const struct generated_code *g, const struct known_map *but, uid_t user)
{
	size_t all = 0, own = 0;

	dict_each(slot, &g->maps) {
		const struct known_map *k = (void *)slot->value;
		size_t bytes = k == but || !k->map ? 0 : perf_map_bytes(k->map);
		all += bytes;
		own += k->source.user == user ? bytes : 0;
	}
	size_t left = all < BUDGET_BYTES ? BUDGET_BYTES - all : 0;
	size_t share = user ? BUDGET_BYTES / USER_SHARE : BUDGET_BYTES;
	size_t own_left = own < share ? share - own : 0;
	return own_left < left ? own_left : left;
}

static void leave_out(struct generated_code *g, struct known_map *k, const char *why)
{
	u64 nr = g->left_out.nr + !k->is_left_out;

	k->is_left_out = true;
	g->left_out = (struct maps_left_out){ nr, k->id.pid, k->reading.user, why };
}

/* `pause_ns`: the least time since the last read. */
static bool is_due(const struct known_map *k, u64 pause_ns)
{
	size_t bytes = k->map ? perf_map_bytes(k->map) : 0;
	u64 least_ns = REFRESH_NS + bytes / SLOW_BYTES * NS_PER_SEC;

	return !k->read_ns ||
	       time_mono_ns() - k->read_ns >= (pause_ns > least_ns ? pause_ns : least_ns);
}

/* Whether lines were added to the file, as far as its size shows. */
static bool has_grown(const struct perf_map_source *from, const struct perf_map_source *to)
{
	return from->dev == to->dev && from->inode == to->inode && from->size < to->size;
}

/* Whether the file was last changed before the process executed its program. */
static bool is_older(const struct known_map *k, const struct perf_map_source *source)
{
	u64 began_ns = time_wall_ns() - (time_boot_ns() - k->program_ns);

	return source->changed_ns + TICK_NS < began_ns;
}

/* Starts to read the map if there is one that is new. */
static void start_reading(struct generated_code *g, struct known_map *k)
{
	k->read_ns = k->checked_ns = time_mono_ns();
	auto_close int fd = perf_map_open(k->id.pid, &k->reading);
	if (fd < 0 || perf_map_same_source(&k->source, &k->reading))
		return;
	if (is_older(k, &k->reading)) {
		leave_out(g, k, OLDER);
		k->source = k->reading;
		k->is_changed = false;
		perf_map_free(take(k->map));
		return;
	}
	size_t max = room(g, k, k->reading.user);
	if (k->reading.size > max) {
		leave_out(g, k, TOO_LARGE);
		if (!has_grown(&k->source, &k->reading))
			perf_map_free(take(k->map));
		k->source = k->reading;
		k->is_changed = false;
		return;
	}
	const struct work_order order = {
		.task = WORKER_PERF_MAP,
		.user = k->reading.user,
		.fds = { take_fd(fd), -1 },
		.max = max,
		.run = perf_map_task,
	};
	k->work = work_start(g->workers, &order);
}

/* Takes the map that a worker has parsed; -EAGAIN if it has not yet. */
static int finish_reading(struct generated_code *g, struct known_map *k)
{
	auto_free void *bytes = NULL;
	size_t nr = 0;
	int err = work_result(k->work, &bytes, &nr);

	if (err == -EAGAIN)
		return err;
	work_free(take(k->work));
	k->source = k->reading;
	k->is_changed = false;
	perf_map_free(take(k->map));
	if (!err)
		err = perf_map_decode(bytes, nr, &k->map);
	if (err)
		leave_out(g, k,
			  err == -EFBIG       ? TOO_LARGE
			  : err == -ETIMEDOUT ? "it takes too long to parse"
					      : "it cannot be parsed");
	return 0;
}

static void drop_map(struct generated_code *g, struct known_map *k)
{
	dict_remove(&g->maps, (u64)k->id.pid);
	forget_map(k);
}

static void drop_oldest(struct generated_code *g)
{
	struct known_map *oldest = NULL;

	dict_each(slot, &g->maps) {
		struct known_map *k = (void *)slot->value;
		oldest = oldest && oldest->used <= k->used ? oldest : k;
	}
	drop_map(g, oldest);
}

void generated_code_forget(struct generated_code *g, struct process_id id)
{
	const u64 *slot = dict_find(&g->maps, (u64)id.pid);
	struct known_map *k = slot ? (void *)*slot : NULL;

	if (k && process_id_same(k->id, id))
		drop_map(g, k);
}

void generated_code_turn(struct generated_code *g)
{
	struct dict kept = { 0 };

	dict_each(slot, &g->maps) {
		struct known_map *k = (void *)slot->value;
		if (!k->is_young) {
			forget_map(k);
			continue;
		}
		k->is_young = false;
		*dict_add(&kept, slot->key) = slot->value;
	}
	dict_fini(&g->maps);
	g->maps = kept;
}

size_t generated_code_nr(const struct generated_code *g)
{
	return g->maps.nr;
}

size_t generated_code_bytes(const struct generated_code *g)
{
	size_t bytes = dict_bytes(&g->maps);

	dict_each(slot, &g->maps) {
		const struct known_map *k = (void *)slot->value;
		bytes += sizeof(*k) + (k->map ? perf_map_bytes(k->map) : 0);
	}
	return bytes;
}

static struct known_map *map_of(struct generated_code *g, struct generated_by by)
{
	struct process_id id = by.id;
	u64 *slot = dict_find(&g->maps, (u64)id.pid);
	struct known_map *k = slot ? (void *)*slot : NULL;

	if (k && process_id_same(k->id, id) && k->program_ns == by.program_ns)
		return k;
	if (!k && g->maps.nr >= MAPS_MAX)
		drop_oldest(g);
	if (k)
		forget_map(k);
	k = xcalloc(1, sizeof(*k));
	k->id = id;
	k->program_ns = by.program_ns;
	*dict_add(&g->maps, (u64)id.pid) = (u64)(uintptr_t)k;
	return k;
}

/* A map that does not bring the names that are asked for is read less and less often. */
static void note_use(struct known_map *k, bool has_name)
{
	u64 pause_ns = k->pause_ns ? 2 * k->pause_ns : REFRESH_NS;

	k->pause_ns = has_name ? 0 : pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
}

bool generated_code_can_be_in(const struct mapping *m)
{
	/*
	 * The beginnings of the kernel's names for mappings that are memory. The inode of a System
	 * V segment is its id, which may be 0.
	 */
	static const char *const names[] = { "[anon:",    "[anon_shmem:", "[heap]",
					     "[stack",    "/memfd:",      "/dev/shm/",
					     "/dev/zero", "/SYSV",        "/anon_hugepage" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(m->path, names[i], strlen(names[i])))
			return true;
	return !m->inode && !*m->path;
}

/*
 * Compares the file with the one that was read. If the file is gone, the map that was read stays
 * valid.
 */
static void check(struct known_map *k)
{
	struct perf_map_source now;

	if (time_mono_ns() - k->checked_ns < CHECK_NS)
		return;
	k->checked_ns = time_mono_ns();
	auto_close int fd = perf_map_open(k->id.pid, &now);
	if (fd < 0)
		return;
	k->is_changed = !perf_map_same_source(&k->source, &now);
	k->has_grown = has_grown(&k->source, &now);
}

/* Whether the map still describes the process's code, as far as known. */
static bool is_valid(struct known_map *k)
{
	check(k);
	return !k->is_changed || (k->has_grown && perf_map_bytes(k->map) > SLOW_BYTES);
}

static const char *find_name(const struct known_map *k, u64 pc)
{
	return k->map ? perf_map_find(k->map, pc) : NULL;
}

int generated_code_name(struct generated_code *g, struct generated_by by, u64 pc, const char **name)
{
	struct known_map *k = map_of(g, by);

	k->used = ++g->nr_calls;
	k->is_young = true;

	*name = find_name(k, pc);
	bool is_hit = *name, is_good = is_hit && is_valid(k);
	if (is_good && !k->is_changed)
		return 0;
	if (!k->work && is_due(k, is_hit ? 0 : k->pause_ns))
		start_reading(g, k);
	if (!k->work && is_hit && k->is_changed)
		return is_good ? 0 : -EAGAIN;
	bool was_read = k->work;
	if (was_read && finish_reading(g, k))
		return is_good ? 0 : -EAGAIN;
	*name = find_name(k, pc);
	if (was_read)
		note_use(k, *name);
	return *name ? 0 : -ENOENT;
}

const struct maps_left_out *generated_code_left_out(const struct generated_code *g)
{
	return &g->left_out;
}
