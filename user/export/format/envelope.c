/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a profile's body. */
#include "export/format/envelope.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/format/fixed.h"
#include "export/format/gzip.h"
#include "export/format/section.h"
#include "export/format/varint.h"

#define HEADER_LEN  36
#define ZSTD_LEVEL  3
#define GZIP_WINDOW (15 + 16) /* selects the gzip format in zlib */
#define BODY_MAX    (4ull << 30)
#define CHUNK       (1u << 18)

static const char magic[4] = { 'S', 'F', 'L', 'M' };

/*
 * The best strategy per section, measured on real and synthetic profiles. Structure and weights are
 * small numbers without repeated strings. Searching for repetitions takes ten times as long and
 * makes CALLEE an eighth larger.
 */
static int strategy_of(u64 section)
{
	switch (section) {
	case SECTION_POP:
	case SECTION_SELF:
		return Z_RLE;
	case SECTION_CALLEE:
	case SECTION_FIRST:
		return Z_HUFFMAN_ONLY;
	default:
		return Z_DEFAULT_STRATEGY;
	}
}

/* Works in chunks for input and output, because zlib's counters have 32 bits. */
static int deflate_part(z_stream *z, const u8 *at, size_t len, bool is_last, struct str *out)
{
	u8 chunk[16384];
	int status;

	z->next_in = (Bytef *)at;
	z->avail_in = 0;
	do {
		if (!z->avail_in) {
			z->avail_in = len < CHUNK ? (uInt)len : CHUNK;
			len -= z->avail_in;
		}
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		status = deflate(z, is_last && !len ? Z_FINISH : Z_NO_FLUSH);
		str_add_bytes(out, chunk, sizeof(chunk) - z->avail_out);
	} while (status == Z_OK && (len || z->avail_in || !z->avail_out || is_last));
	return status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END ? 0 : -EIO;
}

/* Ends the current block, because the following data use another strategy. */
static void set_strategy(z_stream *z, int strategy, struct str *out)
{
	u8 chunk[16384];

	do {
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		deflateParams(z, 6, strategy);
		str_add_bytes(out, chunk, sizeof(chunk) - z->avail_out);
	} while (!z->avail_out);
}

/* `is_plain`: compresses without a search for repetitions, hence at most to an eighth. */
static int deflate_sections(z_stream *z, const struct str *body, bool is_plain, struct str *out)
{
	struct cursor table = { (u8 *)body->at, (u8 *)body->at + body->len, false };
	u64 nr = varint_read(&table);
	struct cursor pieces = table;

	for (u64 i = 0; i < 2 * nr; i++)
		varint_read(&pieces);
	int err = deflate_part(z, (u8 *)body->at, (size_t)(pieces.at - (u8 *)body->at), false, out);
	for (u64 i = 0; i < nr && !err; i++) {
		int strategy = strategy_of(varint_read(&table));
		set_strategy(z, is_plain ? Z_HUFFMAN_ONLY : strategy, out);
		u64 len = varint_read(&table);
		const u8 *at = bytes_read(&pieces, len);
		err = at ? deflate_part(z, at, len, false, out) : -EINVAL;
	}
	return err ?: deflate_part(z, pieces.at, 0, true, out);
}

static int deflate_all(const struct str *body, bool is_plain, struct str *out)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	int err = deflate_sections(&z, body, is_plain, out);
	deflateEnd(&z);
	return err;
}

static int inflate_all(const u8 *data, size_t len, u64 body_len, struct str *body)
{
	z_stream z = { .next_in = (Bytef *)data };
	u8 chunk[16384];
	size_t start = body->len;
	int status = inflateInit2(&z, GZIP_WINDOW);

	if (status != Z_OK)
		return -ENOMEM;
	do {
		if (!z.avail_in) {
			z.avail_in = len < CHUNK ? (uInt)len : CHUNK;
			len -= z.avail_in;
		}
		z.next_out = chunk;
		z.avail_out = sizeof(chunk);
		status = inflate(&z, Z_NO_FLUSH);
		str_add_bytes(body, chunk, sizeof(chunk) - z.avail_out);
	} while (status == Z_OK && body->len - start <= body_len);
	inflateEnd(&z);
	return status == Z_STREAM_END && body->len - start == body_len ? 0 : -EINVAL;
}

