/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel without a libc. */
#include "jvmmap/sys.h"

#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <linux/time.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

void *memcpy(void *to, const void *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *at, int byte, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((char *)at)[i] = (char)byte;
	return at;
}

long sys_memfd_create(const char *name)
{
	/*
	 * Linux 6.3 warns about memfds without an exec flag; older kernels do not have this flag.
	 */
	long flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = sys_call(__NR_memfd_create, (long)name, flags | MFD_NOEXEC_SEAL, 0, 0, 0, 0);

	return fd >= 0 ? fd : sys_call(__NR_memfd_create, (long)name, flags, 0, 0, 0, 0);
}

long sys_fix_size(long fd, unsigned long size)
{
	long err = sys_call(__NR_ftruncate, fd, (long)size, 0, 0, 0, 0);

	if (err)
		return err;
	return sys_call(__NR_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, 0,
			0, 0);
}

int sys_is_locked(long fd)
{
	struct flock lock = { .l_type = F_WRLCK };
	long err = sys_call(__NR_fcntl, fd, F_OFD_GETLK, (long)&lock, 0, 0, 0);

	return err || lock.l_type != F_UNLCK;
}

void sys_close(long fd)
{
	sys_call(__NR_close, fd, 0, 0, 0, 0, 0);
}

void *sys_map(void *at, unsigned long size, long fd, unsigned long off)
{
	long flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (at ? MAP_FIXED : 0);
	long ret = sys_call(__NR_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE, flags, fd,
			    (long)off);

	return ret < 0 && ret > -4096 ? NULL : (void *)ret;
}

void sys_unmap(void *at, unsigned long size)
{
	sys_call(__NR_munmap, (long)at, (long)size, 0, 0, 0, 0);
}

long sys_dont_fork(void *at, unsigned long size)
{
	return sys_call(__NR_madvise, (long)at, (long)size, MADV_DONTFORK, 0, 0, 0);
}

uint64_t sys_mono_ns(void)
{
	struct __kernel_timespec ts = { 0, 0 };

	sys_call(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&ts, 0, 0, 0, 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int sys_getpid(void)
{
	return (int)sys_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

int sys_gettid(void)
{
	return (int)sys_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

void sys_sleep_ms(int ms)
{
	/* A JVM needs this call itself, and a seccomp filter may forbid nanosleep. */
	struct __kernel_timespec wait = { ms / 1000, ms % 1000 * 1000000LL };
	int word = 0;

	sys_call(__NR_futex, (long)&word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, (long)&wait, 0, 0);
}

int sys_lock(struct sys_lock *lock)
{
	int expected = 0;

	if (__atomic_compare_exchange_n(&lock->word, &expected, 1, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return 1;
	for (int tries = 0; tries < 100; tries++) {
		struct __kernel_timespec wait = { 0, 10000000 };
		if (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) == 0)
			return 1;
		sys_call(__NR_futex, (long)&lock->word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2,
			 (long)&wait, 0, 0);
	}
	return 0;
}

void sys_unlock(struct sys_lock *lock)
{
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(__NR_futex, (long)&lock->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0,
			 0);
}
