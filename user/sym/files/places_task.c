/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the places for probes in a file, in a worker. Part of sym/files/places.h. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "elf/debugfile.h"
#include "elf/elf.h"
#include "elf/functions.h"
#include "elf/instruction.h"
#include "elf/usdt.h"
#include "sym/files/places.h"

_Static_assert(PLACES_MAX >= USDT_PLACES_MAX && PLACES_MAX >= PLACES_NAMES_MAX, "room for all");

/* A request as the worker reads it. */
struct place_search {
	struct places_request request;
	const char *path;
	const char *names[PLACES_NAMES_MAX];
	struct worker_io *io;
	int fd;
	struct places_answer answer;
	struct probe_place at[PLACES_MAX];
	struct near near;
};

const char *places_next_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	*at = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

static int read_request(const void *params, size_t len, struct place_search *s)
{
	struct places_request *r = &s->request;
	const char *at = params, *end = at + len;

	if (len < sizeof(*r))
		return -EINVAL;
	memcpy(r, params, sizeof(*r));
	at += sizeof(*r);
	if (r->nr_names > PLACES_NAMES_MAX || r->nr_near > NEAR_MAX || !r->nr_alternatives ||
	    r->nr_names % r->nr_alternatives || (!r->nr_names && r->kind != PLACES_INSTRUCTION))
		return -EINVAL;
	s->path = places_next_text(&at, end);
	for (u32 i = 0; i < r->nr_names; i++)
		s->names[i] = places_next_text(&at, end);
	s->near = (struct near){ .wanted = s->names[0], .max = r->nr_near };
	return s->path && (!r->nr_names || s->names[r->nr_names - 1]) ? 0 : -EINVAL;
}

static void describe(const struct elf *e, struct places_answer *a)
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
	const struct places_request *r = &s->request;
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
