/* SPDX-License-Identifier: Apache-2.0 */
/* gzip as a stream. */
#include "export/format/gzip.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define WINDOW_GZIP (MAX_WBITS + 16) /* selects the gzip format in zlib */
#define CHUNK       (1u << 16)

/*
 * Text of stacks compresses to a sixtieth, the same deep stack over and over to a 135th. Data that
 * expand more than SWELL_MAX times are not a profile.
 */
#define SWELL_MAX  250
#define SWELL_FREE (8ull << 20)

static void deflate_all(struct gzip *g, int flush)
{
	u8 chunk[CHUNK];
	int state;

	do {
		g->z.next_out = chunk;
		g->z.avail_out = sizeof(chunk);
		state = deflate(&g->z, flush);
		fwrite(chunk, 1, sizeof(chunk) - g->z.avail_out, g->out);
	} while (state == Z_OK && g->z.avail_out == 0);
}

void gzip_init(struct gzip *g, FILE *out)
{
	*g = (struct gzip){ .out = out };
	if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		xmalloc(SIZE_MAX); /* out of memory is the only possible error */
}

void gzip_write(struct gzip *g, const void *bytes, size_t len)
{
	const u8 *at = bytes;

	while (len) {
		size_t part = len < (1u << 30) ? len : 1u << 30;
		g->z.next_in = (u8 *)at;
		g->z.avail_in = (uInt)part;
		deflate_all(g, Z_NO_FLUSH);
		at += part;
		len -= part;
	}
}

void gzip_finish(struct gzip *g)
{
	deflate_all(g, Z_FINISH);
	deflateEnd(&g->z);
}

bool gzip_is_bomb(u64 nr_in, u64 nr_out)
{
	return nr_out > SWELL_FREE && nr_out / SWELL_MAX > nr_in;
}

struct gunzip {
	FILE *f;
	z_stream z;
	u8 chunk[CHUNK];
	u64 nr_in, nr_out;
	bool is_between; /* between members: the file may end here */
	const char *fault;
};

bool gunzip_is(const u8 *head, size_t len)
{
	return len > 2 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

struct gunzip *gunzip_new(FILE *f, const u8 *head, size_t nr_head)
{
	struct gunzip *g = xcalloc(1, sizeof(*g));

	g->f = f;
	memcpy(g->chunk, head, nr_head);
	g->z.next_in = g->chunk;
	g->z.avail_in = (uInt)nr_head;
	g->nr_in = nr_head;
	if (inflateInit2(&g->z, WINDOW_GZIP) != Z_OK)
		xmalloc(SIZE_MAX);
	return g;
}

/* Returns whether any input is left. */
static bool fill(struct gunzip *g)
{
	if (g->z.avail_in)
		return true;
	g->z.next_in = g->chunk;
	g->z.avail_in = (uInt)fread(g->chunk, 1, sizeof(g->chunk), g->f);
	g->nr_in += g->z.avail_in;
	return g->z.avail_in > 0;
}

static void step(struct gunzip *g)
{
	int state = inflate(&g->z, Z_NO_FLUSH);

	g->is_between = state == Z_STREAM_END;
	if (state == Z_STREAM_END)
		inflateReset(&g->z);
	else if (state != Z_OK && state != Z_BUF_ERROR)
		g->fault = "damaged: it cannot be decompressed";
}

size_t gunzip_read(struct gunzip *g, void *buf, size_t len)
{
	size_t want = len < (1u << 30) ? len : 1u << 30;

	g->z.next_out = buf;
	g->z.avail_out = (uInt)want;
	while (g->z.avail_out && !g->fault) {
		if (fill(g)) {
			step(g);
			continue;
		}
		if (!g->is_between)
			g->fault = "cut off: the end of the compressed data is missing";
		break;
	}
	size_t got = want - g->z.avail_out;
	g->nr_out += got;
	if (gzip_is_bomb(g->nr_in, g->nr_out))
		g->fault = GZIP_BOMB_FAULT;
	return g->fault ? 0 : got;
}

u64 gunzip_nr_in(const struct gunzip *g)
{
	return g->nr_in;
}

const char *gunzip_fault(const struct gunzip *g)
{
	return g->fault;
}

void gunzip_free(struct gunzip *g)
{
	if (!g)
		return;
	inflateEnd(&g->z);
	free(g);
}
