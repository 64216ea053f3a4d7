/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every unit test. cmocka.h needs these headers, in this order. */
#pragma once

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>
/* clang-format on */

/* Ends a test that cannot run here. tests/run shows the reason. */
#define skip_because(why)                       \
	do {                                    \
		printf("# skipped: %s\n", why); \
		skip();                         \
	} while (0)
