/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for the workers of the web process. */
#include "web/jobs/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "base/vec.h"
#include "web/jobs/jobs.h"

#define WAITING_MAX 24                 /* jobs of requests */
#define LISTENERS   16                 /* requests that share a job */
#define CACHE_BYTES (32u << 20)        /* results kept */
#define CACHE_ITEM  (CACHE_BYTES / 4)  /* a larger result is not kept */
#define PATIENCE_NS (120 * NS_PER_SEC) /* time limit of a job, including its wait for a worker */

struct listener {
	job_done_fn done;
	void *ctx;
};

struct job {
	struct work *work;
	char *key; /* NULL: none */
	bool is_immutable, is_needed;
	u64 began_ns;
	VEC(struct listener) listeners;
};

struct kept {
	char *key;
	struct payload *payload;
	u64 used_ns;
};

struct queue {
	struct workers *workers;
	VEC(struct job *) jobs;
	VEC(struct kept) cache;
	size_t cache_bytes;
	bool is_cancelled;
};

struct queue *queue_new(struct workers *workers)
{
	struct queue *q = xcalloc(1, sizeof(*q));

	q->workers = workers;
	return q;
}

static void job_free(struct job *j)
{
	work_free(j->work);
	vec_fini(&j->listeners);
	free(j->key);
	free(j);
}

/* Calls every listener and frees the job, which is in no list any more. */
static void job_end(struct job *j, int err, struct payload *result)
{
	vec_each(l, &j->listeners)
		l->done(l->ctx, err, result);
	job_free(j);
}

void queue_cancel(struct queue *q)
{
	q->is_cancelled = true;
	while (q->jobs.nr)
		job_end(q->jobs.at[--q->jobs.nr], -ECANCELED, NULL);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	queue_cancel(q);
	vec_each(k, &q->cache) {
		free(k->key);
		payload_put(k->payload);
	}
	vec_fini(&q->cache);
	vec_fini(&q->jobs);
	free(q);
}

static struct kept *find_kept(struct queue *q, const char *key)
{
	vec_each(k, &q->cache)
		if (!strcmp(k->key, key))
			return k;
	return NULL;
}

static void drop_oldest(struct queue *q)
{
	struct kept *oldest = q->cache.at;

	vec_each(k, &q->cache)
		if (k->used_ns < oldest->used_ns)
			oldest = k;
	q->cache_bytes -= oldest->payload->nr;
	free(oldest->key);
	payload_put(oldest->payload);
	*oldest = q->cache.at[--q->cache.nr];
}

static void keep(struct queue *q, const char *key, struct payload *b)
{
	if (b->nr > CACHE_ITEM || find_kept(q, key))
		return;
	while (q->cache.nr && q->cache_bytes + b->nr > CACHE_BYTES)
		drop_oldest(q);
	vec_push(&q->cache, (struct kept){ xstrdup(key), payload_get(b), time_mono_ns() });
	q->cache_bytes += b->nr;
}

bool queue_join(struct queue *q, const char *key, job_done_fn done, void *ctx)
{
	struct kept *k = find_kept(q, key);

	if (k) {
		k->used_ns = time_mono_ns();
		struct payload *b = payload_get(k->payload);
		done(ctx, 0, b);
		payload_put(b);
		return true;
	}
	vec_each(p, &q->jobs) {
		struct job *j = *p;
		if (!j->key || strcmp(j->key, key) || j->listeners.nr >= LISTENERS)
			continue;
		vec_push(&j->listeners, (struct listener){ done, ctx });
		return true;
	}
	return false;
}

