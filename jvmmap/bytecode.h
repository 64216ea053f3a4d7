/* SPDX-License-Identifier: Apache-2.0 */
/* The bytecode of a method (JVMS 6). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Whether the code can jump back. Also 1 if the code is invalid or has unknown instructions. */
int bytecode_has_loop(const uint8_t *code, size_t len);
