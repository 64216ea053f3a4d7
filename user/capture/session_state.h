/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recording: session.c runs it, progress.c reports on it. */
#pragma once

#include "capture/events/sources.h"
#include "capture/kernel/priority.h"
#include "capture/kernel/receiver.h"
#include "capture/kernel/remote.h"
#include "capture/kernel/sideband.h"
#include "capture/kernel/wakes.h"
#include "capture/memory_limit.h"
#include "capture/samples/inbox.h"
#include "capture/samples/quality.h"
#include "capture/samples/samples.h"
#include "capture/samples/unwalked_samples.h"
#include "capture/session.h"
#include "capture/unwind/unwinding.h"
#include "sym/symbolize.h"
#include "worker/workers.h"

struct session {
	struct session_options options;
	struct rights *rights;
	struct workers *workers; /* read the files of processes; NULL: they are read here */
	struct programs *bpf;
	struct remote *remote; /* NULL: not needed */
	struct sources *sources;
	struct sideband *sideband;
	struct processes *processes;
	struct containers *containers;
	struct jvm_registry *jvms;
	struct agents *agents;
	struct unwinding *unwinding;
	struct symbolizer *symbolizer;
	struct quality *quality;
	struct profile *profile;
	struct samples samples;
	struct unwalked_samples unwalked_samples;
	bool has_hooks;       /* some events need reports of agents */
	bool is_urgent;       /* classes are being unloaded, or session_start runs */
	bool has_new_targets; /* targets without fork or exec are possible: ask the kernel */
	struct priority priority;
	struct receiver *receiver;
	struct inbox inbox; /* the records for the next turn */
	struct inbox turn;  /* the records of this turn */
	u64 received_ns, polled_ns;
	struct wakes wakes;
	struct memory_limit memory;
	u64 set_up_ns, set_up_worked_ns; /* duration of session_start; its CPU time */
	u64 started_ns, first_sample_ns, followed_ns;
	struct span window;    /* session_window.h; TIME_NEVER: not begun, no end */
	struct dict jvms_seen; /* JVMs among the targets */
};