int queue_add(struct queue *q, const struct job_order *o)
{
	const struct work_order order = {
		.task = o->task,
		.fds = { o->fds[0], o->fds[1] },
		.params = &o->params,
		.len = sizeof(o->params),
		.max = o->max ?: WORKER_RESULT_MAX,
		.open = o->open,
		.ctx = o->open_ctx,
		.run = web_tasks[o->task],
	};
	bool joined = o->key && queue_join(q, o->key, o->done, o->ctx);

	if (joined || q->is_cancelled || (!o->is_needed && q->jobs.nr >= WAITING_MAX)) {
		for (size_t i = 0; i < ARRAY_SIZE(o->fds); i++)
			if (o->fds[i] >= 0)
				close(o->fds[i]);
		free(o->open_ctx);
		return joined ? 0 : -EBUSY;
	}

	struct job *j = xcalloc(1, sizeof(*j));
	*j = (struct job){
		.work = work_start(q->workers, &order),
		.key = o->key ? xstrdup(o->key) : NULL,
		.is_immutable = o->is_immutable,
		.is_needed = o->is_needed,
		.began_ns = time_mono_ns(),
	};
	vec_push(&j->listeners, (struct listener){ o->done, o->ctx });
	vec_push(&q->jobs, j);
	return 0;
}

/* Removes the first byte of a worker's answer, which says what the rest is. */
static int take_result(char *bytes, size_t nr, struct payload **out)
{
	bool is_known = nr && (bytes[0] == WEB_RESULT_OK || bytes[0] == WEB_RESULT_REFUSED);

	if (!is_known) {
		free(bytes);
		return -EPIPE;
	}
	bool is_refused = bytes[0] == WEB_RESULT_REFUSED;
	memmove(bytes, bytes + 1, nr - 1);
	bytes[nr - 1] = '\0';
	*out = payload_new(bytes, nr - 1);
	return is_refused ? -EBADMSG : 0;
}

static int job_result(struct job *j, struct payload **out)
{
	void *bytes;
	size_t nr;
	int err = work_result(j->work, &bytes, &nr);

	if (err == -EAGAIN && !j->is_needed && time_mono_ns() - j->began_ns >= PATIENCE_NS)
		return -ETIMEDOUT;
	if (err)
		return err;
	return take_result(bytes, nr, out);
}

void queue_poll(struct queue *q)
{
	workers_poll(q->workers);
	/*
	 * The callbacks that get a result may add jobs. These are appended, so the loop reaches
	 * them.
	 */
	for (size_t i = 0; i < q->jobs.nr;) {
		struct job *j = q->jobs.at[i];
		struct payload *result = NULL;
		int err = job_result(j, &result);
		if (err == -EAGAIN) {
			i++;
			continue;
		}
		if (!err && j->key && j->is_immutable)
			keep(q, j->key, result);
		memmove(&q->jobs.at[i], &q->jobs.at[i + 1],
			(q->jobs.nr - i - 1) * sizeof(q->jobs.at[0]));
		q->jobs.nr--;
		job_end(j, err, result);
		payload_put(result);
	}
}

size_t queue_nr(const struct queue *q)
{
	return q->jobs.nr;
}

void *input_new(const struct input *in)
{
	return xmemdup(in, sizeof(*in));
}

int input_file(const struct input *in, u32 number)
{
	switch (in->kind) {
	case INPUT_PARTS:
		return in->nr && number >= in->nr
			       ? -ENOENT
			       : store_open_part(in->store, in->id, in->first + number);
	case INPUT_FILE:
		return number ? -ENOENT : store_open_file(in->store, in->id);
	case INPUT_SLICES: /* have no numbers, because hours may be removed during the job */
		break;
	}
	return -ENOENT;
}

int input_open(void *ctx, u32 place, const char *path)
{
	struct input *in = ctx;
	size_t digits = strspn(path, "0123456789");
	u32 right = in->kind == INPUT_SLICES ? WEB_PLACE_SLICES : WEB_PLACE_PROFILE;

	if (place != right || !digits || digits > 6 || path[digits])
		return -EINVAL;
	if (in->kind == INPUT_SLICES)
		return store_open_slices(in->store, &in->from_ns, in->to_ns);
	return input_file(in, (u32)strtoul(path, NULL, 10));
}
