/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that tell of events in Java code: hooks of our agent, libjvm's own. */
#pragma once

#include "capture/probes.h"
#include "capture/sources.h"

/* A function, and the program in bpf/java.bpf.c that takes the sample there. */
struct java_teller {
	const char *function;
	const char *program;
	bool is_hook;   /* the agent's */
	bool is_always; /* libjvm's, but needed with the agent too */
};

#define JAVA_TELLERS_MAX 4

/* As probes_place_fn; `event` is for messages. */
bool javaprobes_place(struct sources *s, const char *event, const struct java_teller *tellers,
		      size_t nr, int fd, pid_t pid, probe_links *out);
