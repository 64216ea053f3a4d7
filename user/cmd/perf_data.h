/* SPDX-License-Identifier: Apache-2.0 */
/* Raw data of perf, which only perf itself can decode. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Whether it is a regular file that begins like perf.data. Reading continues at its start. */
bool perf_data_is(FILE *f);

struct perf_script {
	FILE *out; /* what `perf script` prints */
	int pid;
};

/*
 * Starts `perf script` on the file. -ENOENT if perf is not installed, else a negative errno.
 * perf_script_end waits for its end and frees it: -EINVAL if it failed; it has then printed why.
 */
int perf_script_begin(const char *path, struct perf_script *s);
int perf_script_end(struct perf_script *s);
