/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the results of nodes. They wait in one file, and a worker reads them: nodes may be
 * hostile. Names of generated classes lose what differs from node to node. Samples get the labels
 * of their node as tags, "node=a, zone=b", by which the page can split.
 */
#pragma once

#include "base/str.h"
#include "worker/workers.h"

struct spool {
	int fd; /* without a name */
	u32 nr;
	u64 len;
};

/* Negative errno. */
int spool_open(struct spool *s);
void spool_close(struct spool *s);

/* Adds the result of a node with its labels, "node=a,zone=b". Negative errno. */
int spool_add(struct spool *s, const char *labels, const void *bytes, size_t len);

/* Starts the process that forks workers; call it before the rest of the work. */
int merge_start_workers(struct workers **out);

/*
 * Appends the merged profile in our own format (docs/profile-format.md). Results that cannot be
 * read are left out and counted in a note. Waits for the worker. Negative errno, with a sentence if
 * there is one.
 */
int merge_spool(struct workers *w, const struct spool *s, struct str *out, struct str *why);
