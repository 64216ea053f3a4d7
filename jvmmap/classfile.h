/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class files (JVMS 4) with calls of hooks in some methods. At the begin of a method whose calls
 * are reported:
 *
 *	ldc_w NUMBER; invokestatic HOOK.entered(I)V; nop; nop
 *
 * In a method whose calls are reported if they last long:
 *
 *	invokestatic System.nanoTime()J; lstore BEGIN; nop
 *	.. before each return, and in a handler of all exceptions, which throws them again:
 *	lload BEGIN; ldc2_w MINIMUM; ldc_w NUMBER; invokestatic HOOK.left(JJI)V
 *
 * BEGIN is a further variable of the method. HOOK.left calls the native HOOK.lasted(IJ)V with the
 * duration if that is at least the minimum. A constructor gets no handler: it cannot have one
 * before its object is initialized.
 *
 * Jumps, and tables that refer to places in the code (handlers, lines, variables, frames), are
 * adjusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum class_event {
	CLASS_ENTERED = 1, /* a call of the method begins */
	CLASS_LASTED = 2,  /* a call of at least min_ns ends */
};

struct class_method {
	const char *name; /* not terminated; covers all methods of that name */
	size_t len;
	uint32_t number;
	uint32_t wants; /* of enum class_event */
	uint64_t min_ns;
	uint32_t hooked; /* the events hooked in a method of that name; set by class_hook */
};

struct class_hook {
	const char *class; /* "java/lang/Hook" */
	struct class_method *methods;
	int nr;
};

/* How many numbers class_hook needs to work with; 0 if it is not a class file. */
size_t class_work(const uint8_t *file, size_t len);

/*
 * Writes the changed file to `out` and returns its size, or 0 if the format is unknown or the file
 * would become too large. With `out` NULL it only returns the size. Methods without code, and
 * methods that would become too large for the JVM or its compilers, stay unchanged. So do methods
 * with a jump that would become too long. `work` has room for class_work(file) numbers.
 */
size_t class_hook(const uint8_t *file, size_t len, struct class_hook *hook, uint32_t *work,
		  uint8_t *out, size_t room);

/* Writes the class of the hooks. Returns its length, at most CLASS_BYTES. */
#define CLASS_BYTES 512
size_t class_of_hook(const char *name, uint8_t out[CLASS_BYTES]);
