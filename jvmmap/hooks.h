/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in Java code, reported at once: the JVM calls the agent, and the agent calls an empty
 * function. sysflame has a uprobe on that function, so the kernel samples the current stack. Each
 * kind of event has its own JVMTI environment, made at its first use: capabilities are granted all
 * or none, and only one agent per JVM can sample allocations.
 */
#pragma once

#include <jni.h>
#include <stdint.h>

#include "jvmmap/session.h"

/*
 * Turns each event on if a session wants it, and off if none does. Writes the results to the header
 * of `asking` (may be NULL). Called with the agent's lock held, on any thread.
 */
void hooks_settle(JavaVM *vm, struct session *const sessions[], int nr, struct session *asking);

/* Reports all sampled objects that have been collected. */
void refs_report(JNIEnv *jni);

/*
 * Shared by the sources of all events: an empty function for each hook, a JVMTI environment, and
 * names of classes.
 */

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
