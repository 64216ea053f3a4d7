/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a file that a program has copied to anonymous memory at the same addresses, to have it on
 * huge pages: `node --use-largepages`, iodlr, databases. It is found by the neighbouring mappings
 * of the file. It counts as the file's only if its bytes are those of the file.
 */
#pragma once

#include "proc/process.h"
#include "worker/workers.h"

struct moved_texts;

struct moved_texts *moved_texts_new(void);
void moved_texts_free(struct moved_texts *t);

/* Lets workers compare the bytes, who must outlive this. Without them it is done in this process.
 */
void moved_texts_use_workers(struct moved_texts *t, struct workers *workers);

/*
 * Replaces the process's mappings of such memory by mappings of the file that are marked is_copy.
 * -EAGAIN while workers compare; ask again. 0 otherwise.
 */
int moved_texts_find(struct moved_texts *t, struct process *p);

/* Forgets a process whose program or life has ended. */
void moved_texts_forget(struct moved_texts *t, struct process_id id);

/* The worker's part: WORKER_MOVED_TEXT. */
int moved_text_task(struct worker_io *io, const int *fds, const void *params, size_t len);
