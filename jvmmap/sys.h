/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without a libc. The agent must load under glibc and musl of any version and
 * therefore uses neither. Calls return the kernel's value: a negative errno on failure.
 */
#pragma once

#include <asm/unistd.h>
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
static inline long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "the agent knows the system calls of x86-64 and aarch64 only"
#endif

/* The compiler inserts calls of memcpy and memset. */
void *memcpy(void *to, const void *from, size_t len);
void *memset(void *at, int byte, size_t len);

long sys_memfd_create(const char *name);        /* close-on-exec, sealable */
long sys_fix_size(long fd, unsigned long size); /* sets the size and seals it */
void sys_close(long fd);
/* Whether another open file of the same memfd holds a lock on it; 1 if unknown. */
int sys_is_locked(long fd);

/*
 * NULL on failure. fd -1: anonymous memory. `at` not NULL: at this address, replacing any mapping.
 */
void *sys_map(void *at, unsigned long size, long fd, unsigned long off);
void sys_unmap(void *at, unsigned long size);
long sys_dont_fork(void *at, unsigned long size);

uint64_t sys_mono_ns(void);
int sys_getpid(void);
int sys_gettid(void);

/*
 * A lock for short sections. sys_lock gives up after a second and then returns 0. Only threads in
 * native state may wait for it, because others would delay safepoints.
 */
struct sys_lock {
	int word; /* 0 free, 1 held, 2 held with waiters */
};
int sys_lock(struct sys_lock *lock);
void sys_unlock(struct sys_lock *lock);
void sys_sleep_ms(int ms);
