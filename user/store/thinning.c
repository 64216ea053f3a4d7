/* SPDX-License-Identifier: Apache-2.0 */
/* Hours whose slices become longer ones. Part of store/store_slices.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store_state.h"

#define MINUTE_NS (60 * NS_PER_SEC)

/* The oldest hour that ended before now - age, and has shorter steps. */
static bool find_hour(struct store *s, u64 now_ns, u64 age_ns, u64 step_ns,
		      struct store_thinning *out)
{
	u64 end = age_ns && now_ns > age_ns ? (now_ns - age_ns) / HOUR_NS : 0;
	u64 hour = index_number(s->db,
				"SELECT min(hour) FROM hours WHERE is_sealed = 1 AND hour < ?"
				" AND step_ns < ?",
				"ii", end, step_ns);

	*out = (struct store_thinning){ .hour = hour, .step_ns = step_ns };
	return hour > 0;
}

bool store_thinning_due(struct store *s, u64 now_ns, struct store_thinning *out)
{
	return !s->is_unsettled &&
	       (find_hour(s, now_ns, s->limits.keep_1min_ns, 10 * MINUTE_NS, out) ||
		find_hour(s, now_ns, s->limits.keep_10s_ns, MINUTE_NS, out));
}

int store_thinning_open(struct store *s, struct store_thinning *t)
{
	char name[FILE_NAME_BYTES];
	struct stat st;

	hour_file_name(t->hour, name);
	if (!fstatat(s->slices, name, &st, AT_SYMLINK_NOFOLLOW)) {
		t->inode = st.st_ino;
		t->size_bytes = (u64)st.st_size;
	}
	int fd = file_get(s->slices, name);
	if (fd == -ENOENT)
		slices_remove(s, t->hour);
	return fd;
}

static bool is_same_file(struct store *s, const struct store_thinning *t, const char *name)
{
	struct stat st;

	return !fstatat(s->slices, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == t->inode &&
	       (u64)st.st_size == t->size_bytes;
}

int store_thinning_end(struct store *s, const struct store_thinning *t, const void *bytes,
		       size_t nr)
{
	char name[FILE_NAME_BYTES];

	hour_file_name(t->hour, name);
	if (!is_same_file(s, t, name))
		return -ESTALE;
	if (s->hour == t->hour)
		slices_close(s);
	int err = bytes ? file_put(s->slices, name, bytes, nr, true) : 0;
	if (err)
		return err;
	return index_run(s->db, "UPDATE hours SET step_ns = ?, size_bytes = ? WHERE hour = ?",
			 "iii", t->step_ns, file_size(s->slices, name), t->hour);
}

u64 store_slices_step(struct store *s, u64 from_ns, u64 to_ns)
{
	return index_number(s->db, "SELECT max(step_ns) FROM hours WHERE hour >= ? AND hour <= ?",
			    "ii", from_ns / HOUR_NS, (to_ns ? to_ns - 1 : 0) / HOUR_NS);
}
