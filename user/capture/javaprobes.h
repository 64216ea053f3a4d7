/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that tell of events in Java code: hooks of our agent, libjvm's own. */
#pragma once

#include "capture/probes.h"
#include "capture/sources.h"

/*
 * A function, and the program in bpf/java.bpf.c that takes the sample there; without one stacks
 * tell that it was called, which takes its symbol.
 */
struct java_teller {
	const char *function;
	const char *older; /* the whole symbol of its like in JDK 8; NULL: the same */
	const char *program;
	bool is_hook; /* the agent's */
};

/* Who is to tell. */
enum tellers {
	TELLERS_AGENT,
	TELLERS_LIBJVM,
};

#define JAVA_TELLERS_MAX 4

struct java_event {
	const char *name;
	const struct java_teller *tellers;
	size_t nr;
};

/* As probes_place_fn. */
bool javaprobes_place(struct sources *s, const struct java_event *event, enum tellers who, int fd,
		      pid_t pid, probe_links *out);

/* Who tells of the processes at first. */
enum tellers javaprobes_who(const struct sources *s);
