/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detaches probes in threads of its own. For each probe the kernel waits some tens of milliseconds
 * until no program can run any more. Many threads wait at the same time. Hundreds of probes thus
 * take no longer than one, and the recorder goes on.
 */
#pragma once

struct bpf_link;
struct detacher;

struct detacher *detacher_new(void);

/* Takes over the link and detaches it. */
void detacher_add(struct detacher *d, struct bpf_link *link);

/* Waits until all links are detached. */
void detacher_free(struct detacher *d);
