/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording consists of: for session.c, which runs it, and progress.c, which tells of it. */
#pragma once

#include "capture/inbox.h"
#include "capture/remote.h"
#include "capture/samples.h"
#include "capture/session.h"
#include "capture/sideband.h"
#include "capture/sources.h"
#include "capture/unwinding.h"
#include "sym/symbolize.h"

struct session {
	struct session_options options;
	struct bpf *bpf;
	struct remote *remote; /* NULL: not needed */
	struct sources *sources;
	struct sideband *sideband;
	struct processes *processes;
	struct containers *containers;
	struct jvms *jvms;
	struct agents *agents;
	struct unwinding *unwinding;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct samples samples;
	bool has_hooks;       /* events that agents tell of */
	bool hurries;         /* classes are being unloaded */
	bool has_new_targets; /* perhaps: which, the kernel is asked */
	int niceness;         /* otherwise */
	struct inbox inbox;   /* for the next turn */
	struct inbox turn;    /* is being applied */
	u64 received_ns;
	u64 started_ns, first_sample_ns, followed_ns;
	u64 nr_pending, nr_pending_cut; /* samples of threads that waited at the end */
	struct dict jvms_seen;          /* of what was to be sampled */
};
