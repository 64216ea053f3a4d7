/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the injector child. Private to inject.c. */
#pragma once

#include "jvm/attach/inject.h"

/* Executes the order, sends one struct inject_result through `fd` and returns the exit status. */
int injector_run(const struct inject_order *order, int fd);
