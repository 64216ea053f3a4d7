/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads another process's memory. That process wrote the bytes and may change them at any moment:
 * check them before use and bound every loop. A read waits for a page that is not in memory. After
 * mem_read_apart it waits at most 0.1 s. Then reads of that process fail until the page arrives,
 * and reads of all processes of a user fail once they have taken too long together.
 */
#pragma once

#include "base/types.h"
#include "proc/status.h"

struct mem;

/*
 * From now on another process makes the reads, because some pages never arrive. Call it early: that
 * process inherits the memory and the mappings of this one. A helper (mem_set_helper) still reads
 * in this process.
 */
int mem_read_apart(void);

/*
 * Whether the process that forks reading processes has ended: then none can be replaced. False
 * before mem_read_apart.
 */
bool mem_reader_has_ended(void);

/* Bytes that replace a process's memory in tests and fuzzers. */
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
 * Another way to read, for processes that this process has no right to read. It gets at most
 * MEM_HELPER_REQUESTS, each within one page. -ESRCH if the process has ended.
 */
#define MEM_HELPER_REQUESTS 64
typedef int (*mem_helper_fn)(struct process_id id, struct mem_request *requests, size_t nr,
			     void *ctx);

/*
 * Sets the helper for every later mem_open. NULL removes it; reads of objects that were opened with
 * it then fail.
 */
void mem_set_helper(mem_helper_fn helper, void *ctx);

/*
 * Needs PTRACE_MODE_ATTACH rights (process_vm_readv(2)) or a helper, otherwise -EPERM. `start_ns`
 * (0: any) is the start of the process: a reused PID gives -ESRCH. The caller owns *out.
 */
int mem_open(struct process_id id, struct mem **out);
struct mem *mem_of_segments(const struct mem_segment *segments, size_t nr);
void mem_free(struct mem *m);

/* Reads all `len` bytes or returns -EFAULT; -ESRCH after the end of the process. */
int mem_read(struct mem *m, u64 addr, void *buf, size_t len);

/* Reads all requests, many per system call. Returns how many are ok, or -ESRCH. */
int mem_read_batch(struct mem *m, struct mem_request *requests, size_t nr);

/*
 * Reads as many of `len` bytes as possible from the front. Returns their number, -EFAULT or -ESRCH.
 */
ssize_t mem_read_some(struct mem *m, u64 addr, void *buf, size_t len);

/*
 * Reads a NUL-terminated string of fewer than `size` bytes; -ENAMETOOLONG if they contain no NUL.
 */
int mem_read_string(struct mem *m, u64 addr, char *buf, size_t size);

/* Whether the process has ended. Cheaper than a read. */
bool mem_has_ended(const struct mem *m);

static inline int mem_read_u64(struct mem *m, u64 addr, u64 *out)
{
	return mem_read(m, addr, out, sizeof(*out));
}

struct mem_counts {
	u64 calls, bytes, failures; /* reads or requests that did not get all their bytes */
};

struct mem_counts mem_counts(const struct mem *m);

/* Reads that were given up, because the memory did not arrive in time. */
struct mem_left_out {
	u64 nr;
	struct process_id last; /* the process of the last read that was given up */
	uid_t user;             /* its user */
	pid_t reader;           /* the process that still waits for that memory */
};

const struct mem_left_out *mem_left_out(void);

/* The CPU time of the processes that read, so far; it falls when one ends. */
u64 mem_readers_worked_ns(void);

/* From here on: the processes of mem_reader.c, which read for one thread of the program. */
#define MEM_READER_BYTES  (64u << 10)
#define MEM_READER_PIECES 256 /* the kernel takes at most IOV_MAX = 1024 */

/* A read of several pieces, in memory that the reading process shares. */
struct mem_job {
	struct process_id id;
	uid_t user;
	size_t nr;
	struct mem_piece {
		u64 addr;
		u64 len; /* all together at most MEM_READER_BYTES */
	} pieces[MEM_READER_PIECES];
	char bytes[MEM_READER_BYTES]; /* out: the pieces, one behind the other */
};

/* The job to fill in for the next mem_reader_run. */
struct mem_job *mem_reader_job(void);

/*
 * process_vm_readv: returns the number of bytes read, or a negative errno. -ETIMEDOUT if it took
 * too long, or if reads of this process or user took too long before; the job is then lost. -EINVAL
 * if the job has more pieces or bytes than fit.
 */
ssize_t mem_reader_run(void);

/* Reads that this process had to make itself after mem_read_apart. */
u64 mem_reader_nr_direct(void);
