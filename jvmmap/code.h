/* SPDX-License-Identifier: Apache-2.0 */
/* Where the instructions of a method are after calls of hooks were added. */
#pragma once

#include "jvmmap/classedit.h"

struct code {
	struct editor *e;
	int method;          /* index of the wanted method */
	uint32_t wants;      /* of enum class_event */
	int has_this;        /* it is not static */
	int is_init;         /* a constructor */
	uint32_t type;       /* constant: the method's type */
	uint32_t first_type; /* constant of the class of its first parameter that has one */
	const uint8_t *bytes;
	uint32_t len;
	uint32_t nr_variables; /* of the file; the time of the begin has this number */
	uint32_t begin;        /* place in the changed code of its first own instruction */
	uint32_t end;          /* place behind its last own instruction */
	uint32_t handler;      /* place of the handler of all exceptions; 0: none */
};

#define CODE_CALL_BYTES    8  /* ldc_w NUMBER; invokestatic HOOK.entered; nop; nop */
#define CODE_CLOCK_BYTES   8  /* invokestatic System.nanoTime; lstore BEGIN; nop */
#define CODE_LEFT_BYTES    13 /* lload BEGIN; ldc2_w MINIMUM; ldc_w NUMBER; invokestatic HOOK.left */
#define CODE_HANDLER_BYTES (CODE_LEFT_BYTES + 1) /* athrow */

/* Whether the method reports calls that last long. */
static inline int code_is_timed(const struct code *c)
{
	return (c->wants & CLASS_LASTED) != 0;
}

/* Finds the place of each instruction: begin, end, handler. e->in is bad if they do not fit. */
void code_lay_out(struct code *c);

/*
 * The place in the changed code of the instruction at `pc`, or of the hook before it. For len it is
 * `end`.
 */
uint32_t code_moved(struct code *c, uint32_t pc);
