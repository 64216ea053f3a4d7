/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a sample in the profile: the levels under the root, and the labels. */
#pragma once

#include <regex.h>

#include "base/str.h"
#include "base/time.h"
#include "capture/events/events.h"
#include "capture/samples/cut.h"
#include "capture/samples/requests.h"
#include "jvm/agent/agents.h"
#include "jvm/hotspot/jvm_registry.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "profile/slots.h"
#include "sym/symbolize.h"

enum level {
	LEVEL_PROCESS,
	LEVEL_THREAD,
	LEVEL_CONTAINER,
	LEVEL_POD,
	LEVEL_HOST,
	NR_LEVELS,
};

/* From the root downwards. */
struct level_list {
	enum level at[NR_LEVELS];
	size_t nr;
};

/* Parses "pod,process" or "none". -EINVAL with a reason in `why` if `text` is wrong. */
int levels_parse(const char *text, struct level_list *out, struct str *why);

/* Adds a level at the lower end unless it is present. */
void levels_add(struct level_list *list, enum level level);

struct levels {
	struct level_list list;
	struct profile *profile;
	struct newest_threads *threads; /* of that profile */
	struct program_labels *programs;
	struct traces *traces; /* of the profile's cut */
	level_nodes *nodes;
	struct symbolizer *symbolizer;
	struct containers *containers;
	struct jvm_registry *jvms;
	const struct agents *agents;
	const regex_t *thread; /* only samples of threads with matching names; NULL: all */
	bool has_services;     /* samples have the label `service` */
	enum request_labels requests;
	u64 begin_ns; /* time slots count from here */
};

struct sample;

/* A part of a sample's weight. */
struct place_part {
	labels_id labels;
	u64 value;
};

/* The place of a sample. */
struct place {
	node_id node; /* the parent of the stack's frames */
	struct place_part parts[SLOTS_PARTS];
	size_t nr_parts;
};

struct place_traits {
	const char *comm;     /* of the process, before it executed another program since */
	u64 program_ns;       /* process.program_ns then */
	const char *thread;   /* its name; NULL: that of the kernel's thread */
	u32 state;            /* enum thread_state, the lowest level; STATE_NONE: no such level */
	const char *executor; /* of a virtual thread; NULL: none */
	const char *owner;    /* of the lock that it waits for; NULL: nobody, or unknown */
	const char *leaf;     /* labels of the sample; NULL: none */
	const char *stack;
	const struct request *request;
};

enum placing {
	PLACED,
	OTHER_THREAD, /* `thread` leaves the sample out */
};

/* Finds the sample's place. A wait has several parts if the profile keeps time. */
enum placing levels_place(struct levels *l, struct process *p, const struct sample *sample,
			  const struct sample_weight *weight, struct place_traits traits,
			  struct place *out);

/*
 * Gives earlier samples the names that are known by now: those of JVMs, services, containers and
 * pods, which may be known only after the first samples, and in the level of threads the newest
 * name of each. Call it before the profile is handed over.
 */
void levels_settle(struct levels *l, const struct processes *all);

/* As the function above, for a process that is forgotten or executes another program. */
void levels_settle_program(struct levels *l, struct process *p);
