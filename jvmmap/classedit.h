/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a class file (JVMS 4) and writes a changed one. Shared only by the files that do so. */
#pragma once

#include "jvmmap/classfile.h"

struct input {
	const uint8_t *at, *end;
	int is_bad; /* the input ended too early or has invalid content */
};

struct output {
	uint8_t *at; /* NULL: only count */
	size_t len, room;
};

/* Constants that a changed class has in addition, by their distance from the file's own. */
enum new_constant {
	NEW_ENTERED = 0, /* the methods that are called */
	NEW_LEFT = 6,
	NEW_NANO_TIME = 10,
	NEW_THROWABLE = 16,
	NEW_FRAMES = 18,  /* "StackMapTable" */
	NEW_NUMBERS = 19, /* for each wanted method its number and its minimum, in three entries */
};

struct editor {
	struct input in;
	struct output out;
	const uint8_t *file;
	uint32_t version;
	uint32_t *places; /* offsets of the constants in the file */
	uint32_t nr_constants;
	uint32_t this_class;
	uint32_t next_type; /* constant of the class of the next parameter, see classfile.c */
	uint16_t *at;       /* places of instructions in the changed code, see codehook.c */
	uint32_t *types;    /* of the variables, see frames_move */
	struct class_hook *hook;
};

#define CODE_MAX             65535 /* bytes of code; also the most variables */
#define CLASS_VERSION_FRAMES 50    /* the first with a StackMapTable */

/* Tags of constants. */
enum constant {
	CONSTANT_UTF8 = 1,
	CONSTANT_INTEGER = 3,
	CONSTANT_LONG = 5,
	CONSTANT_DOUBLE = 6,
	CONSTANT_CLASS = 7,
	CONSTANT_METHOD = 10,
	CONSTANT_NAME_AND_TYPE = 12,
};

uint32_t take_u8(struct input *in);
uint32_t take_u16(struct input *in);
uint32_t take_u32(struct input *in);
struct input take_part(struct input *in, size_t len);

/* Nothing is written beyond the room. The length still counts, and the caller drops the result. */
void put(struct output *out, const void *bytes, size_t len);
void put_u8(struct output *out, uint32_t value);
void put_u16(struct output *out, uint32_t value);
void put_u32(struct output *out, uint32_t value);

/* Write a value that was left blank at `place`. */
void fill_u16(struct output *out, size_t place, uint32_t value);
void fill_u32(struct output *out, size_t place, uint32_t value);

void copy(struct editor *e, size_t len);
uint32_t copy_u16(struct editor *e);

/* The text of a constant. Of another kind of constant: empty, with is_bad set. */
struct input text_of(const struct editor *e, uint32_t constant);

/* Whether the constant is this text. */
int is_text(const struct editor *e, uint32_t constant, const char *text, size_t len);
#define IS_TEXT(e, constant, text) is_text(e, constant, text, sizeof(text) - 1)

/*
 * Takes the next parameter from the rest of a method's type, behind its "(". Returns the first
 * letter: 'I', 'J', .., 'L' or '['; 0 after the last one. *name gets the name of the class of an
 * object or array.
 */
uint32_t take_parameter(struct input *type, struct input *name);

/* codehook.c: the code of a method, with calls of hooks added. */

/* The method, and where its instructions are after calls of hooks were added. */
struct code {
	struct editor *e;
	int method;          /* index of the wanted method */
	uint32_t wants;      /* of enum class_event */
	int has_this;        /* it is not static */
	int is_init;         /* a constructor */
	uint32_t type;       /* constant: the method's type */
	uint32_t first_type; /* constant of the class of its first parameter that has one */
	const uint8_t *bytes;
	uint32_t len;
	/* number of variables in the file; the variable with the begin's time gets this number */
	uint32_t nr_variables;
	uint32_t begin;   /* place in the changed code of its first own instruction */
	uint32_t end;     /* place behind its last own instruction */
	uint32_t handler; /* place of the handler of all exceptions; 0: none */
};

/*
 * Copies the content of a Code attribute, up to the end of e->in, with the calls. e->in is bad
 * afterwards if the code is invalid or would become too large.
 */
void code_hook(struct code *c);
