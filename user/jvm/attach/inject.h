/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one command to the agent of one JVM, in a child process. The child can hang in the target's
 * file system, change its ids and enter namespaces without harm to us. It also cleans up if we are
 * killed.
 */
#pragma once

#include "base/types.h"
#include "jvm/attach/agent_hooks.h"
#include "jvm/attach/deliver.h"
#include "jvmmap/wire.h"
#include "proc/status.h"
#include "sandbox/protocol.h"

enum inject_command {
	INJECT_START,   /* opens a session and passes its ring to us */
	INJECT_METHODS, /* second half of a start; from here to STOP_ALL no signal is sent */
	INJECT_HOOKS,   /* replaces the events in Java code that a session reports */
	INJECT_REPLAY,
	INJECT_REFS, /* reports collected objects */
	INJECT_STOP,
	INJECT_STOP_ALL,
	INJECT_CLEAN, /* removes what a killed child may have left */
};

struct inject_order {
	enum inject_command command;
	struct process_id id;
	u64 program_ns; /* INJECT_START: when the process executed its program; 0 if unknown */
	char nonce[WIRE_NONCE_LEN + 1];
	const char *agent_path;              /* absolute */
	char loaded_path[DELIVERY_PATH_MAX]; /* path from which the JVM loaded it; "" if unknown */
	/* START: attach even if the JVM then prints a warning */
	bool may_warn;
	bool may_signal; /* false if the JVM was already sent SIGQUIT */
	/* INJECT_START: attach even if no VM can be read in the process */
	bool may_have_no_vm;
	enum delivery_way way;
	struct agent_hooks hooks; /* INJECT_START, INJECT_HOOKS, INJECT_REFS */
	u64 dependencies; /* address of a variable in libjvm (code_dependencies.h); 0: unknown */
};

enum inject_outcome {
	INJECT_RUNNING,
	INJECT_DONE,
	INJECT_SPARED, /* the JVM would print a warning, which the order does not want */
	INJECT_DOUBT,  /* no VM can be read in it; it was not contacted */
	INJECT_WAIT,   /* not yet: the cause passes by itself, and nothing is wrong with the JVM */
	INJECT_RETRY,  /* may succeed later */
	/* as INJECT_WAIT: memory of the JVM did not arrive, and a process still waits for it */
	INJECT_SILENT,
	INJECT_REFUSED, /* will not succeed */
};

struct inject_result {
	enum inject_outcome outcome;
	bool was_signalled;
	bool has_warned; /* START: the JVM has printed its warning about agents */
	bool has_vm;     /* its VM could be read */
	bool is_lasting; /* the JVM was contacted, and the cause may stay: refusals are stored */
	s64 clock_off_ns;
	char loaded_path[DELIVERY_PATH_MAX];
	char reason[320]; /* "reason; what to do", clean */
	/* START, HOOKS: the JVM would drop its compiled code, so calls are not reported */
	bool drops_code;
	u64 libjvm;            /* address of its libjvm, if calls are wanted; 0: unknown */
	pid_t left_pid;        /* INJECT_SILENT: the process that waits; 0: unknown */
	int ring_fd;           /* of INJECT_START, owned by the caller; otherwise -1 */
	bool takes_no_command; /* START: no further command will reach the agent */
};

struct injection;

/* Makes an unguessable nonce. */
void inject_nonce(char out[WIRE_NONCE_LEN + 1]);

/*
 * From here on the helper forks the children (helper.h). NULL: this process does, as commands that
 * do not record.
 */
struct helper;
void inject_use_helper(struct helper *h);

#define INJECT_NO_MEMORY                                                            \
	"its memory did not arrive in time; find out which file system or program " \
	"supplies it"

#define INJECT_WOULD_WARN                                                             \
	"it is read from outside, because it would print a warning about the agent; " \
	"--agent always attaches, -XX:+EnableDynamicAgentLoading hides the warning"

#define INJECT_NO_COMMAND \
	"a JVM for musl takes no further command; make the agent's file visible to it"

#define INJECT_NO_HELPER "the process that attaches was killed; record again"

/* Returns 0, or a negative errno if no child can be started; -EPIPE: the helper was killed. */
int inject_start(const struct inject_order *order, struct injection **out);

/*
 * Does not block. Fills in *out unless the child is still running. Kills the child after
 * INJECT_MAX_MS; then fills in *out even if the child hangs in the target's file system and cannot
 * end.
 */
enum inject_outcome inject_poll(struct injection *i, struct inject_result *out);

/* Whether the child has been reaped; otherwise inject_free may leave a zombie. */
bool inject_has_ended(struct injection *i);

/* Kills the child if it is still running; waits no longer than a kill usually takes. */
void inject_free(struct injection *i);

#define INJECT_MAX_MS 15000

/*
 * Ends all sessions in a JVM, also those of other readers, and waits for the end. Returns NULL, or
 * "reason; what to do", which the caller frees. `path` as for agent_file_find. An agent from
 * another file, for example of another version, ends its sessions at the JVM's next event;
 * *is_pending is set if that has not happened yet.
 */
char *inject_detach_all(const char *path, struct process_id id, bool *is_pending);

/*
 * Orders and results of attaches as messages of sandbox/protocol.h, between the recorder, the
 * attach helper and its children. Each end checks every field of the other's: a child reads the
 * memory of a JVM, which may take it over.
 */
#define INJECT_VERSION 3
enum inject_message_kind {
	INJECT_ORDER = 16, /* to the helper: an order, with the socket for the result */
	INJECT_KILL,       /* to the helper: ends the process `number` */
	INJECT_OPENER, /* to the helper: starts an opener (proc/open_request.h) with its socket */
	INJECT_RESULT, /* from a child, with the ring's descriptor if there is one */
	INJECT_ENDED,  /* from the helper, about a child: the status of waitpid(2) */
};

/* The agent's path is not sent: it is the one that the process was started with. */
void inject_order_encode(const struct inject_order *order, u64 number, struct worker_message *m);

/*
 * -EPROTO for anything else than an order, and if the JVM has loaded another path than `agent_path`
 * or that of a delivery. The order points to `agent_path`.
 */
int inject_order_decode(const struct worker_message *m, const char *agent_path, u64 *number,
			struct inject_order *out);

/* INJECT_KILL or INJECT_OPENER. */
void inject_number_encode(enum inject_message_kind kind, u64 number, struct worker_message *m);
int inject_number_decode(const struct worker_message *m, u64 *number);

void inject_result_encode(const struct inject_result *result, struct worker_message *m);

/* Texts are cleaned. The ring's descriptor is -1 afterwards. */
int inject_result_decode(const struct worker_message *m, struct inject_result *out);
