/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command to the agent of one JVM, carried out by a child process: it can hang in the target's
 * file system, change its ids and enter namespaces without harm to us, and it cleans up even if
 * we are killed.
 */
#pragma once

#include "base/types.h"
#include "jvm/deliver.h"
#include "jvmmap/wire.h"

enum inject_command {
	INJECT_START,   /* opens a session and hands over its ring */
	INJECT_METHODS, /* the second half of a start; this one and the next four never signal the
			   JVM */
	INJECT_REPLAY,
	INJECT_REFS, /* tells what is gone of sampled objects */
	INJECT_STOP,
	INJECT_STOP_ALL,
	INJECT_CLEAN, /* removes what a child that was killed may have left */
};

/* Events in Java code that an agent is to tell of (jvmmap/hooks.h). */
struct agent_hooks {
	u64 alloc_interval;             /* bytes; 0: none */
	bool refs;                      /* and when sampled objects are gone */
	bool collect;                   /* have garbage collected before that is told at the end */
	u64 lock_min_ns;                /* 0: none */
	char methods[WIRE_METHODS_MAX]; /* "a/B.run,a/C.go", whose calls are told */
};

struct inject_order {
	enum inject_command command;
	pid_t pid;
	u64 start_ns;
	u64 program_ns; /* INJECT_START: when it executed its program; 0: not known */
	char nonce[WIRE_NONCE_LEN + 1];
	const char *agent_path;              /* absolute */
	char loaded_path[DELIVERY_PATH_MAX]; /* where the JVM loaded it from; "" if not known */
	bool may_signal;                     /* not if it was signalled before */
	enum delivery_way way;
	struct agent_hooks hooks; /* INJECT_START, INJECT_REFS */
};

enum inject_outcome {
	INJECT_RUNNING,
	INJECT_DONE,
	INJECT_RETRY,   /* it may work later */
	INJECT_REFUSED, /* it will not */
};

struct inject_result {
	enum inject_outcome outcome;
	bool was_signalled;
	bool was_reached; /* the JVM has noticed something of it */
	s64 clock_off_ns;
	char loaded_path[DELIVERY_PATH_MAX];
	char reason[320]; /* "reason; what to do", clean */
	bool drops_code;  /* it would, for methods to be told of; they are not */
	int ring_fd;      /* of INJECT_START; the caller's; -1 else */
};

struct injection;

/* A nonce nobody can guess. */
void inject_nonce(char out[WIRE_NONCE_LEN + 1]);

/* Negative errno if no child can be made. */
int inject_start(const struct inject_order *order, struct injection **out);

/*
 * Does not block; fills *out unless the child still runs. It is killed after INJECT_MAX_MS, and if
 * it hangs in the target's file system so that this does not end it, *out says so all the same.
 */
enum inject_outcome inject_poll(struct injection *i, struct inject_result *out);

/* Whether the child is gone, so that it will not be a zombie after inject_free. */
bool inject_has_ended(struct injection *i);

/* Kills the child if it still runs; waits for its end only as long as a kill usually takes. */
void inject_free(struct injection *i);

#define INJECT_MAX_MS 15000
