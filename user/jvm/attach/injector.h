/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the injector child. Private to inject.c and helper.c. */
#pragma once

#include "jvm/attach/inject.h"

/* Makes a fresh child a process of its own, which ends by itself if nobody can kill it. */
void injector_prepare(void);

/*
 * Executes the order, sends one result (inject.h) to `fd` and returns the exit status.
 * `facts_fd`, of task_facts_open, is closed; -1: none.
 */
int injector_run(const struct inject_order *order, int fd, int facts_fd);
