/* SPDX-License-Identifier: Apache-2.0 */
/* What the injector child does: private to inject.c. */
#pragma once

#include "jvm/inject.h"

/* Carries out the order, sends one struct inject_result through `fd`; the exit status. */
int injector_run(const struct inject_order *order, int fd);
