/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the samples for which the kernel did not run the recording's program, because another BPF
 * program was running on the CPU (bpf/skipped.bpf.c). It is a program of its own: the kernel needs
 * as long to verify it as all others of a recording together, and few nodes need it.
 */
#pragma once

#include "capture/kernel/programs.h"

struct skipped;

/* Whether BPF programs of others are loaded that can keep a recording's from running. */
bool skipped_is_likely(const struct programs *bpf);

/*
 * Loads the program in a thread of its own, with the maps of `bpf`, which must outlive *out.
 * -ENOTSUP if the kernel has no such tracepoint, else a negative errno.
 */
int skipped_load(struct programs *bpf, struct skipped **out);

/*
 * Attaches the program once it is loaded. 0 if it runs, -EAGAIN while it is being loaded, another
 * negative errno if it cannot run.
 */
int skipped_poll(struct skipped *s);
void skipped_free(struct skipped *s);
