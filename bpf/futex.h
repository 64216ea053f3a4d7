/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Whether a thread waits for a futex, and whether it is a lock, by its system call; x86-64. */
#pragma once

#include "kernel.h"

#define SYS_FUTEX 202 /* arch/x86/entry/syscalls/syscall_64.tbl */

/* include/uapi/linux/futex.h */
#define FUTEX_WAIT        0
#define FUTEX_LOCK_PI     6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2    13
#define FUTEX_CMD_MASK    0x7f

static __always_inline bool futex_is_waited_for(const struct pt_regs *user)
{
	u32 command = user->si & FUTEX_CMD_MASK;

	return user->orig_ax == SYS_FUTEX &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

/*
 * The futex word of a contended lock is 2 in glibc, Rust and Go's runtime, and 2 or 3 in glibc's
 * rwlock. In musl its highest bit is set, in Rust's RwLock one of the two highest
 * (library/std/src/sys/sync/rwlock/futex.rs, READERS_WAITING). Conditions and idle threads wait for
 * other values. Exceptions are recognised by their stack (user/capture/events/event_wait.c).
 */
static __always_inline bool futex_is_lock(const struct pt_regs *user)
{
	u32 command = user->si & FUTEX_CMD_MASK, value = user->dx;

	if (futex_is_waited_for(user))
		return value == 2 || value == 3 || value >> 30;
	return user->orig_ax == SYS_FUTEX &&
	       (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2);
}
