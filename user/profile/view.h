/* SPDX-License-Identifier: Apache-2.0 */
/* The view that a page opens with: the text after the # of its address. */
#pragma once

#include "profile/profile.h"
#include "profile/transform.h"

/* Sets `key` of the view of `p`. */
void view_add(struct profile *p, const char *key, const char *value);

/* Starts a new view that applies the transforms; the reader can change them in the page. */
void view_set_transforms(struct profile *p, const struct transforms *list);
