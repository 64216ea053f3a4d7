/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder process of the daemon: one node with all its recordings, asked for by the web
 * process over a channel. It has no network and no store, and keeps only the rights that recording
 * takes (sandbox/rights.h).
 */
#pragma once

#include "daemon/channel/pulse.h"
#include "daemon/recorder/governor.h"
#include "proc/blocking.h"

struct recorder_options {
	int control_fd; /* to the supervisor, which sends channels (daemon/channel/handover.h) */
	struct pulse *pulse;                  /* the sign of life */
	const struct excluded_list *excluded; /* neither read nor attached to; NULL: none */
	const char *conf;                     /* the path of recorder.conf */
	bool needs_conf;                      /* it was named by the user: it must exist */
	const char *continuous;        /* events of continuous profiling, as in -e; NULL: off */
	struct governor_limits limits; /* of continuous profiling */
	const char *within;            /* the control group that bounds it; NULL: the whole node */
	const char *agent_path;        /* the agent's library; NULL: the installed one */
	bool has_agents;               /* agents may be attached */
	const struct thread_local_spec *labels; /* ThreadLocals of JVMs that are labels */
	u32 nr_labels;
	const char *const
		*redact; /* patterns (daemon/recorder/redaction.h), besides recorder.conf's */
	size_t nr_redact;
};

/* Serves until SIGTERM, or until the supervisor's end closes. Returns an exit status. */
int recorder_run(const struct recorder_options *o);
