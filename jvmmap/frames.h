/* SPDX-License-Identifier: Apache-2.0 */
/* The StackMapTable of a method: the types of variables and stack where jumps lead. */
#pragma once

#include "jvmmap/code.h"

/* Copies the content of the attribute with the frames moved. The types do not change. */
void frames_move(struct code *c);

/*
 * Copies it for code with a further variable behind all others, a long. Every frame names it. The
 * frame of code->handler is added if there is one. With is_new there is no attribute to copy.
 */
void frames_extend(struct code *c, int is_new);
