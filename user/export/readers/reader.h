/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a readable format. Each has one file and one entry in the table of read.c. */
#pragma once

#include "export/interchange/external.h"
#include "export/readers/input.h"
#include "profile/profile.h"

struct reader {
	const char *name;
	/*
	 * Whether a file that starts with these bytes (INPUT_HEAD bytes, or the whole file) has
	 * this format.
	 */
	bool (*is)(const u8 *head, size_t len);
	/*
	 * Adds the input to `p`. Returns -EINVAL and a sentence in `why` (with the line number if
	 * there are lines) if the input is damaged; `p` may then hold a part of it. -EIO if reading
	 * fails. 0 and a sentence if a part of the file was skipped.
	 */
	int (*read)(struct input *in, struct profile *p, struct str *why);
};

int collapsed_read(struct input *in, struct profile *p, struct str *why);
int collapsed_read_diff(struct input *in, struct profile *p, struct str *why);
int html_read(struct input *in, struct profile *p, struct str *why);
bool html_is(const u8 *head, size_t len);
int json_read(struct input *in, struct profile *p, struct str *why);
bool json_is(const u8 *head, size_t len);
int jfr_read(struct input *in, struct profile *p, struct str *why);
bool jfr_is(const u8 *head, size_t len);
int perf_read(struct input *in, struct profile *p, struct str *why);
bool perf_is(const u8 *head, size_t len);
int protobuf_read(struct input *in, struct profile *p, struct str *why);
bool protobuf_is(const u8 *head, size_t len);

/* The formats that protobuf_read distinguishes. */
int pprof_read(const struct str *bytes, struct profile *p, struct str *why);
int otlp_read(const struct str *bytes, struct profile *p, struct str *why);

/* Like otlp_read, for one request of several; they share `stacks`. */
int otlp_add(const struct str *bytes, struct stack_adder *stacks, struct str *why);
