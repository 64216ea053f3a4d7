/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a finished profile: a worker reads what lists show about it, then it goes to the store. */
#pragma once

#include "store/store.h"
#include "web/payload.h"

struct service;

/* `id` is the profile's; `err` a negative errno of the store. */
typedef void (*kept_fn)(void *ctx, int err, u64 id);

/*
 * Keeps `bytes`, a profile in the format of docs/profile-format.md, or none if it failed (NULL).
 * It is not stored if the daemon ends first (-ECANCELED). `facts` is taken over; with id 0 it gets
 * a number. `done` may be NULL.
 */
void keep_profile(struct service *sv, struct stored *facts, struct payload *bytes, kept_fn done,
		  void *ctx);
