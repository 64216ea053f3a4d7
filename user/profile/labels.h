/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: the properties of a sample besides its stack. To add a label, add its line. */
#pragma once

#include "base/types.h"

/*
 * X(field, ENUMERATOR, key in pprof and as a dimension of the page's format, key in OTLP). Process
 * and thread have two more dimensions, `process` and `thread`, with their numbers. Time is the
 * number of a slot of profile.slot_ns since the start. Tags are labels of other tools that have no
 * field here (export/interchange/tags.h). Instance, environment and version are what a process
 * publishes of itself (jvm/process/process_context.h). Trace and span are the hexadecimal numbers
 * of the request. A JVM has a name for people (jvm/process/process_names.h). The label `stack` of a
 * stack that lacks frames has the keys of the notes that count it, separated by blanks
 * (profile/selection.h). The label `owner` has the name of the thread that holds the lock that the
 * sample's thread waits for. `executor` has that of the executor or scope that started a virtual
 * thread.
 */
#define LABELS(X)                                                                 \
	X(comm, COMM, "comm", "process.executable.name")                          \
	X(thread, THREAD, "thread", "thread.name")                                \
	X(state, STATE, "state", "thread.state")                                  \
	X(leaf, LEAF, "leaf", "sysflame.leaf")                                    \
	X(stack, STACK, "stack", "sysflame.stack")                                \
	X(owner, OWNER, "owner", "sysflame.lock_owner")                           \
	X(executor, EXECUTOR, "executor", "sysflame.executor")                    \
	X(container_id, CONTAINER_ID, "container_id", "container.id")             \
	X(container, CONTAINER, "container", "container.name")                    \
	X(namespace, NAMESPACE, "namespace", "k8s.namespace.name")                \
	X(pod, POD, "pod", "k8s.pod.name")                                        \
	X(pod_uid, POD_UID, "pod_uid", "k8s.pod.uid")                             \
	X(service, SERVICE, "service", "sysflame.service")                        \
	X(instance, INSTANCE, "instance", "service.instance.id")                  \
	X(environment, ENVIRONMENT, "environment", "deployment.environment.name") \
	X(version, VERSION, "version", "service.version")                         \
	X(jvm, JVM, "jvm", "sysflame.jvm")                                        \
	X(trace, TRACE, "trace_id", "sysflame.trace_id")                          \
	X(span, SPAN, "span_id", "sysflame.span_id")                              \
	X(tags, TAGS, "tags", "sysflame.tags")                                    \
	X(time, TIME, "time", "sysflame.time_slot")

enum label {
#define X(field, name, key, otlp) LABEL_##name,
	LABELS(X)
#undef X
	NR_LABELS
};

/* Whether all threads of a process share the label's value. */
static inline bool label_is_of_process(enum label label)
{
	return label != LABEL_THREAD && label != LABEL_STATE && label != LABEL_LEAF &&
	       label != LABEL_STACK && label != LABEL_OWNER && label != LABEL_EXECUTOR &&
	       label != LABEL_TRACE && label != LABEL_SPAN && label != LABEL_TAGS &&
	       label != LABEL_TIME;
}

#define LABEL_FIRST_EXTRA \
	LABEL_STATE /* labels from here on describe more than process and thread */

/*
 * A label set; equal sets are interned. Numbers are of the host's PID namespace. `program`
 * distinguishes programs that had the same PID while they are recorded; it is 0 afterwards. Texts
 * may be NULL. Those of a profile are clean (base/str.h): a thread's name may have any bytes, and
 * the kernel cuts it inside a character.
 */
struct labels {
	u32 pid, tid;
	u64 program;
	union {
		struct {
#define X(field, name, key, otlp) const char *field;
			LABELS(X)
#undef X
		};
		const char *text[NR_LABELS];
	};
};

struct label_name {
	const char *key, *otlp;
};

static const struct label_name label_names[NR_LABELS] __attribute__((unused)) = {
#define X(field, name, key, otlp) { key, otlp },
	LABELS(X)
#undef X
};
