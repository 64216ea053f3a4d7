/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments and the environment of a process, and the name of its service that follows from
 * them. The process wrote both. Reading them never waits longer than other reads of its memory
 * (proc/mem.h).
 */
#pragma once

#include "base/types.h"
#include "proc/status.h"

#define WORDS_NAME_BYTES 100 /* longest service name that is accepted */

enum {
	WORDS_ARGS = 1,
	WORDS_ENVIRON = 2,
};

/* Words that end in a NUL each; NULL if they cannot be read. */
struct words {
	char *args, *environ;
	size_t args_len, environ_len;
};

/* `which`: WORDS_ARGS, WORDS_ENVIRON or both. */
void words_read(struct process_id id, int which, struct words *out);
void words_fini(struct words *w);
#define auto_words __attribute__((cleanup(words_fini)))

/* The service name in an environment (/proc/PID/environ); NULL if it has none. Caller frees. */
char *words_service(const char *environ, size_t len);

/* A copy as clean UTF-8 of at most WORDS_NAME_BYTES. Caller frees. */
char *words_clean(const char *text);
