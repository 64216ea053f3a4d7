/* SPDX-License-Identifier: Apache-2.0 */
/* Whether writes to the store succeed. */
#include "web/store_health.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"

/* Other errors concern what was to be stored, not the store. */
static bool is_of_disk(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS || err == -EIO;
}

const char *store_health_why(const struct store_health *h)
{
	switch (h->err) {
	case 0:
		return "";
	case -EROFS:
		return "The disk is read-only. New slices and profiles are not stored.";
	case -EIO:
		return "The disk has errors. New slices and profiles are not stored.";
	default:
		return "The disk is full. New slices and profiles are not stored.";
	}
}

void store_health_note(struct store_health *h, int err)
{
	if (err && !is_of_disk(err))
		return;
	h->nr_errors += err != 0;
	if (err && !h->err) {
		h->since_wall_ns = time_wall_ns();
		log_error("new slices and profiles are not stored: %s", strerror(-err));
	}
	if (!err && h->err)
		log_info("slices and profiles are stored again");
	h->err = err;
}
