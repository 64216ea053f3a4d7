/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that a process publishes of itself: service, instance, environment and version, as
 * in OpenTelemetry's OTEP 4719. A mapping of a certain name has a header, which leads to attributes
 * as protocol buffers. The process may publish at any time, and again.
 */
#pragma once

#include "proc/process.h"

/*
 * Updates p->context from the process's memory. Looks for a context some time after the process
 * began its program, then less and less often, and at a known context once a second. Call it for
 * running processes only.
 */
void process_context_update(struct process *p);

/*
 * Sets the texts of *out, which may have some, from a payload. -EINVAL if it is damaged; *out has
 * no texts then.
 */
int process_context_parse(const void *payload, size_t len, struct process_context *out);
