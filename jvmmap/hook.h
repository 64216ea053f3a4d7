/* SPDX-License-Identifier: Apache-2.0 */
/* What one kind of event in Java code is made of; for the files that hold one, and hooks.c. */
#pragma once

#include "jvmmap/session.h"

/*
 * An empty function for a uprobe: first a nop of 5 bytes, which newer kernels make a call instead
 * of a trap, and nothing but registers is used. The arguments are the hook's own affair.
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
	jvmtiEnv *env; /* NULL until it is wanted for the first time */
	int is_on;
};

/* Made if need be; NULL if the JVM gives none. */
jvmtiEnv *hook_env(JavaVM *vm, struct hook *h);

/* `events` ends with 0. The environment stays for the next time: none is ever quite gone. */
jvmtiError hook_turn_on(JavaVM *vm, struct hook *h, const jvmtiCapabilities *wanted,
			const jvmtiEventCallbacks *callbacks, const jvmtiEvent *events);

/* Other agents can have the capability after it. */
void hook_turn_off(struct hook *h, const jvmtiCapabilities *wanted, const jvmtiEvent *events);

/* The number by which a class is meant, told to all sessions before; 0 if it has no name. */
uint64_t hook_class(jvmtiEnv *env, jclass class);

/* On if any session wants it, off if none does. */
jvmtiError allocs_settle(JavaVM *vm, struct session *const sessions[], int nr);
jvmtiError locks_settle(JavaVM *vm, struct session *const sessions[], int nr);
