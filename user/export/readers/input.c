/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a reader. */
#include "export/readers/input.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/format/envelope.h"
#include "export/format/gzip.h"

#define ALL_MAX (2ull << 30)

/*
 * Limits the nodes by the compressed size. A match of gzip takes two bytes and stands for 258,
 * which hold the names of a few dozen frames at most. A file with more frames for its size was made
 * to exhaust our memory.
 */
#define NODES_FREE (256u << 10)

static size_t nodes_for(const struct input *in, u64 nr_bytes)
{
	u64 nr = in->nr_nodes + NODES_FREE + NODES_PER_BYTE * nr_bytes;

	return nr < NODE_NONE ? nr : NODE_NONE;
}

void input_bound_nodes(struct input *in, u64 nr_bytes)
{
	size_t nr = nodes_for(in, nr_bytes);

	if (in->p && nr < in->p->nodes_max)
		in->p->nodes_max = nr;
}

static size_t read_packed(struct input *in, void *buf, size_t len)
{
	size_t got = in->p && in->p->is_full ? 0 : gunzip_read(in->gunzip, buf, len);

	if (in->p)
		in->p->nodes_max = nodes_for(in, gunzip_nr_in(in->gunzip));
	return got;
}

/* Some editors and PowerShell put this mark at the begin of UTF-8 files. */
static void skip_byte_order_mark(struct input *in)
{
	static const u8 mark[] = { 0xef, 0xbb, 0xbf };

	if (in->nr_head < sizeof(mark) || memcmp(in->head, mark, sizeof(mark)) != 0)
		return;
	in->nr_head -= sizeof(mark);
	memmove(in->head, in->head + sizeof(mark), in->nr_head);
}

void input_init(struct input *in, FILE *f, struct profile *p)
{
	*in = (struct input){ .f = f, .p = p, .nr_nodes = p ? p->nodes.nr : 0 };
	in->nr_head = fread(in->head, 1, sizeof(in->head), f);
	if (gunzip_is(in->head, in->nr_head)) {
		in->gunzip = gunzip_new(f, in->head, in->nr_head);
		in->nr_head = read_packed(in, in->head, sizeof(in->head));
	}
	skip_byte_order_mark(in);
}

void input_fini(struct input *in)
{
	gunzip_free(in->gunzip);
	if (in->p)
		in->p->nodes_max = NODE_NONE;
}

const char *input_fault(const struct input *in)
{
	if (in->p && in->p->is_full)
		return "it expands to more frames than a profile of its size has";
	return in->gunzip ? gunzip_fault(in->gunzip) : NULL;
}

size_t input_read(struct input *in, void *buf, size_t len)
{
	size_t left = in->nr_head - in->used;

	if (!left)
		return in->gunzip ? read_packed(in, buf, len) : fread(buf, 1, len, in->f);
	if (len > left)
		len = left;
	memcpy(buf, in->head + in->used, len);
	in->used += len;
	return len;
}

int input_read_all(struct input *in, struct str *out, struct str *why)
{
	auto_free char *chunk = xmalloc(1 << 16);
	size_t got;

	while ((got = input_read(in, chunk, 1 << 16)) > 0) {
		if (out->len + got > ALL_MAX) {
			str_add(why, "it is larger than 2 GB");
			return -EINVAL;
		}
		str_add_bytes(out, chunk, got);
	}
	return ferror(in->f) ? -EIO : 0;
}
