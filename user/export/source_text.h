/* SPDX-License-Identifier: Apache-2.0 */
/* The source text of sampled lines, as notes of a profile. */
#pragma once

#include "profile/profile.h"

/* The begin of a note's key; the frame's name follows. The note's text is the line. */
#define SOURCE_NOTE "source/"

struct source_texts {
	size_t nr_found;   /* lines that got a text */
	size_t nr_missing; /* lines whose file is not below the folders, or is shorter */
	size_t nr_left;    /* lines beyond the limit: those with the least weight */
	size_t nr_refused; /* lines whose file has a path, or does not end like a source */
};

/*
 * Looks for the file of each line below `folders` (separated by ':'): by the package of the method,
 * then in the folder itself. Names come from the profile and may be hostile: a file outside of the
 * folders is never opened, nor one that does not end like a source. -ENOTDIR or another error of
 * open(2) if a folder cannot be opened.
 */
int source_texts_add(struct profile *p, const char *folders, struct source_texts *out);
