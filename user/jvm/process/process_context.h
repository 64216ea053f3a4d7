/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that a process publishes of itself: service, instance, environment and version, as
 * in OpenTelemetry's OTEP 4719. A mapping of a certain name has a header, which leads to attributes
 * as protocol buffers. The process may publish at any time, and again. Some attributes describe the
 * contexts of its threads (thread_variable_find).
 */
#pragma once

#include "proc/context.h"
#include "proc/process.h"

/*
 * Updates p->context from the process's memory. Looks for a context some time after the process
 * began its program, then less and less often, and at a known context once a second. Call it for
 * running processes only.
 */
void process_context_update(struct process *p);

/*
 * Sets the texts and keys of *out, which may have some, from a payload. -EINVAL if it is damaged;
 * *out has none then. Free them with process_context_fini.
 */
int process_context_parse(const void *payload, size_t len, struct process_context *out);

/*
 * thread_variable.c: searches the thread-local variable that leads to the context of a thread, as
 * in OpenTelemetry's OTEP 4947: `otel_thread_ctx_v1`, a dynamic symbol of the program or of a
 * library. -ENOENT: no mapped file defines it; -EAGAIN: search again a moment later; or another
 * error. Takes some 10 us a file.
 */
int thread_variable_find(struct process *p, struct thread_variable *out);
