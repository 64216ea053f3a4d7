/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a reader: the bytes of a file. */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "base/types.h"
#include "profile/profile.h"

#define INPUT_HEAD 1024

/*
 * A stream whose first bytes can be examined before they are read. It decompresses gzip
 * transparently.
 */
struct input {
	FILE *f;
	struct gunzip *gunzip; /* NULL if the file is not compressed */
	struct profile *p;     /* may get only as many nodes as its compressed bytes can hold */
	size_t nr_nodes;       /* of `p` before */
	u8 head[INPUT_HEAD];
	size_t nr_head, used; /* of head: its length, and the bytes already read from it */
};

/* Fills `head`. Bounds the nodes of `p`, which may be NULL, until input_fini. */
void input_init(struct input *in, FILE *f, struct profile *p);
void input_fini(struct input *in);

/* Limits the nodes, for a file that holds its profile as `nr_bytes` compressed bytes. */
void input_bound_nodes(struct input *in, u64 nr_bytes);

/* The fault of a compressed file, or NULL. */
const char *input_fault(const struct input *in);

/* Like fread. Returns 0 at the end or on an error; profile_read reports the errors. */
size_t input_read(struct input *in, void *buf, size_t len);

/* Appends the whole input. -EINVAL and a sentence if it is larger than 2 GB. */
int input_read_all(struct input *in, struct str *out, struct str *why);
