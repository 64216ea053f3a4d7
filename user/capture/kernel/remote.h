/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads memory of other users' processes with a BPF program, for users without CAP_SYS_PTRACE.
 * CAP_BPF and CAP_PERFMON are enough for it.
 */
#pragma once

#include "capture/kernel/node_programs.h"

struct remote;

/* Whether it is needed, and the kernel supports it. */
bool remote_is_wanted(void);

/*
 * From now on proc/mem.h uses it for memory that it may not read otherwise. Only one may be open.
 */
int remote_open(const struct node_programs *node, struct remote **out);
void remote_close(struct remote *r);

/* The same without a recording. NULL if it is not needed or fails. */
struct remote *remote_alone(void);
