/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs of a recording, each read from outside as soon as it can be, and kept up to date. */
#pragma once

#include "jvm/hotspot.h"

struct jvms;

struct jvms *jvms_new(void);
void jvms_free(struct jvms *all);

/* Takes a JVM in; reads it at once, or at a later jvms_refresh if it is still starting. */
void jvms_add(struct jvms *all, pid_t pid, u64 start_ns);

/* NULL if it is unknown, not ready or cannot be read; valid until jvms_remove. */
struct hotspot *jvms_find(const struct jvms *all, pid_t pid, u64 start_ns);

/*
 * The full name of a Java thread, of which `comm` is what the kernel said when it was sampled; NULL
 * if it is not known. Clean UTF-8, valid until the next call. See thread_names_ask.
 */
const char *jvms_thread_name(struct jvms *all, pid_t pid, u64 start_ns, pid_t tid,
			     const char *comm);

/*
 * Tries again what is not ready, looks for what changed, and calls `changed` for every JVM whose
 * hotspot_layout is new or another since the last call.
 */
typedef void (*jvm_changed_fn)(pid_t pid, u64 start_ns, const struct hotspot *h, void *ctx);
void jvms_refresh(struct jvms *all, jvm_changed_fn changed, void *ctx);

/* Whether a JVM has unloaded classes in the last second: then their names must be read soon. */
bool jvms_unload_classes(const struct jvms *all);

void jvms_remove(struct jvms *all, pid_t pid, u64 start_ns);
