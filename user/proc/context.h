/* SPDX-License-Identifier: Apache-2.0 */
/* What a process publishes of itself and of its threads. Part of struct process. */
#pragma once

#include "base/types.h"

#define PROCESS_KEYS_MAX 256 /* a key's number is a byte */

/*
 * Where a variable of each thread lies: at `offset` from the thread pointer, or in the thread's
 * block of `module`, a number of the dynamic linker.
 */
struct thread_variable {
	u32 module;   /* 0: from the thread pointer */
	bool is_musl; /* the blocks are in a table of musl, not glibc */
	s64 offset;
};

/*
 * What the process publishes of itself (jvm/process/process_context.h). Texts are owned and clean;
 * NULL: not published.
 */
struct process_context {
	char *service, *instance, *environment, *version;
	u32 nr_changes;   /* of the texts */
	bool has_threads; /* it says that its threads publish contexts, too */
	/* Names of attributes in contexts of threads, by their numbers. A name never changes. */
	char **keys;
	u32 nr_keys;
	u32 nr_changed_keys;             /* names that the process changed although it may not */
	struct thread_variable variable; /* that leads to a thread's context */
	bool has_variable;
	u64 variable_version;  /* of the mappings in which it was searched */
	u64 variable_again_ns; /* CLOCK_MONOTONIC of the next search */
	u64 variable_pause_ns; /* between searches */
	u64 header;            /* where its header lies in the process; 0: none was found */
	u64 published_ns;      /* the header's own time, when the texts were read */
	u64 again_ns;          /* CLOCK_MONOTONIC of the next look */
	u64 pause_ns;          /* between looks for a header */
	u64 size_pages;        /* of the process's memory at the last look; 0: unknown */
	u32 nr_same;           /* looks with that size, one after the other */
};

/* Frees the texts and forgets everything. */
void process_context_fini(struct process_context *c);
