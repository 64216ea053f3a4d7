/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the entries of call frame information: CIEs and FDEs. */
#include "elf/cfi.h"

#include <errno.h>

#include "elf/cfi_run.h"
#include "elf/cursor.h"
#include "elf/pointer.h"

/* Skips the personality routine's address; only its length matters. */
static bool skip_personality(struct cursor *c)
{
	u8 encoding = cursor_u8(c);

	return encoding == POINTER_OMITTED || pointer_skip(c, encoding);
}

/*
 * Reads the data that the letters of the augmentation string announce. Returns false if a letter is
 * unknown.
 */
static bool read_augmentation(struct cfi_cie *cie, const char *letters, struct cursor *c)
{
	if (!*letters)
		return true;
	if (*letters++ != 'z')
		return false;
	cie->has_augmentation = true;
	u64 len = cursor_uleb(c);
	struct cursor data = { .at = c->at };
	if (!cursor_skip(c, len))
		return false;
	data.end = c->at;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = cursor_u8(&data);
			break;
		case 'L':
			cursor_u8(&data);
			break;
		case 'P':
			if (!skip_personality(&data))
				return false;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			return false;
		}
	}
	return !data.is_bad;
}

/* Reads the fields from the version up to the instructions. */
static bool read_cie_head(struct cfi_cie *cie, struct cursor *c)
{
	u8 version = cursor_u8(c);
	if (version != 1 && version != 3 && version != 4)
		return false;
	const char *letters = (const char *)c->at;
	while (cursor_u8(c))
		;
	if (c->is_bad)
		return false;
	if (version == 4) {
		u8 address_size = cursor_u8(c), segment_size = cursor_u8(c);
		if (address_size != 8 || segment_size != 0)
			return false;
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	u64 return_register = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	return !c->is_bad && return_register == cfi_return_register() &&
	       read_augmentation(cie, letters, c);
}

static void read_cie(struct cfi *cfi, const struct cfi_section *s, u64 off, struct cursor *c)
{
	struct cfi_cie cie = { .section = s, .off = off };

	cie.is_readable = read_cie_head(&cie, c);
	if (cie.is_readable)
		cfi_run_cie(cfi, &cie, c);
	else
		cfi->nr_malformed++;
	vec_push(&cfi->cies, cie);
}

/*
 * Searches backwards only, because linkers write a CIE before its FDEs. Most FDEs use the last CIE.
 */
static const struct cfi_cie *find_cie(const struct cfi *cfi, const struct cfi_section *s, u64 off)
{
	size_t lo = 0, hi = cfi->cies.nr;

	for (size_t mid = hi - 1; lo < hi; mid = lo + (hi - lo) / 2) {
		const struct cfi_cie *cie = &cfi->cies.at[mid];
		if (cie->section == s && cie->off == off)
			return cie;
		if (cie->section != s || cie->off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/*
 * Returns false if the FDE is damaged. Skips an FDE of code that the linker dropped, or of length
 * 0.
 */
static bool read_fde(struct cfi *cfi, const struct cfi_section *s, u64 cie_off, struct cursor *c)
{
	const struct cfi_cie *cie = find_cie(cfi, s, cie_off);
	if (!cie || !cie->is_readable)
		return false;

	u64 at_vaddr = s->vaddr + (u64)(c->at - s->data), start, len;
	if (!pointer_read(c, cie->encoding, at_vaddr, &start) ||
	    !pointer_read_number(c, cie->encoding, &len))
		return false;
	if (cie->has_augmentation)
		cursor_skip(c, cursor_uleb(c));
	if (c->is_bad || len > UINT32_MAX)
		return false;

	bool is_dropped = start == (cie->encoding & POINTER_PC_RELATIVE ? at_vaddr : 0);
	start -= cfi->base;
	if (is_dropped || len == 0 || start >= cfi->size)
		return true;
	struct cfi_fde fde = {
		.start = (u32)start,
		.end = len > cfi->size - start ? cfi->size : (u32)(start + len),
		.cie = (u32)(cie - cfi->cies.at),
		.insns = (u32)(c->at - s->data),
		.nr_insn_bytes = (u32)(c->end - c->at),
	};
	vec_push(&cfi->fdes, fde);
	return true;
}

/* Reads one entry at `c` and moves `c` to its end. Returns false if no entry is left. */
static bool read_entry(struct cfi *cfi, const struct cfi_section *s, struct cursor *c)
{
	u64 off = (u64)(c->at - s->data);
	u64 len = cursor_uint(c, 4), id_size = 4;

	if (len == UINT32_MAX) {
		len = cursor_uint(c, 8);
		id_size = s->is_debug_frame ? 8 : 4;
	}
	if (len == 0 || c->is_bad)
		return false;
	struct cursor body = { .at = c->at };
	if (!cursor_skip(c, len)) {
		cfi->nr_malformed++;
		return false;
	}
	body.end = c->at;

	u64 id_off = (u64)(body.at - s->data), id = cursor_uint(&body, id_size);
	u64 cie_id = !s->is_debug_frame ? 0 : id_size == 8 ? UINT64_MAX : UINT32_MAX;
	if (body.is_bad)
		cfi->nr_malformed++;
	else if (id == cie_id)
		read_cie(cfi, s, off, &body);
	else if (!read_fde(cfi, s, s->is_debug_frame ? id : id_off - id, &body))
		cfi->nr_malformed++;
	return true;
}

int cfi_read(struct cfi *cfi, const struct cfi_section *section)
{
	if (section->size > CFI_SECTION_MAX)
		return -EFBIG;

	struct cursor c = { .at = section->data, .end = section->data + section->size };
	while (c.at < c.end && read_entry(cfi, section, &c)) {
		if (cfi->fdes.nr > CFI_FDES_MAX || cfi->cies.nr > CFI_CIES_MAX)
			return -EFBIG;
	}
	return 0;
}

bool cfi_fde_is_debug(const struct cfi *cfi, const struct cfi_fde *fde)
{
	return cfi->cies.at[fde->cie].section->is_debug_frame;
}

void cfi_fini(struct cfi *cfi)
{
	vec_fini(&cfi->cies);
	vec_fini(&cfi->fdes);
}
