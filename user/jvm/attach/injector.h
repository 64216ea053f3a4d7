/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the injector child. Private to inject.c and helper.c. */
#pragma once

#include "jvm/attach/inject.h"

/*
 * Prepares a child that was just forked: puts it into a process group of its own, and sets a time
 * after which it ends itself.
 */
void injector_prepare(void);

/*
 * Executes the order, sends one result (inject.h) to `fd` and returns the exit status.
 * `facts_fd`, of task_facts_open, is closed; -1: none.
 */
int injector_run(const struct inject_order *order, int fd, int facts_fd);
