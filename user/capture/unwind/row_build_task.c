/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles unwind rows, in a worker. Part of capture/unwind/row_build.h. */
#include <errno.h>
#include <string.h>

#include "capture/unwind/row_build.h"

static int put_segments(struct worker_io *io, const struct elf *e, u32 nr)
{
	size_t all;
	const struct elf_segment *segments = elf_segments(e, &all);
	int err = 0;

	for (size_t i = 0; !err && nr && i < all; i++) {
		if (segments[i].type != PT_LOAD)
			continue;
		err = worker_put(io, &segments[i], sizeof(segments[i]));
		nr--;
	}
	return err;
}

static u32 nr_loads(const struct elf *e)
{
	size_t all;
	const struct elf_segment *segments = elf_segments(e, &all);
	u32 nr = 0;

	for (size_t i = 0; i < all && nr < ROW_SEGMENTS_MAX; i++)
		nr += segments[i].type == PT_LOAD;
	return nr;
}

static int put_rows(struct worker_io *io, const struct elf *e, const struct cfi_input *input)
{
	auto_rows struct rows rows = { 0 };
	int err = rows_compile(input, &rows);
	const struct row_answer answer = {
		.nr_segments = nr_loads(e),
		.base = rows.base,
		.nr = rows.nr,
		.nr_fdes = rows.nr_fdes,
		.nr_unsupported = rows.nr_unsupported,
		.nr_malformed = rows.nr_malformed,
		.nr_unknown_ops = rows.nr_unknown_ops,
	};

	return err ? err
		   : worker_put(io, &answer, sizeof(answer))
			     ?: put_segments(io, e, answer.nr_segments)
			     ?: worker_put(io, rows.at, rows.nr * sizeof(rows.at[0]));
}

int row_build_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_cfi_input struct cfi_input input = { 0 };
	auto_elf struct elf *e = NULL;
	struct row_answer id = { .is_identified = 1 };
	struct row_request request;

	if (len != sizeof(request))
		return -EINVAL;
	memcpy(&request, params, len);
	int err = elf_open_fd(fds[0], &e) ?: cfi_input_of_file(e, &input);
	if (err)
		return err;
	if (!request.may_identify || !rowcache_is_worth(&input))
		return put_rows(io, e, &input);
	id.nr_segments = nr_loads(e);
	rowcache_identify(request.key, e, &input, &id.id);
	return worker_put(io, &id, sizeof(id)) ?: put_segments(io, e, id.nr_segments);
}
