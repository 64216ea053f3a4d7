/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads memory of other users' processes by a BPF program, for those who have no CAP_SYS_PTRACE:
 * CAP_BPF and CAP_PERFMON are enough for it.
 */
#pragma once

#include "capture/bpf.h"

struct remote;

/* Whether we need it and the kernel can do it. */
bool remote_is_wanted(void);

/* From now on proc/mem.h reads by it what it may not read otherwise. One at a time. */
int remote_open(const struct bpf *bpf, struct remote **out);
void remote_close(struct remote *r);

/* The same for those who do not record: NULL if it is not wanted or cannot be. */
struct remote *remote_alone(void);
