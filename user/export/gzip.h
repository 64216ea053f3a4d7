/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952) as a stream, in both directions. */
#pragma once

#include <stdio.h>

#include <zlib.h>

#include "base/types.h"

/* Bytes that are written compressed to a file. */
struct gzip {
	z_stream z;
	FILE *out;
};

void gzip_init(struct gzip *g, FILE *out);
void gzip_write(struct gzip *g, const void *bytes, size_t len);

/* Writes what is left and frees what `g` holds; the caller checks ferror. */
void gzip_finish(struct gzip *g);

struct gunzip;

bool gunzip_is(const u8 *head, size_t len);

/* Reads a file of which `nr_head` bytes were read before; `f` stays the caller's. */
struct gunzip *gunzip_new(FILE *f, const u8 *head, size_t nr_head);

/* Like fread; 0 at the end or if something is wrong. */
size_t gunzip_read(struct gunzip *g, void *buf, size_t len);

/* What is wrong, NULL if nothing is: damaged, cut off, or made to swell beyond reason. */
const char *gunzip_fault(const struct gunzip *g);
void gunzip_free(struct gunzip *g);
