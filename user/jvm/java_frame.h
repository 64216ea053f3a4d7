/* SPDX-License-Identifier: Apache-2.0 */
/* A Java frame with its name, and the pool that owns such names. */
#pragma once

#include "base/types.h"
#include "profile/frame.h"

/*
 * All texts are clean UTF-8, never NULL, "" where unknown, and belong to a pool. A frame that is
 * no Java method (FRAME_STUB without is_native) has only `method`.
 */
struct java_frame {
	const char *class_name; /* "java.util.HashMap$Node"; hidden classes without their address */
	const char *method;     /* "put", "<init>"; of stubs the blob's name */
	const char *signature;  /* "(Ljava/lang/Object;I)V" */
	const char *file;       /* "HashMap.java" */
	u32 line;               /* 0 if unknown */
	s32 bci;                /* -1 if unknown or at the method's entry */
	enum frame_kind kind;   /* FRAME_INTERPRETED, _C1, _C2, _INLINED, _STUB */
	bool is_native;      /* a native method's wrapper (FRAME_STUB) or its interpreter frame */
	bool is_approximate; /* no debug information at this very pc: the next one's is shown */
	bool is_stale;       /* the code or class changed since the sample was taken */
};

/* Interns strings: equal bytes give the same pointer, so that a name is stored once. */
struct java_names;

struct java_names *java_names_new(void);
void java_names_free(struct java_names *pool);

/* The clean UTF-8 of modified UTF-8 (JVMS 4.4.7); lives as long as the pool. */
const char *java_names_intern(struct java_names *pool, const char *mutf8, size_t len);

/* The same for an internal class name: '/' becomes '.', a hidden class's address is masked. */
const char *java_names_intern_class(struct java_names *pool, const char *mutf8, size_t len);

/*
 * The same for a class as the JVM writes it: "[Ljava/lang/String;" becomes "java.lang.String[]",
 * "[[I" "int[][]"; what is neither a descriptor nor an array is taken for an internal name.
 */
const char *java_names_intern_type(struct java_names *pool, const char *mutf8, size_t len);

/* What the pool holds, for bounding it. */
size_t java_names_bytes(const struct java_names *pool);
