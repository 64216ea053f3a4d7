/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in JFR recordings that sysflame writes and that it alone reads (docs/formats.md). Other
 * readers skip them.
 */
#pragma once

#include "base/str.h"

/* A weight of an event that neither the JDK nor async-profiler has. */
#define JFR_OWN_SAMPLE "sysflame.Sample"

/* A note of the profile. */
#define JFR_OWN_NOTE "sysflame.Note"

/* Facts about the profile: title, host, target, rate, and the type that is shown first. */
#define JFR_OWN_PROFILE "sysflame.Profile"

/*
 * A field of java.lang.Class: 1 + the kind of frames that have that class in place of a library.
 * 0: the class is one of Java.
 */
#define JFR_KIND_FIELD "kind"

/* Fields of java.lang.Thread: the process of the thread. */
#define JFR_PID_FIELD  "processId"
#define JFR_COMM_FIELD "process"

/* A field of events of samples: the other labels, as export/interchange/label_frame.h has them. */
#define JFR_LABELS_FIELD "labels"

/* Whether waits for objects of that class, "a.b.C" or "a/b/C", are waits for a lock. */
bool jfr_class_is_lock(const char *name);

/* Appends the descriptor of a class: "[Ljava.lang.String;" for "java.lang.String[]". */
void jfr_add_descriptor(struct str *out, const char *name);

/* The reverse: "[[Ljava/lang/String;" and "[B" become "java/lang/String[][]" and "byte[]". */
void jfr_add_class_name(struct str *out, const char *descriptor);
