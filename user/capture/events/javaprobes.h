/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes on functions that report events in Java code: hooks of our agent, libjvm's own functions.
 */
#pragma once

#include "capture/events/probes.h"
#include "capture/events/sources.h"

/*
 * A function, and the BPF program of bpf/java.bpf.c that takes a sample there. Without a program
 * stacks show its calls, which requires its symbol.
 */
struct java_probe {
	const char *function;
	const char *older; /* the complete symbol of its counterpart in JDK 8; NULL: the same */
	enum program program;
	enum java_call call; /* passed to java_event */
	bool is_hook;        /* of the agent */
};

/* Whose functions report. */
enum java_probed {
	JAVA_PROBED_AGENT,
	JAVA_PROBED_LIBJVM,
};

#define JAVA_PROBES_MAX 4

struct java_event {
	const char *name;
	const struct java_probe *probes;
	size_t nr;
};

#define JAVA_FILES_MAX 4096 /* agents' and libjvm.so, with probes */

/* The functions of struct probe_placing, for the event's functions. */
bool javaprobes_ask(const struct java_event *event, enum java_probed who,
		    const struct probe_file *f, struct places_query *query);
bool javaprobes_place(struct sources *s, const struct java_event *event, enum java_probed who,
		      const struct probe_file *f, const struct places *found, probe_links *out);

/* Whose functions report at first, before any fallback. */
enum java_probed javaprobes_default(const struct sources *s);
