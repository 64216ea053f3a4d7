/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes with several owners: a result that goes to a reply, to the cache and to the store. */
#pragma once

#include "base/types.h"

struct payload {
	u32 refs;
	size_t nr;
	char *at; /* ends in a NUL that `nr` does not count */
};

/* Takes `at` over, which malloc made. The caller owns one reference. */
struct payload *payload_new(char *at, size_t nr);
struct payload *payload_get(struct payload *p);
void payload_put(struct payload *p);

/* Reads the whole of a file from its start. -EFBIG beyond `max` bytes. */
int payload_of_file(int fd, size_t max, struct payload **out);

/* A descriptor of a memory file with these bytes, at its start; or a negative errno. */
int payload_file(const struct payload *p);
