/* SPDX-License-Identifier: Apache-2.0 */
/* Statically defined probes (USDT). */
#include "elf/usdt.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"

#define NOTES_BYTES_MAX (16u << 20)
#define NOTE_TYPE       3
#define NOTE_OWNER      "stapsdt"

struct usdt_search {
	const struct elf *elf;
	const char *probe;
	u64 base; /* present address of .stapsdt.base; 0 if the file has none */
	struct usdt_place *out;
	size_t nr;
	struct near *near;
};

/*
 * Addresses in notes are the linker's. prelink moves the code and data, but does not update the
 * notes.
 */
struct usdt_note {
	u64 pc, base, semaphore;
};

static u64 file_offset(const struct elf *e, u64 vaddr)
{
	u64 left;
	const struct elf_segment *s = elf_segment_of(e, vaddr, &left);

	return s ? vaddr - s->vaddr + s->file_off : 0;
}

/* `desc` holds three addresses, then the provider, the name and the arguments as strings. */
static void visit(struct usdt_search *s, const char *desc, size_t len)
{
	struct usdt_note note;
	auto_str struct str probe = { 0 };

	if (len <= sizeof(note) || desc[len - 1])
		return;
	memcpy(&note, desc, sizeof(note));
	const char *provider = desc + sizeof(note), *name = provider + strlen(provider) + 1;
	if (name >= desc + len)
		return;
	str_addf(&probe, "%s:%s", provider, name);
	if (strcmp(probe.at, s->probe)) {
		near_consider(s->near, probe.at);
		return;
	}
	u64 moved = s->base ? s->base - note.base : 0;
	struct usdt_place place = {
		.file_off = file_offset(s->elf, note.pc + moved),
		.semaphore_off = note.semaphore ? file_offset(s->elf, note.semaphore + moved) : 0,
	};
	if (place.file_off && s->nr < USDT_PLACES_MAX)
		s->out[s->nr++] = place;
}

/* The parts of a note are padded to 4 bytes (gABI, chapter 5). */
static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

static void read_notes(struct usdt_search *s, const char *at, size_t len)
{
	Elf64_Nhdr h;

	while (len >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		size_t name_len = padded(h.n_namesz), desc_len = padded(h.n_descsz);
		len -= sizeof(h);
		at += sizeof(h);
		if (name_len > len || h.n_descsz > len - name_len)
			return;
		if (h.n_type == NOTE_TYPE && h.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(at, NOTE_OWNER, sizeof(NOTE_OWNER)))
			visit(s, at + name_len, h.n_descsz);
		if (desc_len > len - name_len)
			return;
		at += name_len + desc_len;
		len -= name_len + desc_len;
	}
}

int usdt_find(const struct elf *e, const char *probe, struct usdt_place out[USDT_PLACES_MAX],
	      size_t *nr, struct near *near)
{
	struct usdt_search s = { .elf = e, .probe = probe, .out = out, .near = near };
	const struct elf_section *base = elf_section_find(e, ".stapsdt.base");
	const struct elf_section *notes = elf_section_find(e, ".note.stapsdt");
	auto_free void *bytes = NULL;
	size_t len;

	if (!elf_is_64(e))
		return -ENOEXEC;
	if (!notes)
		return -ENOENT;
	int err = elf_section_read(e, notes, NOTES_BYTES_MAX, &bytes, &len);
	if (err)
		return err;
	s.base = base ? base->vaddr : 0;
	read_notes(&s, bytes, len);
	*nr = s.nr;
	return s.nr ? 0 : -ENOENT;
}
