/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs of a recording. Each is read from outside as early as possible and kept up to date. */
#pragma once

#include "base/dict.h"
#include "jvm/hotspot/legibility.h"
#include "proc/status.h"

struct jvm_registry;

struct jvm_registry *jvm_registry_new(void);
/* Reports the names of all JVMs. */
void jvm_registry_each_cache(const struct jvm_registry *all, cache_use_fn visit, void *ctx);
void jvm_registry_free(struct jvm_registry *all);

/* Adds a JVM. Reads it at once, or at a later jvm_registry_refresh if it is still starting. */
void jvm_registry_add(struct jvm_registry *all, struct process_id id);

/* NULL if it is unknown, not ready or unreadable; valid until jvm_registry_remove. */
struct hotspot *jvm_registry_find(const struct jvm_registry *all, struct process_id id);

/* Its virtual threads, valid until jvm_registry_remove; NULL if it is unknown. */
struct virtual_threads *jvm_registry_virtual(const struct jvm_registry *all, struct process_id id);

/*
 * The command that the JVM keeps in its memory (hotspot_java_command). NULL if it could not be read
 * yet, or not at all. Once read it never changes. Valid until jvm_registry_remove.
 */
const char *jvm_registry_command(const struct jvm_registry *all, struct process_id id);

/* Whether its tables can be read, see legibility_of; LEGIBLE for an unknown JVM. */
enum legibility jvm_registry_legibility(const struct jvm_registry *all, struct process_id id,
					struct str *why);

/*
 * The full name of a Java thread; NULL if unknown. `comm` is the thread's name in the sample. Clean
 * UTF-8, valid until the next call. See thread_names_ask.
 */
const char *jvm_registry_thread_name(struct jvm_registry *all, struct process_id id, pid_t tid,
				     const char *comm);

/*
 * Retries JVMs that were not ready and looks for changes. Calls `changed` for every JVM whose
 * hotspot_layout is new or has changed since the last call.
 */
typedef void (*jvm_changed_fn)(struct process_id id, const struct hotspot *h, void *ctx);
void jvm_registry_refresh(struct jvm_registry *all, jvm_changed_fn changed, void *ctx);

/* Whether a JVM has unloaded classes in the last second. Names must then be read soon. */
bool jvm_registry_unload_classes(const struct jvm_registry *all);

void jvm_registry_remove(struct jvm_registry *all, struct process_id id);
