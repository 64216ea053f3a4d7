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

#define THREAD_LOCAL_PATH 512

/* What becomes of a value. */
enum local_role {
	VALUE_IS_LABEL, /* a label */
	VALUE_IS_TRACE, /* hexadecimal digits of a trace's id */
	VALUE_IS_SPAN,
};

/*
 * NAME=CLASS.FIELD[.field|[KEY]..]: CLASS.FIELD is a static field. It has a ThreadLocal or a
 * ScopedValue, or an object some field of which leads to one. The rest leads from its value to a
 * text or number; [KEY] is the value of a key in a map.
 */
struct thread_local_spec {
	char name[64];                /* of the label */
	char path[THREAD_LOCAL_PATH]; /* from CLASS on */
	enum local_role role;
	bool is_preset; /* `path` has several paths (label_path.c) */
};

#define THREAD_LOCAL_SPECS 3 /* that a preset stands for, at most */

/*
 * Parses "NAME=..", "mdc:KEY", "NAME=mdc:KEY" or "otel" into the specs that it stands for. -EINVAL
 * with a sentence in `why`, without the option's name, if `text` is wrong.
 */
int thread_local_parse(const char *text, struct thread_local_spec out[THREAD_LOCAL_SPECS], u32 *nr,
		       struct str *why);

/*
 * Parses one more option into a list of JAVA_LABELS specs, of which there are *nr; those of traces
 * and spans only `with_traces`. -EINVAL with a sentence in `why`, also if there is no room.
 */
int thread_locals_add(const char *text, bool with_traces, struct thread_local_spec *list, u32 *nr,
		      struct str *why);

/* What is known of a JVM's ThreadLocals. */
struct thread_locals;

/* `specs` must outlive it; at most JAVA_LABELS. */
struct thread_locals *thread_locals_new(const struct thread_local_spec *specs, u32 nr);
void thread_locals_free(struct thread_locals *t);

/*
 * Looks for what is missing, for some ms. Returns the place if it has changed, NULL if not;
 * start_ns is left to the caller. Call it several times a second; it looks after one second, later
 * after longer pauses, and after each call of thread_locals_learn.
 */
struct java_place *thread_locals_update(struct thread_locals *t, struct hotspot *h);

/* The place that was returned last. */
struct java_place *thread_locals_place(struct thread_locals *t);

/* BPF has met a class without a shape (JAVA_OTHER_CLASS): the next update looks at it. */
void thread_locals_learn(struct thread_locals *t, u32 i, const struct java_value *value);

/*
 * Why label `i` has no values: "there is no class com.acme.Request (yet)". NULL if it has been
 * found.
 */
const char *thread_locals_why(const struct thread_locals *t, u32 i);
