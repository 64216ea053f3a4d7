/* SPDX-License-Identifier: Apache-2.0 */
/* Detaches probes in threads of its own. */
#include "capture/programs/detacher.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/signals.h"
#include "base/vec.h"
#include "capture/programs/programs.h"

#define THREADS_MAX 64
#define STACK_BYTES (256u << 10)

struct detacher {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(struct bpf_link *) links;
	pthread_t threads[THREADS_MAX];
	size_t nr_threads, nr_idle;
	bool is_last; /* no more links will come */
};

struct detacher *detacher_new(void)
{
	struct detacher *d = xcalloc(1, sizeof(*d));

	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	return d;
}

static void *work(void *detacher)
{
	struct detacher *d = detacher;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		while (d->links.nr) {
			struct bpf_link *link = d->links.at[--d->links.nr];
			pthread_mutex_unlock(&d->lock);
			programs_detach(link);
			pthread_mutex_lock(&d->lock);
		}
		if (d->is_last)
			break;
		d->nr_idle++;
		pthread_cond_wait(&d->changed, &d->lock);
		d->nr_idle--;
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

void detacher_add(struct detacher *d, struct bpf_link *link)
{
	pthread_mutex_lock(&d->lock);
	vec_push(&d->links, link);
	if (d->links.nr > d->nr_idle && d->nr_threads < THREADS_MAX)
		d->nr_threads += !thread_start(STACK_BYTES, work, d, &d->threads[d->nr_threads]);
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

void detacher_free(struct detacher *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->is_last = true;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
	for (size_t i = 0; i < d->nr_threads; i++)
		pthread_join(d->threads[i], NULL);
	vec_each(link, &d->links) /* detach here if no thread could be started */
		programs_detach(*link);
	vec_fini(&d->links);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
