/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says about itself, as the JSON of the META section. */
#pragma once

#include "base/str.h"
#include "export/labelset.h"
#include "profile/profile.h"

/* Appends the object; `tool` may be NULL. Empty and unknown values are left out. */
void meta_encode(const struct profile *p, const char *tool, const struct labelsets *sets,
		 struct str *out);

/*
 * Sets the profile's title, host, target, times and notes, as far as they are there, and returns
 * the value types as an array that the caller frees by meta_types_free. -EINVAL if the text is
 * no such object.
 */
struct meta_types {
	VEC(struct value_type) all;
	VEC(int) dims; /* enum label of each dimension of LABELSETS, -1: not one of ours */
};

int meta_decode(struct profile *p, const char *json, size_t len, struct meta_types *types);
void meta_types_free(struct meta_types *types);
