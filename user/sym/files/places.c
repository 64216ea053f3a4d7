/* SPDX-License-Identifier: Apache-2.0 */
/* Asks workers for the places for probes in a file. */
#include "sym/files/places.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "elf/elf.h"
#include "elf/functions.h"
#include "elf/instruction.h"
#include "elf/usdt.h"

#define NEAR_BYTES_MAX (NEAR_MAX * 512)
/* the search may have to wait until a worker has finished another file */
#define NOW_NS (PARSER_WALL_NS + 5 * NS_PER_SEC)

static int add_text(struct str *to, const char *text)
{
	str_add(to, text);
	str_add_char(to, '\0');
	return to->len > WORKER_TEXT_MAX ? -ENAMETOOLONG : 0;
}

static u32 nr_alternatives(const struct places_query *q)
{
	return q->nr_alternatives ?: 1;
}

static int write_request(const struct places_query *q, struct str *out)
{
	const struct places_request request = {
		.kind = q->kind,
		.nr_names = q->nr_names,
		.nr_alternatives = nr_alternatives(q),
		.nr_near = q->nr_near,
		.file_off = q->file_off,
		.in_debug_files = q->debug_path != NULL,
	};
	int err;

	str_add_bytes(out, &request, sizeof(request));
	err = add_text(out, q->debug_path ?: "");
	for (u32 i = 0; !err && i < q->nr_names; i++)
		err = add_text(out, q->names[i]);
	return err;
}

int places_search(struct workers *workers, int fd, const struct places_query *query,
		  struct work **out)
{
	auto_str struct str params = { 0 };
	struct stat st;
	int err = write_request(query, &params) ?: file_status(fd, &st);

	if (err) {
		free(query->ctx);
		return err;
	}
	const struct work_order order = {
		.task = WORKER_PLACES,
		.user = st.st_uid,
		.fds = { fcntl(fd, F_DUPFD_CLOEXEC, 0), -1 },
		.params = params.at,
		.len = params.len,
		.max = sizeof(struct places_answer) + PLACES_MAX * sizeof(struct probe_place) +
		       NEAR_BYTES_MAX,
		.open = query->open,
		.ctx = query->ctx,
		.run = places_task,
	};
	*out = work_start(workers, &order);
	return 0;
}

static int take_near(const char *at, size_t len, struct places *out)
{
	const char *end = at + len;

	for (size_t i = 0; at < end; i++) {
		const char *name = places_next_text(&at, end);
		if (!name || i == NEAR_MAX)
			return -EBADMSG;
		out->near[i] = xstrdup(name);
	}
	return 0;
}

static bool is_number_right(const struct places_answer *a, const struct places_query *q)
{
	switch (q->kind) {
	case PLACES_FUNCTIONS:
		/* Check the number of answers; for a file that is no ELF file there are none. */
		return a->nr == q->nr_names / nr_alternatives(q) || (a->err && !a->nr);
	case PLACES_USDT:
		return a->err ? !a->nr : a->nr && a->nr <= PLACES_MAX;
	default:
		return !a->nr;
	}
}

int places_decode(const void *bytes, size_t len, const struct places_query *query,
		  struct places *out)
{
	struct places_answer a;

	*out = (struct places){ 0 };
	if (len < sizeof(a))
		return -EBADMSG;
	memcpy(&a, bytes, sizeof(a));
	len -= sizeof(a);
	if (!is_number_right(&a, query) || a.err > 0 || a.err == -EAGAIN ||
	    a.near_len > NEAR_BYTES_MAX || len != a.nr * sizeof(struct probe_place) + a.near_len)
		return -EBADMSG;
	const char *at = (const char *)bytes + sizeof(a);
	out->nr = a.nr;
	out->at = xmemdup(at, a.nr * sizeof(struct probe_place));
	out->code_start = a.code_start;
	out->code_end = a.code_end;
	out->is_program = a.is_program;
	out->has_exports = a.has_exports;
	return take_near(at + a.nr * sizeof(struct probe_place), a.near_len, out) ?: a.err;
}

int places_result(struct work *k, const struct places_query *query, struct places *out)
{
	auto_free void *bytes = NULL;
	size_t len = 0;
	int err = work_result(k, &bytes, &len);

	*out = (struct places){ 0 };
	return err ? err : places_decode(bytes, len, query, out);
}

int places_search_now(struct workers *workers, const char *path, const struct places_query *query,
		      struct places *out)
{
	auto_close int fd = file_open_regular(AT_FDCWD, path, 0);
	u64 until_ns = time_mono_ns() + NOW_NS;
	struct work *k = NULL;
	int err = fd < 0 ? fd : places_search(workers, fd, query, &k);

	if (err)
		return err;
	do {
		if (workers)
			workers_set_patience(workers, NS_PER_SEC);
		err = places_result(k, query, out);
	} while (err == -EAGAIN && time_mono_ns() < until_ns);
	work_free(k);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

void places_fini(struct places *p)
{
	free(take(p->at));
	for (size_t i = 0; i < ARRAY_SIZE(p->near); i++)
		free(take(p->near[i]));
	p->nr = 0;
}
