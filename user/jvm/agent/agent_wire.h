/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the agent's records (jvmmap/wire.h) into a code map. The bytes may be hostile. */
#pragma once

#include "base/types.h"
#include "jvm/agent/codemap.h"
#include "jvm/hotspot/thread_names.h"

struct agent_wire {
	struct codemap *map;
	struct thread_names *threads; /* NULL: names of threads are not kept */
	s64 clock_off_ns;             /* is added to the JVM's times: it may be in a time
				       * namespace */
	u64 deadline_ns;              /* in time_mono_ns: decoding ends then; 0: no deadline */
	u64 nr_records, nr_lost;
	u64 last_ns;   /* of the last record with a time */
	u64 lost_ns;   /* names are right for times before this; valid if is_dirty */
	u64 load_addr; /* of the last load; inline ranges belong to it */
	u64 code_end;  /* base value of steps; so are the following fields */
	u32 method_slot, load_slot, method_strings[3];
	bool is_dirty; /* records were lost: only a replay corrects this */
	bool in_replay, lost_in_replay;
	struct code_text *strings; /* by slot, owned; NULL: unknown, or left out */
	size_t string_bytes, max_string_bytes;
	u64 nr_left_out; /* strings without room */
	u32 *methods;    /* by slot: number of the name in the map, plus 1 */
};

void agent_wire_init(struct agent_wire *w, struct codemap *map, s64 clock_off_ns);
void agent_wire_fini(struct agent_wire *w);

/* The memory of the decoder. The memory for strings can be limited. */
size_t agent_wire_bytes(const struct agent_wire *w);

/*
 * Decodes the complete records in the buffer and returns their length. The rest is an incomplete
 * record, or records after the deadline; the first record is always decoded. -EBADMSG if the bytes
 * are invalid.
 */
ssize_t agent_wire_decode(struct agent_wire *w, const u8 *bytes, size_t len);
