/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that JetStream keeps of a fleet's nodes and people, for its subcommands. */
#pragma once

#include "cmd/fleet_request.h"
#include "fleet/entry.h"

/*
 * Adds the newest `max` entries of a stream. With a selector it searches more, for those of nodes
 * whose labels it chooses: the census of the first controller has the labels; of nodes that are
 * gone only the name is known. Logs a sentence that begins with `name` if something is wrong.
 */
void fleet_streams_add(struct asking *a, enum link_stream stream, const char *name,
		       const char *select, u32 max, struct entries *out);

/* "2026-11-25 16:30:00" */
#define FLEET_TIME_TEXT 32
void fleet_streams_time(u64 at_ms, char *text);
