/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's description as the JSON of the META section. */
#pragma once

#include "base/str.h"
#include "export/format/labelset.h"
#include "profile/profile.h"

/* Appends the object. `tool` may be NULL. Omits empty and unknown values. */
void meta_encode(const struct profile *p, const char *tool, const struct labelsets *sets,
		 struct str *out);

/*
 * Sets the profile's title, host, target, times and notes if they are present. Returns the value
 * types and dimensions in `types`, which the caller frees by meta_types_free. -EINVAL if the text
 * is not such an object.
 */
struct meta_types {
	VEC(struct value_type) all;
	VEC(int) dims; /* enum label of each dimension of LABELSETS; -1: unknown */
};

int meta_decode(struct profile *p, const char *json, size_t len, struct meta_types *types);
void meta_types_free(struct meta_types *types);
