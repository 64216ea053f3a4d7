/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the flag by which a JVM notes that it has recorded all dependencies of its compiled code on
 * methods. If the flag is false, the first change of a class makes the JVM drop all compiled code.
 * HotSpot of JDK 8 to 22 records dependencies from its start if an agent added capabilities at the
 * start. Otherwise it records them from the first change of a class on, when the old code is gone.
 * The variable is JvmtiExport::_all_dependencies_are_recorded (share/prims/jvmtiExport.hpp); once
 * set it stays set. No table of libjvm names it, only the symbol table of its file.
 */
#pragma once

#include "sandbox/workers.h"

/*
 * Lets a worker look the variable up in the file of the libjvm whose first byte process `pid` has
 * mapped at `libjvm`. With `workers` NULL this process does. Errors are those of
 * mappings_read_within and mapped_file_open.
 */
int code_dependencies_search(struct workers *workers, pid_t pid, u64 libjvm, struct work **out);

/*
 * The variable's address as in the file, which may be any number. -EAGAIN: ask again. -ENOENT: the
 * file has no symbol for it, and no debug file either. Other errors are those of work_result.
 */
int code_dependencies_result(struct work *k, u64 *vaddr);

/* Takes a worker's answer; -EBADMSG. */
int code_dependencies_decode(const void *bytes, size_t len, u64 *vaddr);

/* The worker's part: WORKER_DEPENDENCIES. Its parameter is the path of the file, with a NUL. */
int code_dependencies_task(struct worker_io *io, const int *fds, const void *params, size_t len);
