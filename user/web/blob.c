/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes with several owners. */
#include "web/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

struct blob *blob_new(char *at, size_t nr)
{
	struct blob *b = xcalloc(1, sizeof(*b));

	*b = (struct blob){ .refs = 1, .nr = nr, .at = at };
	return b;
}

struct blob *blob_get(struct blob *b)
{
	b->refs++;
	return b;
}

void blob_put(struct blob *b)
{
	if (!b || --b->refs)
		return;
	free(b->at);
	free(b);
}

int blob_of_file(int fd, size_t max, struct blob **out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return -EINVAL;
	if ((u64)st.st_size > max)
		return -EFBIG;

	size_t len = (size_t)st.st_size, done = 0;
	auto_free char *at = xmalloc(len + 1);
	while (done < len) {
		ssize_t nr = pread(fd, at + done, len - done, (off_t)done);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		if (!nr) /* the file became shorter */
			break;
		done += (size_t)nr;
	}
	at[done] = '\0';
	*out = blob_new(take(at), done);
	return 0;
}

int blob_file(const struct blob *b)
{
	auto_close int fd = memfd_create("sysflame-web", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < b->nr) {
		ssize_t nr = pwrite(fd, b->at + done, b->nr - done, (off_t)done);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr ? -errno : -EIO;
		done += (size_t)nr;
	}
	return take_fd(fd);
}
