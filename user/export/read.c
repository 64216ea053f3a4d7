/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats that a profile can be read from. */
#include "export/read.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/random.h>

#include "export/merge.h"
#include "export/readers/reader.h"
#include "profile/diff.h"

/* For the last entry of the table: text of stacks. */
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
	str_add(why,
		"this is raw data of perf; give it as a file, not compressed and not through a "
		"pipe, or give the output of `perf script`");
	return -EINVAL;
}

static bool utf16_is(const u8 *head, size_t len)
{
	return starts_with(head, len, "\xff\xfe") || starts_with(head, len, "\xfe\xff");
}

static int utf16_refuse(struct input *in, struct profile *p, struct str *why)
{
	str_add(why, "this is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8");
	return -EINVAL;
}

/* The text forms, and the CPU profile that begins with words 0, 3, 0 of 4 or 8 bytes. */
static bool legacy_pprof_is(const u8 *head, size_t len)
{
	static const u8 cpu[24] = { [8] = 3 }, cpu_32[12] = { [4] = 3 };

	return starts_with(head, len, "heap profile:") ||
	       starts_with(head, len, "--- contention") || starts_with(head, len, "--- heapz") ||
	       starts_with(head, len, "--- threadz") ||
	       starts_with(head, len, "goroutine profile: total ") ||
	       (len >= sizeof(cpu) && !memcmp(head, cpu, sizeof(cpu))) ||
	       (len >= sizeof(cpu_32) && !memcmp(head, cpu_32, sizeof(cpu_32)));
}

static int legacy_pprof_refuse(struct input *in, struct profile *p, struct str *why)
{
	str_add(why, "this is a profile in pprof's old format; convert it: "
		     "go tool pprof -proto FILE >FILE.pb.gz");
	return -EINVAL;
}

static bool svg_is(const u8 *head, size_t len)
{
	return starts_with(head, len, "<?xml") || starts_with(head, len, "<svg");
}

static int svg_refuse(struct input *in, struct profile *p, struct str *why)
{
	str_add(why, "this is a picture, which lacks narrow frames; give the file that it was made "
		     "from");
	return -EINVAL;
}

/* Compressed files other than gzip, and gzip in gzip: one of the two is decompressed already. */
static const char *compression_of(const u8 *head, size_t len)
{
	static const struct {
		const char *start, *name;
	} all[] = {
		{ "\x1f\x8b\x08", "gzip twice; decompress it first: gzip -dc FILE" },
		{ "\x28\xb5\x2f\xfd", "zstd; decompress it first: zstd -dc FILE" },
		{ "\xfd\x37zXZ", "xz; decompress it first: xz -dc FILE" },
		{ "PK\x03\x04", "zip; decompress it first: unzip -p FILE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (starts_with(head, len, all[i].start))
			return all[i].name;
	/* bzip2: "BZh", its level, and the digits of pi. Text may also begin with "BZh". */
	return starts_with(head, len, "BZh") && len > 4 &&
			       starts_with(head + 4, len - 4, "\x31\x41\x59\x26\x53\x59")
		       ? "bzip2; decompress it first: bzip2 -dc FILE"
		       : NULL;
}

static bool compressed_is(const u8 *head, size_t len)
{
	return compression_of(head, len);
}

static int compressed_refuse(struct input *in, struct profile *p, struct str *why)
{
	str_addf(why, "it is compressed by %s | sysflame report -",
		 compression_of(in->head, in->nr_head));
	return -EINVAL;
}

static const struct reader readers[] = {
	{ "html", html_is, html_read },
	{ "jfr", jfr_is, jfr_read },
	{ "compressed", compressed_is, compressed_refuse },
	{ "utf-16", utf16_is, utf16_refuse },
	{ "legacy pprof", legacy_pprof_is, legacy_pprof_refuse },
	{ "svg", svg_is, svg_refuse },
	{ "json", json_is, json_read },
	{ "perf.data", perf_data_is, perf_data_refuse },
	{ "protobuf", protobuf_is, protobuf_read },
	{ "perf", perf_is, perf_read },
	{ "collapsed", is_anything, collapsed_read },
};

static int read_any(FILE *f, bool is_diff, struct profile *p, struct str *why);

/* Reads a file into a profile of its own first, because its times count from its own start. */
static int read_apart(FILE *f, struct profile *p, struct str *why)
{
	struct profile *file = profile_new();

	if (frames_keeps_lines(p->frames))
		frames_keep_lines(file->frames);
	if (frames_keeps_signatures(p->frames))
		frames_keep_signatures(file->frames);
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

	input_init(&in, f, p);
	while (!r->is(in.head, in.nr_head))
		r++;

	merge_begin(p, &earlier);
	int err = is_diff && r->read == collapsed_read ? collapsed_read_diff(&in, p, why)
						       : r->read(&in, p, why);
	u64 start_wall_ns = p->start_wall_ns;
	merge_end(p, &earlier);
	merge_shift(p, start_wall_ns);
	const char *fault = input_fault(&in);
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
	/* The file may be empty. Every format except text names its types. */
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
	str_add(why, "it is not a comparison; give the files from before and after");
	return -EINVAL;
}

int profile_read_prepare(void)
{
	size_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	json_object_seed(seed | 1); /* with 0 the library would choose a seed itself */
	return 0;
}
