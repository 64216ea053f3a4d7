/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of a process, and the main class of a JVM. A service is the first of these that is
 * known: OTEL_SERVICE_NAME in its environment, service.name in OTEL_RESOURCE_ATTRIBUTES, the
 * container's name, the JVM's main class or jar, the program's name. Names are clean UTF-8. Threads
 * of the kernel are one service, SERVICE_KERNEL.
 */
#pragma once

#include "capture/node.h"

#define SERVICE_KERNEL "kernel"

struct services;

struct services *services_new(struct node *n);
/* The services of processes, for gauges. */
void services_each_cache(const struct services *all, cache_use_fn visit, void *ctx);
void services_free(struct services *all);

/* Never NULL; valid until the next services_sweep. */
const char *services_of(struct services *all, struct process *p);

/* The same for a profile's labels (struct sink_options); `ctx` is a struct services. */
const char *services_label(struct process *p, void *ctx);

/* The JVM's main class or jar (jvm/process/main_class.h); the program's name if it is unknown. */
const char *services_main(struct services *all, struct process *p);

/* Forgets processes that were not asked for since the last sweep. Call it once a minute. */
void services_sweep(struct services *all);
