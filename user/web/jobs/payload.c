/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes with several owners. */
#include "web/jobs/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

struct payload *payload_new(char *at, size_t nr)
{
	struct payload *p = xcalloc(1, sizeof(*p));

	*p = (struct payload){ .refs = 1, .nr = nr, .at = at };
	return p;
}

struct payload *payload_get(struct payload *p)
{
	p->refs++;
	return p;
}

void payload_put(struct payload *p)
{
	if (!p || --p->refs)
		return;
	free(p->at);
	free(p);
}

int payload_of_file(int fd, size_t max, struct payload **out)
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
	*out = payload_new(take(at), done);
	return 0;
}

int payload_file(const struct payload *p)
{
	auto_close int fd = memfd_create("sysflame-web", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < p->nr) {
		ssize_t nr = pwrite(fd, p->at + done, p->nr - done, (off_t)done);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr ? -errno : -EIO;
		done += (size_t)nr;
	}
	return take_fd(fd);
}
