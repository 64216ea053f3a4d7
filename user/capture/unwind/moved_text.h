/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a file that a program has copied to anonymous memory at the same addresses, to have it on
 * huge pages: `node --use-largepages`, iodlr, databases. It is found by the neighbouring mappings
 * of the file. Memory counts as moved text only if its bytes equal the file's.
 */
#pragma once

#include "proc/process.h"
#include "sandbox/workers.h"

struct moved_texts;

struct moved_texts *moved_texts_new(void);
void moved_texts_free(struct moved_texts *t);

/*
 * Lets workers compare the bytes; `workers` must outlive `t`. Without workers this process
 * compares.
 */
void moved_texts_use_workers(struct moved_texts *t, struct workers *workers);

/*
 * Replaces the process's mappings of such memory by mappings of the file that are marked is_copy.
 * -EAGAIN while workers compare; ask again. 0 otherwise.
 */
int moved_texts_find(struct moved_texts *t, struct process *p);

/* Forgets a process whose program or life has ended. */
void moved_texts_forget(struct moved_texts *t, struct process_id id);

/*
 * All of the memory is compared up to 1 MB, and otherwise places at equal distances: at least one
 * in each page of 64 MB.
 */
#define TEXT_PLACES_MAX  16384
#define TEXT_PLACE_BYTES 64

/* The question to a worker: whether [start, end) holds text of the file. The bytes are in a memfd.
 */
struct text_question {
	u64 start, end;
	u64 near_start, near_off; /* a mapping of the file beside it */
};

/* The worker's answer: the part of the range that holds text of the file. */
struct text_answer {
	u64 start, end, file_off;
};

/* The places of a question, and where one of them begins. */
u32 text_nr_places(const struct text_question *q);
u64 text_place(const struct text_question *q, u32 i);

/* The worker's part: WORKER_MOVED_TEXT. It is in moved_text_task.c. */
int moved_text_task(struct worker_io *io, const int *fds, const void *params, size_t len);
