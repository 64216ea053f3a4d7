/* SPDX-License-Identifier: Apache-2.0 */
/* Saved requests, which another command can continue: DIR/ID.request, in the folder of the key. */
#pragma once

#include "fleet/cli/request.h"

/*
 * Writes the file of a request with is_kept, if the request has reached another phase or wave. Call
 * it from time to time.
 */
void resume_keep(struct requests *a);

/* Deletes the saved request after its result was written. */
void resume_forget(const struct requests *a);

/*
 * Reads a saved request: call it before requests_begin, which takes the inbox from it, and
 * resume_add instead of requests_add. `id`: 32 hexadecimal digits, or "last". Return exit statuses.
 */
int resume_find(struct requests *a, const char *dir, const char *id);
int resume_add(struct requests *a);
