/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers of .eh_frame. */
#include "elf/cursor.h"

/* Encodings of pointers; LSB Core, "DWARF Exception Header Encoding". */
enum {
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_ALIGNED = 0x50,
};

bool pointer_read_number(struct cursor *c, u8 encoding, u64 *out)
{
	switch (encoding & PE_FORMAT) {
	case POINTER_ABSOLUTE:
	case PE_UDATA8:
	case PE_SDATA8:
		*out = cursor_uint(c, 8);
		break;
	case PE_ULEB:
		*out = cursor_uleb(c);
		break;
	case PE_SLEB:
		*out = (u64)cursor_sleb(c);
		break;
	case PE_UDATA2:
		*out = cursor_uint(c, 2);
		break;
	case PE_SDATA2:
		*out = (u64)(s16)cursor_uint(c, 2);
		break;
	case PE_UDATA4:
		*out = cursor_uint(c, 4);
		break;
	case PE_SDATA4:
		*out = (u64)(s32)cursor_uint(c, 4);
		break;
	default:
		return false;
	}
	return !c->is_bad;
}

bool pointer_read(struct cursor *c, u8 encoding, u64 at_vaddr, u64 *out)
{
	u64 value;

	if ((encoding & ~(PE_FORMAT | POINTER_PC_RELATIVE)) ||
	    !pointer_read_number(c, encoding, &value))
		return false;
	*out = encoding & POINTER_PC_RELATIVE ? value + at_vaddr : value;
	return true;
}

bool pointer_skip(struct cursor *c, u8 encoding)
{
	u64 ignored;

	return encoding != PE_ALIGNED && pointer_read_number(c, encoding, &ignored);
}
