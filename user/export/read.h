/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats a profile can be read from: a table, one entry and one file per format. Each adds to
 * the profile it is given, so that several files are merged by reading them one after another;
 * what they say of their recordings is put together by export/merge.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "profile/profile.h"

#define INPUT_HEAD 1024

/* A stream whose first bytes can be looked at before they are read; gzip is taken off unseen. */
struct input {
	FILE *f;
	struct gunzip *gunzip; /* NULL if the file is not compressed */
	u8 head[INPUT_HEAD];
	size_t nr_head, used; /* of head: bytes there, bytes already read */
};

/* Fills `head`. */
void input_init(struct input *in, FILE *f);
void input_fini(struct input *in);

/* Like fread; 0 at the end or on an error (ferror(in->f), or profile_read tells it). */
size_t input_read(struct input *in, void *buf, size_t len);

/* Appends all there is. -EINVAL and a sentence if it is more than 2 GB. */
int input_read_all(struct input *in, struct str *out, struct str *why);

struct reader {
	const char *name;
	/* Whether a file that starts with these bytes (INPUT_HEAD, or all there are) is of this
	 * format. */
	bool (*is)(const u8 *head, size_t len);
	/*
	 * -EINVAL and a sentence in `why` (with the line's number where there are lines) if the
	 * input is not sound; `p` may then hold a part of it. -EIO if it cannot be read.
	 */
	int (*read)(struct input *in, struct profile *p, struct str *why);
};

/* Reads whatever format `f` has. Fails like reader.read. */
int profile_read(FILE *f, struct profile *p, struct str *why);

/*
 * Reads a comparison in one file: any format that keeps both sides, or collapsed lines with two
 * counts, "a;b BEFORE AFTER". Those cannot be told from lines with one, so who reads must know.
 * Fails like profile_read.
 */
int profile_read_diff(FILE *f, struct profile *p, struct str *why);

int collapsed_read(struct input *in, struct profile *p, struct str *why);
int collapsed_read_diff(struct input *in, struct profile *p, struct str *why);
int html_read(struct input *in, struct profile *p, struct str *why);
bool html_is(const u8 *head, size_t len);
int jfr_read(struct input *in, struct profile *p, struct str *why);
bool jfr_is(const u8 *head, size_t len);
int perf_read(struct input *in, struct profile *p, struct str *why);
bool perf_is(const u8 *head, size_t len);
int protobuf_read(struct input *in, struct profile *p, struct str *why);
bool protobuf_is(const u8 *head, size_t len);

/* What protobuf_read tells apart. */
int pprof_read(const struct str *bytes, struct profile *p, struct str *why);
int otlp_read(const struct str *bytes, struct profile *p, struct str *why);
