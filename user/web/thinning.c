/* SPDX-License-Identifier: Apache-2.0 */
/* Has workers merge slices to longer ones. */
#include "web/thinning.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "web/service.h"

#define RETRY_NS (600 * NS_PER_SEC)

static void thinned(void *ctx, int err, struct payload *result)
{
	struct service *sv = ctx;
	struct thinning *t = &sv->thinning;

	t->is_busy = false;
	if (err == -ECANCELED)
		return;
	/* Slices that cannot be merged stay as they are; they must not keep the others from it. */
	bool is_done = !err || err == -EBADMSG || err == -EPIPE || err == -ETIMEDOUT ||
		       err == -EOVERFLOW || err == -EFBIG || file_is_unreadable(err);
	if (is_done && err)
		log_warn("slices of an hour are kept as they are: %s",
			 result ? result->at : strerror(-err));
	if (is_done)
		err = store_thinning_end(sv->store, &t->at, err ? NULL : result->at,
					 err ? 0 : result->nr);
	if (err && err != -ESTALE)
		t->retry_ns = time_mono_ns() + RETRY_NS;
}

void thinning_tick(struct service *sv)
{
	struct thinning *t = &sv->thinning;

	if (t->is_busy || queue_nr(sv->queue) || time_mono_ns() < t->retry_ns ||
	    !store_thinning_due(sv->store, time_wall_ns(), &t->at))
		return;
	struct job_order order = {
		.task = WEB_THIN,
		.params = { .step_ns = t->at.step_ns },
		.fds = { store_thinning_open(sv->store, &t->at), -1 },
		.done = thinned,
		.ctx = sv,
	};
	if (order.fds[0] < 0) {
		thinned(sv, order.fds[0], NULL);
		return;
	}
	t->is_busy = true;
	if (queue_add(sv->queue, &order))
		t->is_busy = false;
}
