/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a profile's body, as docs/profile-format.md lists them. */
#pragma once

/* Persistent: append only, never renumber. */
enum section {
	SECTION_META = 1,
	SECTION_NAMES = 2,
	SECTION_FRAMES = 3,
	SECTION_POP = 4,
	SECTION_CALLEE = 5,
	SECTION_FIRST = 6,
	SECTION_SELF = 7, /* one per value type */
	SECTION_TIERS = 8,
	SECTION_LABELSETS = 9,
	SECTION_NODELABELS = 10,
	SECTION_LABELWEIGHTS = 11,
	SECTION_RAWNAMES = 12,
	SECTION_MODULES = 13,
	SECTION_LINES = 14,
	SECTION_HIDDEN = 15,
	NR_SECTIONS,
};

#define FORMAT_VERSION   1
#define FORMAT_DEPTH_MAX 65535
