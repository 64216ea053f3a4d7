/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952) as a stream, in both directions. */
#pragma once

#include <stdio.h>

#include <zlib.h>

#include "base/types.h"

/* Compresses bytes and writes them to a file. */
struct gzip {
	z_stream z;
	FILE *out;
};

void gzip_init(struct gzip *g, FILE *out);
void gzip_write(struct gzip *g, const void *bytes, size_t len);

/* Writes the rest and frees the contents of `g`. The caller checks ferror. */
void gzip_finish(struct gzip *g);

struct gunzip;

/* Whether `nr_out` bytes are too many for a profile of `nr_in` compressed bytes. */
bool gzip_is_bomb(u64 nr_in, u64 nr_out);
#define GZIP_BOMB_FAULT "it expands to more than 250 times its size; this is not a profile"

bool gunzip_is(const u8 *head, size_t len);

/* Reads a file whose first `nr_head` bytes were already read. The caller keeps ownership of `f`. */
struct gunzip *gunzip_new(FILE *f, const u8 *head, size_t nr_head);

/* Like fread. Returns 0 at the end and after a fault. */
size_t gunzip_read(struct gunzip *g, void *buf, size_t len);

/* The compressed bytes taken from the file so far. */
u64 gunzip_nr_in(const struct gunzip *g);

/* The fault of the input, or NULL: it is damaged, cut off, or expands too much. */
const char *gunzip_fault(const struct gunzip *g);
void gunzip_free(struct gunzip *g);
