/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class files (JVMS 4) with a call inserted at the beginning of some methods:
 *
 *	ldc_w NUMBER; invokestatic HOOK.entered(I)V; nop; nop
 *
 * The code after it moves by 8 bytes as a whole, which leaves jumps and the padding of switches
 * unchanged. Tables that refer to places in the code (handlers, lines, variables, frames) are
 * adjusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct class_method {
	const char *name; /* not terminated; covers all methods of that name */
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

/* The number of entries in the file's constant pool; 0 if it is not a class file. */
size_t class_constants(const uint8_t *file, size_t len);

/*
 * Writes the changed file to `out` and returns its size, or 0 if the format is unknown or the file
 * would become too large. With `out` NULL it only returns the size. Methods without code, and
 * methods that would become too large, stay unchanged. `places` has room for class_constants(file)
 * numbers.
 */
size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *places,
		  uint8_t *out, size_t room);

/* Writes the class of the hook, with its native method. Returns its length, at most CLASS_BYTES. */
#define CLASS_BYTES 256
size_t class_of_hook(const char *name, uint8_t out[CLASS_BYTES]);
