/* SPDX-License-Identifier: Apache-2.0 */
/* A thread as the BPF programs report it. */
#pragma once

#include "abi.h"
#include "proc/status.h"

static inline struct process_id task_process(const struct task_id *task)
{
	return (struct process_id){ (pid_t)task->pid, task->start_ns };
}
