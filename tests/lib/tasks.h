/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the work of the web's workers in the test's process. */
#pragma once

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/read.h"
#include "web/jobs/jobs.h"

#define RESULT_MAX (16u << 20)

/* Files that a task may ask for, by place; the last has no bytes. */
struct more {
	struct str files[2][4];
	int slices_errs[4]; /* 0: none */
};

static inline int memory_file(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

/* Leaves the descriptor's offset at its end: tasks do not use it. */
static inline int text_file(const char *text)
{
	return memory_file(text, strlen(text));
}

static inline int open_more(void *ctx, u32 place, const char *path)
{
	const struct more *more = ctx;
	unsigned long i = strtoul(path, NULL, 10);

	if (place == WEB_PLACE_SLICES && i < 4 && more->slices_errs[i])
		return more->slices_errs[i];
	if (place > WEB_PLACE_SLICES || i >= 4 || !more->files[place][i].at)
		return -ENOENT;
	return memory_file(more->files[place][i].at, more->files[place][i].len);
}

static inline struct web_params in_format(const char *format)
{
	struct web_params params = { .nr_inputs = 1 };

	copy_text(params.format, sizeof(params.format), format);
	return params;
}

/* The first byte of the result, or a negative errno. `out` gets the rest, which ends in a NUL. */
static inline int run(enum web_task task, int first, int second, const struct web_params *params,
		      struct more *more, struct str *out)
{
	const int fds[] = { first, second };
	auto_free void *bytes = NULL;
	size_t nr;
	int err = worker_run_here(web_tasks[task], fds, params, sizeof(*params), RESULT_MAX,
				  open_more, more, &bytes, &nr);

	close(first);
	if (second >= 0)
		close(second);
	str_clear(out);
	if (err)
		return err;
	assert_true(nr >= 1);
	str_add_bytes(out, (u8 *)bytes + 1, nr - 1);
	return *(u8 *)bytes;
}

/* The profile in a page. */
static inline struct profile *profile_of(const struct str *page)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	FILE *f = fmemopen(page->at, page->len, "r");

	assert_int_equal(profile_read(f, p, &why), 0);
	fclose(f);
	return p;
}
