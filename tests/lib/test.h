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
#undef stop /* a macro of cmocka 2.0 */
/* clang-format on */

/* Ends a test that cannot run here. tests/run shows the reason. */
#define skip_because(why)                       \
	do {                                    \
		printf("# skipped: %s\n", why); \
		skip();                         \
	} while (0)

/* In main(): ends a program none of whose tests can run here. */
#define skip_all_if(lacking)                                                \
	do {                                                                \
		const char *why_ = lacking;                                 \
		if (why_) {                                                 \
			printf("1..1\nok 1 - all tests # SKIP %s\n", why_); \
			return 0;                                           \
		}                                                           \
	} while (0)
