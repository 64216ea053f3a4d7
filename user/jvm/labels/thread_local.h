/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ThreadLocals of a JVM whose values are labels of samples (record --label). Finds from outside how
 * to read them; bpf/java_value.bpf.c reads them with each sample.
 *
 * Sources: OpenJDK java.lang.{Thread,ThreadLocal,InheritableThreadLocal}, JDK 11 to 28.
 */
#pragma once

#include "abi.h"
#include "base/str.h"
#include "jvm/hotspot/hotspot.h"

/* NAME=CLASS.FIELD[.field..]: CLASS.FIELD is a static field with a ThreadLocal. */
struct thread_local_spec {
	char name[64];  /* of the label */
	char path[256]; /* from CLASS on */
};

/* -EINVAL with a sentence in `why`, without the option's name, if `text` is wrong. */
int thread_local_parse(const char *text, struct thread_local_spec *out, struct str *why);

/* What is known of a JVM's ThreadLocals. */
struct thread_locals;

/* `specs` must outlive it; at most JAVA_LABELS. */
struct thread_locals *thread_locals_new(const struct thread_local_spec *specs, u32 nr);
void thread_locals_free(struct thread_locals *t);

/*
 * Looks for what is missing, for some ms. Returns 1 if *place has changed and is to be used, 0 if
 * not; place.start_ns is left to the caller. Call it several times a second; it looks once a
 * second.
 */
int thread_locals_update(struct thread_locals *t, struct hotspot *h, struct java_place *place);

/*
 * Why label `i` has no values: "there is no class com.acme.Request (yet)". NULL if it has been
 * found.
 */
const char *thread_locals_why(const struct thread_locals *t, u32 i);
