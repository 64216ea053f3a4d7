/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind of event in Java code needs: an empty function, an environment, names of classes.
 */
#pragma once

#include "jvmmap/session.h"

/*
 * An empty function for a uprobe. It begins with a nop of 5 bytes, which newer kernels replace by a
 * call instead of a trap, and uses registers only. Each hook defines its arguments.
 */
#if defined(__x86_64__)
#define HOOK_CODE ".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret\n"
#elif defined(__aarch64__)
#define HOOK_CODE "nop\n\tret\n"
#endif
#define HOOK(name)                                                                                \
	__asm__(".text\n\t.globl " #name "\n\t.type " #name ", %function\n\t.p2align 6\n" #name   \
		":\n\t.cfi_startproc\n\t" HOOK_CODE "\t.cfi_endproc\n\t.size " #name ", .-" #name \
		"\n")

struct hook {
	jvmtiEnv *env; /* NULL until the first use */
	int is_on;
};

/* Makes the environment if necessary; NULL if the JVM refuses. */
jvmtiEnv *hook_env(JavaVM *vm, struct hook *h);

/*
 * `events` ends with 0. The environment is kept for the next time, because the JVM never frees one
 * completely.
 */
jvmtiError hook_turn_on(JavaVM *vm, struct hook *h, const jvmtiCapabilities *wanted,
			const jvmtiEventCallbacks *callbacks, const jvmtiEvent *events);

/* Gives up the capability: other agents can have it afterwards. */
void hook_turn_off(struct hook *h, const jvmtiCapabilities *wanted, const jvmtiEvent *events);

/* The hash that stands for a class, sent to all sessions first; 0 if the class has no name. */
uint64_t hook_class(jvmtiEnv *env, jclass class);

/* Call it when a session begins: all class names are sent again from then on. */
void hook_forget_classes(void);
