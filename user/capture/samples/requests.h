/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of threads, as labels of samples. A process may publish that its threads have
 * contexts (jvm/process/process_context.h); BPF programs read those with each sample
 * (bpf/context.bpf.c). Everything in them is bounded for each process, so that none affects the
 * labels of another.
 */
#pragma once

#include "abi.h"
#include "proc/process.h"

#define REQUEST_VALUES_MAX 100  /* of a key in a process; others are REQUEST_OTHER */
#define REQUEST_SETS_MAX   2048 /* attributes with all their values, of a process */
#define REQUEST_TAGS_MAX   32   /* attributes of a sample */
#define REQUEST_OTHER      "[other]"
/* memory for attributes: of one process, of one user's processes, of all */
#define REQUEST_PROCESS_BYTES (1u << 20)
#define REQUEST_USER_BYTES    (4u << 20)
#define REQUEST_BYTES         (16u << 20)

/* Which labels samples get from contexts. */
enum request_labels {
	REQUEST_ROUTES,     /* attributes that name a route, a method or a queue */
	REQUEST_ATTRIBUTES, /* all attributes */
	REQUEST_TRACES,     /* all attributes, trace and span (traces.h) */
};

#define REQUEST_TRACE_BYTES 16
#define REQUEST_SPAN_BYTES  8

/* Why a part of a context was ignored, as bits. */
enum request_fault {
	REQUEST_TOO_LARGE = 1, /* its attributes take more than CONTEXT_ATTRIBUTES bytes */
	REQUEST_UNREADABLE = 2,
	REQUEST_CUT = 4,          /* its last attribute is not whole */
	REQUEST_UNKNOWN_KEY = 8,  /* the process has published no name for the key */
	REQUEST_CHANGED_KEY = 16, /* the process gave a key another name; the first one counts */
	REQUEST_TOO_MANY = 32,    /* more than REQUEST_TAGS_MAX attributes */
	/* an object on the way to a ThreadLocal's value has another class, or was moved */
	REQUEST_OTHER_OBJECT = 64,
};

/* A sample's context: its attributes as tags (export/interchange/tags.h), trace and span. */
struct request {
	const char *tags[REQUEST_ATTRIBUTES + 1]; /* by enum request_labels; NULL: none */
	bool has_trace;
	u8 trace[REQUEST_TRACE_BYTES], span[REQUEST_SPAN_BYTES];
	u32 faults;     /* bits of enum request_fault */
	bool has_other; /* some value is REQUEST_OTHER */
};

struct requests;

struct requests *requests_new(void);
void requests_free(struct requests *r);

/*
 * The maps context_places and java_places, which stay the caller's. Without a call contexts are not
 * read.
 */
void requests_use(struct requests *r, int places_fd, int java_places_fd);

/*
 * ThreadLocals of JVMs whose values are labels (jvm/labels/thread_local.h); `specs` and `jvms` must
 * outlive it.
 */
struct jvm_registry;
struct thread_local_spec;
void requests_read_locals(struct requests *r, struct jvm_registry *jvms,
			  const struct thread_local_spec *specs, u32 nr);

/* Warns of each ThreadLocal that was found in no JVM, with the reason. */
void requests_warn_of_locals(const struct requests *r);

/*
 * Follows what the process publishes of itself and of its threads. Call it for running processes
 * that are recorded, often.
 */
void requests_follow(struct requests *r, struct process *p);

/* Reads the context of a sample. The texts are valid until the next call for any process. */
void requests_of(struct requests *r, struct process *p, const struct sample *sample,
		 struct request *out);

/*
 * Reads the context of a thread that waits, and values of its ThreadLocals, as BPF does for one
 * that runs, into `words`. `tls` is its thread pointer. Returns what sample.nr_context has.
 */
#define REQUEST_WORDS (CONTEXT_BYTES / sizeof(u64) + SAMPLE_VALUES)
u8 requests_read(const struct requests *r, const struct process *p, u64 tls,
		 u64 words[REQUEST_WORDS]);

/* The process has ended, or executes another program. */
void requests_forget(struct requests *r, const struct process *p);

/* Names the faults, bits of enum request_fault, for people. The caller frees the text. */
char *request_faults_text(u32 faults);

/* The number of processes with attributes, and the memory that they take. */
size_t requests_nr(const struct requests *r);
size_t requests_bytes(const struct requests *r);
