/* SPDX-License-Identifier: Apache-2.0 */
/* The perf maps of processes. */
#include "sym/generated_code.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/time.h"
#include "sym/perf_map.h"

#define MAPS_MAX     64          /* processes */
#define BUDGET_BYTES (64u << 20) /* of all maps */
#define USER_SHARE   4           /* one user's maps get at most one in so many bytes of it */
#define REFRESH_NS   NS_PER_SEC
#define TOO_LARGE    "the maps of one user may take 16 MB of memory here, all maps 64 MB"
#define SLOW_BYTES   (4u << 20) /* a map is read again after a second more for each so many bytes */

/* A process's map as last read. */
struct known_map {
	struct process_id id;
	struct perf_map *map;           /* NULL if there is none */
	struct perf_map_source source;  /* the file that it was read from */
	struct perf_map_source reading; /* by `work` */
	struct work *work;
	u64 read_ns;
	bool is_left_out;
};

struct generated_code {
	struct workers *workers;
	struct dict maps; /* pid -> struct known_map * */
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

static bool is_due(const struct known_map *k)
{
	size_t bytes = k->map ? perf_map_bytes(k->map) : 0;
	u64 pause_ns = REFRESH_NS + bytes / SLOW_BYTES * NS_PER_SEC;

	return !k->read_ns || time_mono_ns() - k->read_ns >= pause_ns;
}

/* Starts to read the map if there is one that is new. */
static void start_reading(struct generated_code *g, struct known_map *k)
{
	k->read_ns = time_mono_ns();
	auto_close int fd = perf_map_open(k->id.pid, &k->reading);
	if (fd < 0 || perf_map_same_source(&k->source, &k->reading))
		return;
	size_t max = room(g, k, k->reading.user);
	if (k->reading.size > max) {
		leave_out(g, k, TOO_LARGE);
		k->source = k->reading;
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

static struct known_map *map_of(struct generated_code *g, struct process_id id)
{
	u64 *slot = dict_find(&g->maps, (u64)id.pid);
	struct known_map *k = slot ? (void *)*slot : NULL;

	if (k && process_id_same(k->id, id))
		return k;
	if (!k && g->maps.nr >= MAPS_MAX)
		generated_code_drop(g);
	if (k)
		forget_map(k);
	k = xcalloc(1, sizeof(*k));
	k->id = id;
	*dict_add(&g->maps, (u64)id.pid) = (u64)(uintptr_t)k;
	return k;
}

int generated_code_name(struct generated_code *g, struct process_id id, u64 pc, const char **name)
{
	struct known_map *k = map_of(g, id);

	*name = k->map ? perf_map_find(k->map, pc) : NULL;
	if (*name)
		return 0;
	if (!k->work && is_due(k))
		start_reading(g, k);
	if (!k->work)
		return -ENOENT;
	if (finish_reading(g, k))
		return -EAGAIN;
	*name = k->map ? perf_map_find(k->map, pc) : NULL;
	return *name ? 0 : -ENOENT;
}

const struct maps_left_out *generated_code_left_out(const struct generated_code *g)
{
	return &g->left_out;
}
