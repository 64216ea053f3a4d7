/* SPDX-License-Identifier: Apache-2.0 */
/* A Java frame with its name, and the pool that owns such names. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "profile/frames/frame.h"

/*
 * All texts are clean UTF-8 and belong to a pool. They are never NULL, but "" if unknown. A frame
 * that is not a Java method (FRAME_STUB without is_native) has only `method`.
 */
struct java_frame {
	const char *class_name; /* "java.util.HashMap$Node"; hidden classes without their address */
	const char *method;     /* "put", "<init>"; for stubs the routine's name */
	const char *signature;  /* "(Ljava/lang/Object;I)V" */
	const char *file;       /* "HashMap.java" */
	u32 line;               /* 0 if unknown */
	s32 bci;                /* -1 if unknown or at the method's entry */
	enum frame_kind kind;   /* FRAME_INTERPRETED, _C1, _C2, _INLINED, _STUB */
	bool is_native;         /* a native method's wrapper (FRAME_STUB) or interpreter frame */
	/* no debug information for this pc: that of the next safepoint is used */
	bool is_approximate;
	bool is_blob;  /* a stub in a blob of many routines; the name is the blob's */
	bool is_stale; /* the code or class changed since the sample was taken */
};

/* A pc of compiled code or of a stub, as a sample found it on a stack. */
struct code_pc {
	u64 pc;
	/* classes that the JVM had unloaded when the sample was taken, plus 1; 0 if unknown */
	u64 unloads;
	u32 compile_id; /* of the nmethod at the sample's time, low 28 bits; 0 if unknown */
	bool is_leaf;   /* `pc` is no return address */
};

/* Interns strings: equal bytes have the same pointer and are stored once. */
struct java_names;

struct java_names *java_names_new(void);
void java_names_free(struct java_names *pool);

/* Appends modified UTF-8 as UTF-8. Use utf8_clean to make it safe to show. */
void java_name_decode(struct str *out, const char *mutf8, size_t len);

/* Interns modified UTF-8 (JVMS 4.4.7) as clean UTF-8; lives as long as the pool. */
const char *java_names_intern(struct java_names *pool, const char *mutf8, size_t len);

/*
 * As java_names_intern, for an internal class name: '/' becomes '.', the address of a hidden class
 * is masked.
 */
const char *java_names_intern_class(struct java_names *pool, const char *mutf8, size_t len);

/*
 * As java_names_intern, for a class as the JVM writes it: "[Ljava/lang/String;" becomes
 * "java.lang.String[]", "[[I" "int[][]". Text that is neither a descriptor nor an array is an
 * internal name.
 */
const char *java_names_intern_type(struct java_names *pool, const char *mutf8, size_t len);

/*
 * Frees texts of the pool. java_names_keep marks one that is in use; java_names_sweep frees those
 * that were not marked since the last sweep.
 */
void java_names_keep(const char *text);
void java_names_sweep(struct java_names *pool);

/* The size of the pool, for limiting it. */
size_t java_names_bytes(const struct java_names *pool);
