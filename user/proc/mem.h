/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading another process's memory. What is read was written by that process and may change at any
 * moment: check before use, follow nothing without a bound. A page that is not in memory is waited
 * for, however long the one who has to bring it takes.
 */
#pragma once

#include "base/types.h"

struct mem;

/* Bytes that stand for a process's memory in tests and fuzzers. */
struct mem_segment {
	u64 addr;
	const void *bytes;
	size_t len;
};

/* One read of a batch. */
struct mem_request {
	u64 addr;
	void *buf;
	u32 len;
	bool ok; /* out: `buf` holds all `len` bytes */
};

/*
 * Another way to read, for processes that we have no right to read ourselves: at most
 * MEM_HELPER_REQUESTS, each of which lies in one page. -ESRCH if the process has ended.
 */
#define MEM_HELPER_REQUESTS 64
typedef int (*mem_helper_fn)(pid_t pid, u64 start_ns, struct mem_request *requests, size_t nr,
			     void *ctx);

/* For every mem_open to come; NULL: there is none, and what was opened with it fails from then on.
 */
void mem_set_helper(mem_helper_fn helper, void *ctx);

/*
 * Needs PTRACE_MODE_ATTACH rights (process_vm_readv(2)) or a helper, else -EPERM. `start_ns` (0:
 * any) is the process's start, so that a PID that is used again is -ESRCH. The caller owns *out.
 */
int mem_open(pid_t pid, u64 start_ns, struct mem **out);
struct mem *mem_of_segments(const struct mem_segment *segments, size_t nr);
void mem_free(struct mem *m);

/* All `len` bytes, or -EFAULT; -ESRCH once the process has ended. */
int mem_read(struct mem *m, u64 addr, void *buf, size_t len);

/* Reads all requests, many per system call, and returns how many are ok; -ESRCH. */
int mem_read_batch(struct mem *m, struct mem_request *requests, size_t nr);

/* Reads what can be read of `len` bytes from the front: the number of bytes, or -EFAULT, -ESRCH. */
ssize_t mem_read_some(struct mem *m, u64 addr, void *buf, size_t len);

/* A NUL-terminated string of fewer than `size` bytes; -ENAMETOOLONG if there is no NUL in them. */
int mem_read_string(struct mem *m, u64 addr, char *buf, size_t size);

/* Whether the process has ended; cheaper than a read. */
bool mem_has_ended(const struct mem *m);

static inline int mem_read_u64(struct mem *m, u64 addr, u64 *out)
{
	return mem_read(m, addr, out, sizeof(*out));
}

struct mem_counts {
	u64 calls, bytes,
		failures; /* a failure is a read or request that did not get all its bytes */
};

struct mem_counts mem_counts(const struct mem *m);
