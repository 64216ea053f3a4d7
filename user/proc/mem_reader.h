/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that make the calls by which other processes' memory is read. Such a call waits for
 * pages that are not in memory, and a process can own pages that never arrive (userfaultfd, FUSE).
 * Not even SIGKILL ends the wait for a FUSE server. The caller therefore waits with a deadline and
 * then abandons the reading process. A reading process that was killed is replaced. If no further
 * process can be forked, the caller itself reads, without a deadline. Part of proc/mem.h, for one
 * thread of the program.
 */
#pragma once

#include "proc/mem.h"

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
