/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a profile can be read from. */
#include "export/read.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/container.h"
#include "export/gzip.h"
#include "export/merge.h"
#include "profile/diff.h"

#define ALL_MAX (2ull << 30)

/* Text that is nothing else: the last entry of the table. */
static bool is_anything(const u8 *head, size_t len)
{
	return true;
}

static bool starts_with(const u8 *head, size_t len, const char *start)
{
	return len >= strlen(start) && !memcmp(head, start, strlen(start));
}

static bool perf_data_is(const u8 *head, size_t len)
{
	return starts_with(head, len, "PERFILE2") || starts_with(head, len, "2ELIFREP");
}

static int perf_data_refuse(struct input *in, struct profile *p, struct str *why)
{
	str_add(why, "raw data of perf; give what `perf script` prints of them");
	return -EINVAL;
}

static const struct reader readers[] = {
	{ "html", html_is, html_read },
	{ "jfr", jfr_is, jfr_read },
	{ "perf.data", perf_data_is, perf_data_refuse },
	{ "protobuf", protobuf_is, protobuf_read },
	{ "perf", perf_is, perf_read },
	{ "collapsed", is_anything, collapsed_read },
};

void input_init(struct input *in, FILE *f)
{
	*in = (struct input){ .f = f };
	in->nr_head = fread(in->head, 1, sizeof(in->head), f);
	if (!gunzip_is(in->head, in->nr_head))
		return;
	in->gunzip = gunzip_new(f, in->head, in->nr_head);
	in->nr_head = gunzip_read(in->gunzip, in->head, sizeof(in->head));
}

void input_fini(struct input *in)
{
	gunzip_free(in->gunzip);
}

size_t input_read(struct input *in, void *buf, size_t len)
{
	size_t left = in->nr_head - in->used;

	if (!left)
		return in->gunzip ? gunzip_read(in->gunzip, buf, len) : fread(buf, 1, len, in->f);
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

static int read_any(FILE *f, bool is_diff, struct profile *p, struct str *why);

/* Times are told from a file's own start: they must not be taken for those of another one. */
static int read_apart(FILE *f, struct profile *p, struct str *why)
{
	struct profile *file = profile_new();

	if (frames_keeps_lines(p->frames))
		frames_keep_lines(file->frames);
	int err = read_any(f, false, file, why) ?: merge_timed(p, file, why);
	diff_settle(p);
	profile_free(file);
	return err;
}

static int read_any(FILE *f, bool is_diff, struct profile *p, struct str *why)
{
	if (p->slot_ns)
		return read_apart(f, p, why);

	struct input in;
	struct merge earlier;
	const struct reader *r = readers;

	input_init(&in, f);
	while (!r->is(in.head, in.nr_head))
		r++;

	merge_begin(p, &earlier);
	int err = is_diff && r->read == collapsed_read ? collapsed_read_diff(&in, p, why)
						       : r->read(&in, p, why);
	u64 start_wall_ns = p->start_wall_ns;
	merge_end(p, &earlier);
	merge_shift(p, start_wall_ns);
	const char *fault = in.gunzip ? gunzip_fault(in.gunzip) : NULL;
	if (fault) {
		str_clear(why);
		str_add(why, fault);
		err = -EINVAL;
	}
	input_fini(&in);
	if (!err && ferror(f))
		err = -EIO;
	if (err == -EIO)
		str_add(why, "it cannot be read");
	/* A file may hold nothing; every format but a text names what it counts. */
	if (!err && !p->types.nr)
		profile_add_type(p, "samples", "samples");
	diff_settle(p);
	return err;
}

int profile_read(FILE *f, struct profile *p, struct str *why)
{
	return read_any(f, false, p, why);
}

int profile_read_diff(FILE *f, struct profile *p, struct str *why)
{
	int err = read_any(f, true, p, why);

	if (err || profile_is_diff(p))
		return err;
	str_add(why, "it is no comparison; give the files from before and after");
	return -EINVAL;
}
