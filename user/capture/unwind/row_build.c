/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows of files, compiled by workers. */
#include "capture/unwind/row_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row_build {
	struct workers *workers;
	struct rowcache *cache;
	struct work *work;
	int fd;
	uid_t user;
	u32 nr_max;
	bool may_identify, is_identified;
	struct rowcache_id id;
};

static void ask(struct row_build *b)
{
	struct row_request request = { .may_identify = b->may_identify && !b->is_identified };
	size_t max = sizeof(struct row_answer) + ROW_SEGMENTS_MAX * sizeof(struct elf_segment) +
		     (size_t)b->nr_max * sizeof(struct unwind_row);

	if (request.may_identify)
		memcpy(request.key, b->cache->key, sizeof(request.key));
	const struct work_order order = {
		.task = WORKER_ROWS,
		.user = b->user,
		.fds = { dup(b->fd), -1 },
		.params = &request,
		.len = sizeof(request),
		.max = max < WORKER_RESULT_MAX ? max : WORKER_RESULT_MAX,
		.run = row_build_task,
	};
	b->work = work_start(b->workers, &order);
}

struct row_build *row_build_start(struct workers *workers, struct rowcache *cache, int fd,
				  uid_t user, u32 nr_max)
{
	struct row_build *b = xcalloc(1, sizeof(*b));

	b->workers = workers;
	b->cache = cache;
	b->fd = dup(fd);
	b->user = user;
	b->nr_max = nr_max;
	b->may_identify = cache->dir >= 0;
	ask(b);
	return b;
}

/* The answer's segments; *left counts the bytes after them. */
static int take_segments(const struct row_answer *a, const u8 *bytes, size_t *left,
			 struct built_rows *out)
{
	size_t len = a->nr_segments * sizeof(out->segments[0]);

	if (a->nr_segments > ROW_SEGMENTS_MAX || len > *left)
		return -EBADMSG;
	out->segments = xmemdup(bytes, len);
	out->nr_segments = a->nr_segments;
	*left -= len;
	return 0;
}

/*
 * The rows stay in the memory of the answer, of which *out becomes the owner: there may be too many
 * to copy.
 */
static int take_rows(const struct row_answer *a, u8 **bytes, size_t at, size_t left,
		     struct built_rows *out)
{
	if (a->nr > ROWS_MAX || left != a->nr * sizeof(struct unwind_row))
		return -EBADMSG;
	memmove(*bytes, *bytes + at, left);
	out->rows = (struct rows){
		.at = (void *)take(*bytes),
		.nr = a->nr,
		.base = a->base,
		.nr_fdes = a->nr_fdes,
		.nr_unsupported = a->nr_unsupported,
		.nr_malformed = a->nr_malformed,
		.nr_unknown_ops = a->nr_unknown_ops,
	};
	return rows_are_valid(out->rows.at, out->rows.nr) ? 0 : -EBADMSG;
}

static int take_head(const u8 *bytes, size_t len, struct row_answer *a, size_t *left,
		     struct built_rows *out)
{
	if (len < sizeof(*a))
		return -EBADMSG;
	memcpy(a, bytes, sizeof(*a));
	*left = len - sizeof(*a);
	return take_segments(a, bytes + sizeof(*a), left, out);
}

int built_rows_decode(u8 **bytes, size_t len, struct built_rows *out)
{
	struct row_answer a;
	size_t left;
	int err = take_head(*bytes, len, &a, &left, out);

	return err ? err : a.is_identified ? -EBADMSG : take_rows(&a, bytes, len - left, left, out);
}

/* 1: the answer identifies rows that the cache does not hold. */
static int take_answer(struct row_build *b, u8 **bytes, size_t len, struct built_rows *out)
{
	struct row_answer a;
	size_t left;

	if (b->is_identified || !b->may_identify)
		return built_rows_decode(bytes, len, out);
	int err = take_head(*bytes, len, &a, &left, out);
	if (err)
		return err;
	if (!a.is_identified)
		return take_rows(&a, bytes, len - left, left, out);
	if (a.id.build_id_len > ELF_BUILD_ID_MAX)
		return -EBADMSG;
	b->is_identified = true;
	b->id = a.id;
	return rowcache_load(b->cache, &b->id, &out->rows) ? 1 : 0;
}

/* Takes the result of the present request; 1: a second request has to follow. */
static int take_result(struct row_build *b, struct built_rows *out)
{
	auto_free u8 *bytes = NULL;
	size_t len = 0;
	int err = work_result(b->work, (void **)&bytes, &len);

	if (err)
		return err;
	work_free(take(b->work));
	bool was_compiled = b->is_identified;
	err = take_answer(b, &bytes, len, out);
	if (!err && was_compiled)
		rowcache_store(b->cache, &b->id, &out->rows);
	if (err)
		built_rows_fini(out);
	return err;
}

int row_build_result(struct row_build *b, struct built_rows *out)
{
	*out = (struct built_rows){ 0 };
	int err = take_result(b, out);

	if (err != 1)
		return err;
	ask(b);
	return take_result(b, out);
}

void row_build_free(struct row_build *b)
{
	if (!b)
		return;
	work_free(b->work);
	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

void built_rows_fini(struct built_rows *b)
{
	rows_fini(&b->rows);
	free(take(b->segments));
	b->nr_segments = 0;
}
