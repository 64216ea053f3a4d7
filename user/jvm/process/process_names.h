/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a process: its service, the main class of a JVM, and the JVM's name for people. A
 * service is the first of these that is known: service.name in the context that it publishes
 * (process_context.h), OTEL_SERVICE_NAME in its environment, service.name
 * in OTEL_RESOURCE_ATTRIBUTES, the container's name, the JVM's main class or jar, the program's
 * name. Threads of the kernel are one service, SERVICE_KERNEL. Names are clean UTF-8.
 */
#pragma once

#include "proc/process.h"

#define SERVICE_KERNEL "kernel"

/* Whether the process is a JVM, or runs the program "java", which will soon load one. */
bool process_is_java(const struct process *p);

/*
 * Updates p->names. The process's memory is read again when it becomes a JVM, when the JVM can be
 * read, when it executes another program, and some time after a failed read. `command` is the one
 * of main_class, `c` the process's container; both may be NULL. `is_over`: the program has ended,
 * so only `command` can be new. `service` and `main` of the result are not NULL. Valid until the
 * next call for that process.
 */
const struct process_names *process_names_update(struct process *p, const char *command,
						 const struct container *c, bool is_over);

/*
 * "tomcat - Bootstrap": the service and the main class or jar, without its package or folder. The
 * service is the first of these that is known: that of the published context, OTEL_SERVICE_NAME,
 * service.name in OTEL_RESOURCE_ATTRIBUTES, the container's name (NULL or "" if unknown), the
 * product that the main class belongs to. Without a service the name is the main class or jar
 * alone. A vague class keeps the last part of its package: "shop.Main". NULL if nothing is known.
 * Caller frees. `main` is main_class(), `service` that of the context or the environment; each may
 * be NULL.
 */
char *jvm_name(const char *main, const char *service, const char *container);
