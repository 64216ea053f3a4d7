/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries that nodes and people publish for JetStream to keep, and of which a node's audit list
 * consists (docs/fleet-protocol.md):
 *
 *   MILLISECONDS \t WHO \t WHAT
 *
 * WHO is a person; of a trigger that fired its name.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

#define ENTRY_WHO_MAX  63
#define ENTRY_WHAT_MAX 900
#define ENTRY_MAX      1024 /* bytes of a line; a stream takes no longer message */

struct entry {
	u64 at_ms;        /* milliseconds since 1970, by the clock of the sender */
	char node[64];    /* "": not set yet */
	char *who, *what; /* owned */
	bool is_future;   /* set by entries_sort: the time lies in the future */
};

struct entries {
	VEC(struct entry) list;
};

/* Appends a line without its end. Texts are cut and cleaned. */
void entry_add(struct str *out, u64 at_ms, const char *who, const char *what);

/* Reads a line that anybody may have made; the texts are clean then. -EINVAL if it is malformed. */
int entry_parse(const void *bytes, size_t len, struct entry *out);

/*
 * The same for a message of a stream. Its subject says who has published it: the server has checked
 * that. -EINVAL if it is none of ours.
 */
int entry_parse_stored(const char *subject, const void *bytes, size_t len, struct entry *out);
void entry_fini(struct entry *e);

/*
 * Sorts the entries, the latest first, and drops duplicates. Entries with a time after `now_ms`
 * come last: otherwise a false time would keep them at the top.
 */
void entries_sort(struct entries *all, u64 now_ms);
void entries_fini(struct entries *all);

/* The time of an entry as "2026-11-25 16:30:00". */
#define ENTRY_TIME_TEXT 32
void entry_time(u64 at_ms, char *text);
