/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the agent's records (jvmmap/wire.h) into a code map. The bytes may be hostile. */
#pragma once

#include "base/types.h"
#include "jvm/codemap.h"
#include "jvm/thread_names.h"

struct agent_wire {
	struct codemap *map;
	struct thread_names *threads; /* NULL: names of threads are not kept */
	s64 clock_off_ns; /* to be added to the JVM's times: it may be in a time namespace */
	u64 deadline_ns;  /* time_mono_ns at which decoding ends early; 0: none */
	u64 nr_records, nr_lost;
	u64 last_ns;   /* of the last record that had a time */
	u64 lost_ns;   /* names are right up to here; valid if is_dirty */
	u64 load_addr; /* of the last load, which inline ranges belong to */
	u64 code_end;  /* what steps are counted from, as these */
	u32 method_slot, load_slot, method_strings[3];
	bool is_dirty; /* records were lost: only a replay can mend it */
	bool in_replay, lost_in_replay;
	struct code_text *strings; /* by slot, owned */
	u32 *methods;              /* by slot: number of the name in the map, + 1 */
};

void agent_wire_init(struct agent_wire *w, struct codemap *map, s64 clock_off_ns);
void agent_wire_fini(struct agent_wire *w);

/*
 * Decodes the whole records in the buffer and returns how many bytes they have; the rest is the
 * beginning of one that is not there yet, or what there was no time for: the first record always
 * has time. -EBADMSG if the bytes are not what an agent writes.
 */
ssize_t agent_wire_decode(struct agent_wire *w, const u8 *bytes, size_t len);
