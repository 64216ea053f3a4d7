/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the places for probes in a file, in a worker. */
#include "sym/places.h"

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
#define NOW_NS         (PARSER_WALL_NS + 5 * NS_PER_SEC) /* it may wait for another file's end */

_Static_assert(PLACES_MAX >= USDT_PLACES_MAX && PLACES_MAX >= PLACES_NAMES_MAX, "room for all");

/* The parameters: this, then the path and the names, each with a NUL. */
struct request {
	u32 kind, nr_names, nr_alternatives, nr_near;
	u64 file_off;
	u32 in_debug_files, reserved;
};

/* The answer: this, the places, the similar names, each with a NUL. */
struct answer {
	s32 err;
	u32 nr, near_len;
	u32 is_program, has_exports, reserved;
	u64 code_start, code_end;
};

/* A request as the worker reads it. */
struct place_search {
	struct request request;
	const char *path;
	const char *names[PLACES_NAMES_MAX];
	struct worker_io *io;
	int fd;
	struct answer answer;
	struct probe_place at[PLACES_MAX];
	struct near near;
};

static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	*at = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

static int read_request(const void *params, size_t len, struct place_search *s)
{
	struct request *r = &s->request;
	const char *at = params, *end = at + len;

	if (len < sizeof(*r))
		return -EINVAL;
	memcpy(r, params, sizeof(*r));
	at += sizeof(*r);
	if (r->nr_names > PLACES_NAMES_MAX || r->nr_near > NEAR_MAX || !r->nr_alternatives ||
	    r->nr_names % r->nr_alternatives || (!r->nr_names && r->kind != PLACES_INSTRUCTION))
		return -EINVAL;
	s->path = next_text(&at, end);
	for (u32 i = 0; i < r->nr_names; i++)
		s->names[i] = next_text(&at, end);
	s->near = (struct near){ .wanted = s->names[0], .max = r->nr_near };
	return s->path && (!r->nr_names || s->names[r->nr_names - 1]) ? 0 : -EINVAL;
}

static void describe(const struct elf *e, struct answer *a)
{
	const struct elf_section *exported = elf_section_find(e, ".dynsym");
	size_t nr;
	const struct elf_segment *segments = elf_segments(e, &nr);

	a->has_exports = exported && exported->size > sizeof(Elf64_Sym);
	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &segments[i];
		a->is_program |= s->type == PT_INTERP;
		if (s->type == PT_LOAD && s->flags & PF_X && !a->code_end) {
			a->code_start = s->file_off;
			a->code_end = s->file_off + s->filesz;
		}
	}
}

static int ask_for_debug_file(enum debug_place place, const char *path, void *io)
{
	return worker_open(io, place, path);
}

/* Takes the first of the alternatives; whether each function has one. */
static bool take_functions(struct place_search *s, const struct function *found)
{
	u32 step = s->request.nr_alternatives;
	bool is_whole = true;

	s->answer.nr = s->request.nr_names / step;
	for (u32 i = 0; i < s->answer.nr; i++) {
		const struct function *f = &found[i * step];
		for (u32 j = 0; j < step && !f->file_off; j++)
			f = &found[i * step + j];
		s->at[i] = (struct probe_place){ .file_off = f->file_off, .size = f->size };
		is_whole &= f->file_off != 0;
	}
	return is_whole;
}

static int search_functions(struct place_search *s, const struct elf *e)
{
	const struct request *r = &s->request;
	struct function found[PLACES_NAMES_MAX];
	int err =
		functions_find(s->fd, s->names, r->nr_names, found, s->near.max ? &s->near : NULL);

	if (err)
		return err;
	if (!take_functions(s, found) && r->in_debug_files) {
		const struct debug_places in = { s->path, ask_for_debug_file, s->io };
		functions_find_stripped(s->fd, &in, s->names, r->nr_names, found);
		take_functions(s, found);
	}
	return s->answer.nr == 1 && !s->at[0].file_off ? -ENOENT : 0;
}

static int search_usdt(struct place_search *s, const struct elf *e)
{
	struct usdt_place found[USDT_PLACES_MAX];
	size_t nr = 0;
	int err = usdt_find(e, s->names[0], found, &nr, &s->near);

	s->answer.nr = err ? 0 : (u32)nr;
	for (u32 i = 0; i < s->answer.nr; i++)
		s->at[i] = (struct probe_place){ .file_off = found[i].file_off,
						 .semaphore_off = found[i].semaphore_off };
	return err;
}

static int search(struct place_search *s)
{
	auto_elf struct elf *e = NULL;
	int err = elf_open_fd(s->fd, &e);

	if (err)
		return err;
	describe(e, &s->answer);
	switch (s->request.kind) {
	case PLACES_FUNCTIONS:
		return search_functions(s, e);
	case PLACES_USDT:
		return search_usdt(s, e);
	case PLACES_INSTRUCTION:
		return instruction_begins(s->fd, s->request.file_off);
	default:
		return -EINVAL;
	}
}

static int put_answer(struct place_search *s)
{
	auto_str struct str near = { 0 };

	for (size_t i = 0; s->answer.err == -ENOENT && i < s->near.max && s->near.names[i]; i++) {
		str_add(&near, s->near.names[i]);
		str_add_char(&near, '\0');
	}
	s->answer.near_len = (u32)near.len;
	return worker_put(s->io, &s->answer, sizeof(s->answer))
		       ?: worker_put(s->io, s->at, s->answer.nr * sizeof(s->at[0]))
		       ?: worker_put(s->io, near.at, near.len);
}

int places_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	struct place_search s = { .io = io, .fd = fds[0] };
	int err = read_request(params, len, &s);

	if (err)
		return err;
	s.answer.err = search(&s);
	err = put_answer(&s);
	near_fini(&s.near);
	return err;
}

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
	const struct request request = {
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
		.max = sizeof(struct answer) + PLACES_MAX * sizeof(struct probe_place) +
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
		const char *name = next_text(&at, end);
		if (!name || i == NEAR_MAX)
			return -EBADMSG;
		out->near[i] = xstrdup(name);
	}
	return 0;
}

static bool is_number_right(const struct answer *a, const struct places_query *q)
{
	switch (q->kind) {
	case PLACES_FUNCTIONS:
		/* A file that is not an ELF file has no answer for each. */
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
	struct answer a;

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
