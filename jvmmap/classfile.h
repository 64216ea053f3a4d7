/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class files (JVMS 4) with a call at the beginning of some methods:
 *
 *	ldc_w NUMBER; invokestatic HOOK.entered(I)V; nop; nop
 *
 * The code behind it moves by 8 bytes as a whole, so that jumps and the padding of switches stay
 * as they are; what names places in the code (handlers, lines, variables, frames) moves along.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct class_method {
	const char *name; /* not terminated; all methods of that name */
	size_t len;
	uint32_t number;
	int nr_hooked; /* set by class_hook */
};

struct class_hook {
	const char *class; /* "java/lang/Hook" */
	struct class_method *methods;
	int nr;
};

#define CLASS_HOOK_METHOD "entered"
#define CLASS_HOOK_TYPE   "(I)V"

/* How many entries the file's constant pool has; 0 if it is no class file. */
size_t class_constants(const uint8_t *file, size_t len);

/*
 * Writes the changed file to `out`, NULL to learn its size, which is returned and the room needed;
 * 0 if it is not what we know or becomes too large. A method that would become too large, or has no
 * code, is left as it is. `places` has room for class_constants(file) numbers.
 */
size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *places,
		  uint8_t *out, size_t room);

/* The class that is called, with its native method; returns its length, at most CLASS_BYTES. */
#define CLASS_BYTES 256
size_t class_of_hook(const char *name, uint8_t out[CLASS_BYTES]);
