/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* References of ZGC, as BPF programs decode them. */
#pragma once

#include "kernel.h"

#define REMAPPED_BIT 12 /* on x86-64, the lowest of four bits of which one is set */

/*
 * The address in a reference of generational ZGC: the set bit says by how much it is shifted
 * (ZPointer of src/hotspot/share/gc/z/zAddress.hpp, JDK 21). 0 if none is set.
 */
static __always_inline u64 java_colored_address(u64 reference)
{
	u64 bits = reference >> REMAPPED_BIT;

	return bits & 1   ? reference >> (REMAPPED_BIT + 1)
	       : bits & 2 ? reference >> (REMAPPED_BIT + 2)
	       : bits & 4 ? reference >> (REMAPPED_BIT + 3)
	       : bits & 8 ? reference >> (REMAPPED_BIT + 4)
			  : 0;
}
