/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a method, with calls of hooks added. Part of jvmmap/classfile.h. */
#pragma once

#include "jvmmap/classedit.h"

/* The method, and where its instructions are after calls of hooks were added. */
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

/*
 * Copies the content of a Code attribute, up to the end of e->in, with the calls. e->in is bad
 * afterwards if the code is invalid or would become too large.
 */
void code_hook(struct code *c);
