/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of recording that all recordings of this process share: the processes of the node with
 * their mappings and containers, the unwinder's tables, the JVMs with their agents, and the names
 * of code. It has one thread; all work happens inside node_tick. Log messages are the node's; a
 * recording reports its losses itself (recording.h).
 */
#pragma once

#include "jvm/agent/agents.h"
#include "proc/process.h"
#include "sandbox/workers.h"

struct node;

struct thread_local_spec;

struct node_options {
	struct workers
		*workers; /* parse files; the node takes them over. NULL: it starts its own */
	enum agent_mode agent;
	const char *agent_path; /* the agent's library; NULL: the installed one */
	/* control group to which the recorder is limited; NULL: the whole node */
	const char *within;
	const struct thread_local_spec *labels; /* ThreadLocals of JVMs that are labels */
	u32 nr_labels;
	bool lines;                /* one frame per line of a Java method */
	bool signatures;           /* Java methods have their signature in the name */
	bool addresses;            /* functions without a symbol have their offset as name */
	bool measure;              /* recordings may measure their BPF programs */
	bool times_programs;       /* the run time of BPF programs is known without `measure`, also
				      that of others */
	bool keeps_output_rights;  /* the output needs rights over files of others
				      (sandbox/rights.h) */
	bool ends_without_helpers; /* the caller watches node_lost_helper and ends */
	/* Called when a JVM was ended by a signal. May be NULL. */
	void (*jvm_killed)(struct process *p, u32 signal, void *ctx);
	void *jvm_killed_ctx;
	bool keeps_rights; /* for tests that go on after the node's end: drops none, attaches no
			      agent */
};

/*
 * Starts the processes that parse files, read memory and attach, and drops the rights that the
 * recorder does not need. Call it before the first thread starts and before anything is opened. The
 * options' pointers must stay valid.
 */
struct node *node_new(const struct node_options *options);

/* Warns of each of options.labels that was found in no JVM. */
void node_warn_of_labels(const struct node *n);

/* Loads the node's BPF programs. Without a call, node_start loads them. Logs errors. */
int node_load(struct node *n);

/*
 * Loads the node's BPF programs, follows processes, and reads those that run. Logs errors.
 * Recordings can be started from then on.
 */
int node_start(struct node *n);

/* Ends the agents' sessions. Free the recordings first. */
void node_free(struct node *n);

/*
 * Processes everything that has arrived, and advances the recordings. Call it every node_tick_ms,
 * and after node_woken when node_fd is readable.
 */
void node_tick(struct node *n);
int node_tick_ms(const struct node *n);

/*
 * Readable when a process has mapped code; the unwinder needs tables for it before its next sample.
 * -1 if this happens too often; the next tick then handles it.
 */
int node_fd(struct node *n);

/* Call it when node_fd was readable. Waits a moment for the program's next mappings. */
void node_woken(struct node *n);

enum node_helper {
	NODE_HELPER_ZYGOTE, /* starts workers */
	NODE_HELPER_MEMORY, /* starts readers of memory */
	NODE_HELPER_ATTACH,
	NR_NODE_HELPERS
};

/*
 * The first helper process of the node that has ended or hangs; NR_NODE_HELPERS if all work. It
 * cannot be started again, because the node no longer has the rights for that.
 */
enum node_helper node_lost_helper(const struct node *n);

struct agents *node_agents(struct node *n);

/* The workers that parse files; NULL if they could not be started. */
struct workers *node_workers(struct node *n);

/* As symbolizer_unnamed_build: build ids of files that lack symbols. */
const char *node_unnamed_build(const struct node *n, size_t i);

/* Whether a process lies within the bounds of the node. It may leave them at any time. */
bool node_holds(const struct node *n, pid_t pid);

/* Calls `visit` for every JVM that runs and that the node holds, in no particular order. */
void node_each_jvm(struct node *n, process_fn visit, void *ctx);

/* Calls `visit` for every process that runs and that the node holds, in no particular order. */
void node_each_process(struct node *n, process_fn visit, void *ctx);

/* A JVM as read from outside; NULL if it is not ready or unreadable. Valid until node_tick. */
struct hotspot *node_jvm(const struct node *n, const struct process *p);

/* The names of a process (jvm/process/process_names.h). Valid until the next call for it. */
const struct process_names *node_names(struct node *n, struct process *p);

/* HotSpot's release of a JVM, "17.0.15+6-Debian-1deb12u1"; "" if it is unknown. */
const char *node_jvm_release(const struct node *n, const struct process *p);

/*
 * The CPU time of this process, its workers and the processes that read memory, and the run time of
 * all its BPF programs, so far. Needs times_programs. Left out are the processes that attach agents
 * and open files, and all of the web process. It may fall when a process is replaced.
 */
u64 node_cpu_ns(const struct node *n);

/* The container of a process; NULL outside of containers. */
const struct container *node_container(struct node *n, struct process *p);
