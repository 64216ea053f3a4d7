/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that get changes as server-sent events. */
#pragma once

#include "base/types.h"

struct service;
struct streams;

struct streams *streams_new(void);

/* Ends every stream; then the server can be stopped. */
void streams_end(struct streams *all);
void streams_free(struct streams *all);

/* Sends the changes that sv->changed has, and clears it. Call it when the second is over. */
void streams_tick(struct service *sv);
