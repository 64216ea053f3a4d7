/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes on functions that report events in Java code: hooks of our agent, libjvm's own functions.
 */
#pragma once

#include "capture/events/sources.h"
#include "capture/probes/probes.h"

/*
 * A function, and the BPF program of bpf/events/java.bpf.c that takes a sample there. Without a
 * program stacks show its calls, which requires its symbol.
 */
struct java_probe {
	const char *function;
	const char *older; /* complete symbol of the function in JDK 8; NULL: the same symbol */
	enum program program;
	enum java_call call; /* passed to java_event */
	bool is_hook;        /* of the agent */
};

/* Whose functions report. */
enum java_probed {
	JAVA_PROBED_FIRST, /* the agent's hooks; with --agent never, functions of libjvm */
	JAVA_PROBED_LIBJVM,
};

#define JAVA_PROBES_MAX 4

/* The probes of one event. */
struct java_placing {
	struct probe_placing placing; /* its functions are those below */
	const struct java_probe *probes;
	size_t nr; /* at most JAVA_PROBES_MAX */
	enum java_probed who;
};

#define JAVA_FILES_MAX 4096 /* agents' and libjvm.so, with probes */

#define JAVA_PLACING(event, list, functions_of)                                  \
	{                                                                        \
		.placing = { .name = (event),                                    \
			     .nr_files_max = JAVA_FILES_MAX,                     \
			     .reports_missing = true,                            \
			     .ask = javaprobes_ask,                              \
			     .place = javaprobes_place },                        \
		.probes = (list), .nr = ARRAY_SIZE(list), .who = (functions_of), \
	}

/* The functions of struct probe_placing; `self` is a struct java_placing, `ctx` struct sources. */
bool javaprobes_ask(const struct probe_placing *self, const struct probe_file *f,
		    struct places_query *query, void *ctx);
bool javaprobes_place(const struct probe_placing *self, const struct probe_file *f,
		      const struct places *found, probe_links *out, void *ctx);

/* `p` must outlive the probes. Those of libjvm are placed in chosen processes only. */
struct probes *javaprobes_new(struct sources *s, const struct java_placing *p);
