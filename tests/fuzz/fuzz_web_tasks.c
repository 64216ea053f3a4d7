/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks of the web's workers: the first byte chooses the task and the format, the second what
 * begins the parameters' texts. The rest is the file, also as the second of two and as slices.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "web/jobs/jobs.h"

struct file {
	const u8 *bytes;
	size_t len;
};

static int file_open(const struct file *f)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (write(fd, f->bytes, f->len) != (ssize_t)f->len)
		abort();
	return fd;
}

static int open_again(void *ctx, u32 place, const char *path)
{
	return strcmp(path, "0") && strcmp(path, "1") ? -ENOENT : file_open(ctx);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const char *const formats[] = {
		"html", "collapsed", "pprof", "sflm", "json", "svg"
	};
	struct web_params params = { .nr_inputs = 1, .to_wall_ns = UINT64_MAX, .kinds = 7 };
	struct file file = { data + 2, size - 2 };
	auto_free void *bytes = NULL;
	size_t nr = 0;

	if (size < 2)
		return 0;
	params.nr_inputs += data[1] & 1;
	strcpy(params.format, formats[data[0] / WEB_TASKS % ARRAY_SIZE(formats)]);
	if (data[1] & 2)
		strcpy(params.transforms, "remove a\ndrop b\nreplace /c+/ -> d");
	const int fds[] = { file_open(&file), file_open(&file) };
	int err = worker_run_here(web_tasks[data[0] % WEB_TASKS], fds, &params, sizeof(params),
				  WORKER_RESULT_MAX, open_again, &file, &bytes, &nr);
	if (!err && (!nr || *(u8 *)bytes > WEB_RESULT_REFUSED ||
		     (*(u8 *)bytes == WEB_RESULT_REFUSED && nr == 1)))
		abort();
	close(fds[0]);
	close(fds[1]);
	return 0;
}
