/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file has the places for probes: functions, statically defined probes (USDT), or an
 * instruction. Workers read the file, which may be damaged or hostile.
 */
#pragma once

#include "base/auto.h"
#include "base/near.h"
#include "sandbox/workers.h"

#define PLACES_NAMES_MAX 64
#define PLACES_MAX       256 /* places of one USDT probe */

enum places_kind {
	PLACES_FUNCTIONS,   /* at[i] is the function names[i] */
	PLACES_USDT,        /* all places of the probe names[0], PROVIDER:NAME */
	PLACES_INSTRUCTION, /* whether one begins at `file_off`: errors of elf/instruction.h */
};

struct places_query {
	enum places_kind kind;
	const char *names[PLACES_NAMES_MAX];
	u32 nr_names;
	u32 nr_alternatives; /* number of consecutive names that mean the same function; 0: one */
	u32 nr_near;         /* similar names wanted if names[0] is missing, at most NEAR_MAX */
	u64 file_off;
	const char *debug_path; /* path of the file as its process sees it. NULL: functions are not
				   searched in debug files. */
	worker_open_fn open;    /* opens debug files; the place is an enum debug_place */
	void *ctx;              /* of `open`; on the heap, freed with the work */
};

struct probe_place {
	u64 file_off;      /* of the code; 0 if the function is missing */
	u64 size;          /* of the function; 0 if it is not known */
	u64 semaphore_off; /* USDT: offset of the counter of observers; 0 if the probe has none */
};

/* The answer. Its numbers come from the file: any offset is possible. */
struct places {
	u32 nr;
	struct probe_place *at;   /* owned */
	u64 code_start, code_end; /* offsets of the first executable segment */
	bool is_program;          /* it has an interpreter: ld.so */
	bool has_exports;         /* it exports functions */
	char *near[NEAR_MAX + 1]; /* similar names, best first, then NULL; owned */
};

/*
 * Starts the search in the file `fd`, which stays the caller's, at the expense of its owner. With
 * `workers` NULL this process searches. -ENAMETOOLONG, -EMFILE.
 */
int places_search(struct workers *workers, int fd, const struct places_query *query,
		  struct work **out);

/*
 * -EAGAIN: ask again. Otherwise the caller owns *out. -ENOENT: the USDT probe is missing, or the
 * only function that was wanted. Other errors are those of elf.h and work_result.
 */
int places_result(struct work *k, const struct places_query *query, struct places *out);

/*
 * Searches a file that the user named, and waits longer than any worker may take. -ENOENT also if
 * the file is missing; errors of file_open_regular too.
 */
int places_search_now(struct workers *workers, const char *path, const struct places_query *query,
		      struct places *out);
void places_fini(struct places *p);
#define auto_places __attribute__((cleanup(places_fini)))

/* Checks and takes a worker's answer. -EBADMSG. The caller owns *out in any case. */
int places_decode(const void *bytes, size_t len, const struct places_query *query,
		  struct places *out);

/* The parameters of the task: this, then the path and the names, each with a NUL. */
struct places_request {
	u32 kind, nr_names, nr_alternatives, nr_near;
	u64 file_off;
	u32 in_debug_files, reserved;
};

/* Its answer: this, the places, the similar names, each with a NUL. */
struct places_answer {
	s32 err;
	u32 nr, near_len;
	u32 is_program, has_exports, reserved;
	u64 code_start, code_end;
};

/* Returns the NUL-terminated text at *at and moves *at behind it. NULL: no text is left before
 * `end`. */
const char *places_next_text(const char **at, const char *end);

/* The worker's part: WORKER_PLACES. It is in places_task.c. */
int places_task(struct worker_io *io, const int *fds, const void *params, size_t len);
