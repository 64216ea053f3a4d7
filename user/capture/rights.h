/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the rights of the recorder before it begins: starts the attach helper, which keeps the
 * rights for attaching and for opening files as others, and drops all others that the recorder
 * does not need (sandbox/rights.h).
 */
#pragma once

#include "capture/node.h"

struct rights;

/* The reasons, bits of privilege_reason, for which this kernel makes the recorder keep more. */
u32 rights_of_kernel(void);

/*
 * Call it before the first thread starts and before anything is read or opened. Logs failures;
 * recording continues without. rights_await waits until the helper has dropped its rights, too.
 */
struct rights *rights_limit(const struct node_options *options);
void rights_await(struct rights *r);

/* Whether the helper was killed. False if it did not start. */
bool rights_are_lost(const struct rights *r);

/* Warns once if it was. */
void rights_watch(struct rights *r);

/* Ends the helper. The rights do not come back. */
void rights_free(struct rights *r);