static int zstd_all(const struct str *body, struct str *out)
{
	size_t max = ZSTD_compressBound(body->len);

	out->at = xreallocarray(out->at, max + 1, 1);
	out->cap = max + 1;
	out->len = ZSTD_compress(out->at, max, body->at, body->len, ZSTD_LEVEL);

	return ZSTD_isError(out->len) ? -ENOMEM : 0;
}

static int unzstd_all(const u8 *data, size_t len, u64 body_len, struct str *body)
{
	auto_free char *bytes = xmalloc(body_len + 1);

	if (ZSTD_decompress(bytes, body_len, data, len) != body_len)
		return -EINVAL;
	str_add_bytes(body, bytes, body_len);
	return 0;
}

/*
 * Deep recursions, and dozens of value types whose weights are nearly all zeros, shrink so much
 * that no reader would accept the file.
 */
static int compress_body(const struct str *body, u32 nr_nodes, enum compression *how,
			 struct str *out)
{
	int err = *how == COMPRESSED_ZSTD ? zstd_all(body, out) : deflate_all(body, false, out);
	bool has_too_many = *how == COMPRESSED_ZSTD && nr_nodes / NODES_PER_BYTE > out->len;

	if (err || (!has_too_many && !gzip_is_bomb(out->len, body->len)))
		return err;
	*how = COMPRESSED_GZIP;
	str_clear(out);
	return deflate_all(body, true, out);
}

int envelope_pack(const struct str *body, u32 nr_nodes, enum compression how, struct str *out)
{
	auto_str struct str payload = { 0 };
	u8 header[HEADER_LEN];
	int err = compress_body(body, nr_nodes, &how, &payload);

	if (err)
		return err;

	memcpy(header, magic, sizeof(magic));
	header[4] = FORMAT_VERSION;
	header[5] = how;
	fixed_put(header + 6, HEADER_LEN, 2);
	fixed_put(header + 8, payload.len, 8);
	fixed_put(header + 16, body->len, 8);
	fixed_put(header + 24, crc32_z(0, (u8 *)payload.at, payload.len), 4);
	fixed_put(header + 28, nr_nodes, 4);
	fixed_put(header + 32, crc32_z(0, header, 32), 4);
	str_add_bytes(out, header, sizeof(header));
	str_add_bytes(out, payload.at, payload.len);
	return 0;
}

bool envelope_is(const u8 *data, size_t len)
{
	return len >= sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

static int refuse(struct str *why, const char *sentence)
{
	str_add(why, sentence);
	return -EINVAL;
}

int envelope_unpack(const u8 *data, size_t len, struct str *body, struct str *why)
{
	if (!envelope_is(data, len))
		return refuse(why, "it contains no profile");
	if (len < HEADER_LEN)
		return refuse(why, "the file is cut off within its header");
	if (fixed_get(data + 32, 4) != crc32_z(0, data, 32))
		return refuse(why, "damaged header: its checksum differs");
	if (data[4] > FORMAT_VERSION) {
		str_addf(why, "it has format version %u, newer than this program's %u", data[4],
			 FORMAT_VERSION);
		return -EINVAL;
	}

	u64 header_len = fixed_get(data + 6, 2), payload_len = fixed_get(data + 8, 8);
	u64 body_len = fixed_get(data + 16, 8);
	if (header_len < HEADER_LEN || header_len > len || body_len > BODY_MAX ||
	    data[5] > COMPRESSED_ZSTD)
		return refuse(why, "damaged header: impossible lengths");
	if (payload_len > len - header_len) {
		str_addf(why, "the file is cut off: %llu of %llu data bytes are here",
			 (unsigned long long)(len - header_len), (unsigned long long)payload_len);
		return -EINVAL;
	}
	if (gzip_is_bomb(payload_len, body_len))
		return refuse(why, GZIP_BOMB_FAULT);
	const u8 *payload = data + header_len;
	if (fixed_get(data + 24, 4) != crc32_z(0, payload, payload_len))
		return refuse(why, "damaged data: its checksum differs");
	if (data[5] == COMPRESSED_GZIP && inflate_all(payload, payload_len, body_len, body))
		return refuse(why, "damaged data: it cannot be decompressed");
	if (data[5] == COMPRESSED_ZSTD && unzstd_all(payload, payload_len, body_len, body))
		return refuse(why, "damaged data: it cannot be decompressed");
	if (data[5] == COMPRESSED_NONE)
		str_add_bytes(body, payload, payload_len);
	return 0;
}
