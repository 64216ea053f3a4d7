/* SPDX-License-Identifier: Apache-2.0 */
/* The state that recordings share. Private to capture/node.h and capture/recording.h. */
#pragma once

#include "capture/kernel/cpulist.h"
#include "capture/kernel/priority.h"
#include "capture/kernel/receiver.h"
#include "capture/kernel/sideband.h"
#include "capture/memory_limit.h"
#include "capture/node.h"
#include "capture/programs/node_programs.h"
#include "capture/samples/inbox.h"
#include "capture/samples/requests.h"
#include "capture/samples/virtual_waits.h"
#include "capture/unwind/unwinding.h"
#include "proc/cgroup.h"
#include "proc/container.h"
#include "sandbox/workers.h"
#include "sym/symbolize.h"

struct recording;

struct node {
	struct node_options options;
	struct rights *rights;
	/* while it is open, the kernel measures the run time of BPF programs; -1: not open */
	int timing_fd;
	struct workers *workers; /* read the files of processes; NULL: this process reads them */
	struct node_programs *bpf;
	struct remote *remote; /* NULL: not needed */
	struct sideband *sideband;
	u64 nr_side_lost; /* events of the side band */
	struct processes *processes;
	struct containers *containers;
	struct cgroup_bound *bound; /* NULL: the whole node */
	struct jvm_registry *jvms;
	struct agents *agents;
	struct unwinding *unwinding;
	struct frames *frames;
	struct symbolizer *symbolizer;
	VEC(struct recording *) recordings;
	u64 past_run_ns; /* of the BPF programs of recordings that left `recordings` */
	bool is_urgent;  /* classes are being unloaded, or a recording begins */
	struct priority priority;
	struct receiver *receiver;
	struct parcel *arrived, *taken; /* hold the node's records of `inbox` and `turn` */
	struct inbox inbox;             /* the records for the next turn */
	struct inbox turn;              /* the records of this turn */
	u64 received_ns, polled_ns, followed_ns, followed_cpus_ns, swept_ns;
	size_t swept_frames_bytes; /* after the last sweep */
	u64 turn_ns;               /* when the last turn began to receive */
	struct virtual_waits *virtual_waits;
	struct requests *requests;
	struct wakes wakes;
	struct hotplug hotplug;
	struct memory_limit memory;
	bool has_warned_of_runtimes;
};

/*
 * node_apply.c: applies records to the node's processes and to its recordings, in order of time.
 */

/* Applies an item of any kind. The item keeps its record. */
void node_apply(struct node *n, const struct item *item);

/* Call it for a process whose end no record reported. */
void node_apply_lost_exit(struct node *n, struct process *p, u64 time_ns);
