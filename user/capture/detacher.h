/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes probes off. The kernel waits for each until no program can run any more, tens of
 * milliseconds that pass for many at a time: threads do it, so that the recorder goes on and
 * hundreds of probes take no longer than one.
 */
#pragma once

struct bpf_link;
struct detacher;

struct detacher *detacher_new(void);

/* The link is the detacher's from here on. */
void detacher_add(struct detacher *d, struct bpf_link *link);

/* Waits until all are off. */
void detacher_free(struct detacher *d);
