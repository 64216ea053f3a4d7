/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian unsigned integers of a fixed number of bytes, in the headers of our own formats. */
#pragma once

#include "base/types.h"

static inline void fixed_put(u8 *at, u64 value, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++)
		at[i] = (u8)(value >> (8 * i));
}

static inline u64 fixed_get(const u8 *at, size_t nr_bytes)
{
	u64 value = 0;

	for (size_t i = nr_bytes; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}
