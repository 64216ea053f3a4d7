/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the store. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/files.h"
#include "store/store_state.h"

void store_close(struct store *s)
{
	if (!s)
		return;
	slices_close(s);
	index_close(s->db);
	const int fds[] = { s->profiles, s->parts, s->slices, s->dir, s->lock };
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(s);
}

static int take_lock(struct store *s)
{
	s->lock = openat(s->dir, "lock", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return -errno;
	if (flock(s->lock, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static int open_dirs(struct store *s)
{
	static const char *const names[] = { "profiles", "parts", "slices" };
	int *fds[] = { &s->profiles, &s->parts, &s->slices };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		*fds[i] = dir_open(s->dir, names[i]);
		if (*fds[i] < 0)
			return *fds[i];
	}
	return 0;
}

static int open_all(struct store *s, struct str *why)
{
	int err = take_lock(s);

	if (err == -EBUSY)
		str_add(why, "another process has the store open");
	if (err)
		return err;
	err = index_open(s->dir, &s->db, why);
	if (!err)
		err = profiles_open(s);
	if (!err)
		err = open_dirs(s);
	if (!err)
		err = store_reconcile(s);
	if (!err)
		s->next_id = store_last_id(s) + 1;
	return err;
}

int store_open(int dir, const struct store_limits *limits, struct store **out, struct str *why)
{
	struct store *s = xcalloc(1, sizeof(*s));

	*s = (struct store){ .lock = -1, .profiles = -1, .parts = -1, .slices = -1, .hour_fd = -1 };
	s->fits_at = -1;
	s->limits = *limits;
	s->synced_ns = time_mono_ns();
	s->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	int err = s->dir < 0 ? -errno : open_all(s, why);
	if (err) {
		if (!why->len)
			str_addf(why, "cannot use the store's directory: %s", strerror(-err));
		store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

u64 store_new_id(struct store *s)
{
	u64 id = s->next_id++;
	char text[32];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)id);

	/* An error is ignored: the id could be used again only if the index is lost, too. */
	file_put(s->dir, "ids", text, (size_t)len, true);
	return id;
}
