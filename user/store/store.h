/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's profiles on disk. Files are the truth; the index (SQLite) is made anew from them
 * when it is lost. Nothing here looks into a profile. All times are CLOCK_REALTIME in ns.
 *
 *   DIR/index.db                                            facts, names, pins, the audit list
 *   DIR/profiles/<yyyymmdd_HHMMSS>-<id>-<event>-<target>.sflm   a profile; never changed
 *   DIR/parts/<id>/<n>.sflm, <n>-<m>.sflm                    parts of a recording that runs
 *   DIR/slices/<yyyymmdd_HH>.sfls                           slices of that hour (UTC)
 *   DIR/ids, DIR/lock                                       the last id; held while it is open
 *
 * Functions return 0 or a negative errno: -ENOSPC, -EROFS, .. Listed profiles stay readable then.
 * Only one thread may use a store.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "store/store_slices.h"

struct store;

enum stored_state {
	STORED_COMPLETE,
	STORED_PARTIAL, /* the recorder or the daemon ended before the recording did */
	STORED_FAILED,  /* there is no profile; `error` says why */
};

/* Facts about a profile, for lists. Texts are never NULL. */
struct stored {
	u64 id; /* persistent, ascending, never used again */
	char *name, *events, *target, *unit, *error;
	char *source;  /* "recording", "upload", "diff", "range" */
	char *summary; /* JSON: where the time went; "" if unknown */
	u64 start_ns, duration_ns, samples, lost, total, size_bytes, rate_hz;
	enum stored_state state;
	bool pinned;
	u64 deleted_ns; /* 0, or when it was deleted; it can be restored for STORE_UNDO_NS */
};

#define STORE_UNDO_NS (60 * 1000000000ull)

void stored_fini(struct stored *s);

struct stored_list {
	VEC(struct stored) list;
	u64 nr_all; /* profiles that match, shown or not */
};
void stored_list_fini(struct stored_list *l);

/* slices that take more than 1 / so much of the limit are removed before profiles */
#define STORE_SLICES_PART 2
#define STORE_PINNED_PART 4

struct store_limits {
	u64 max_disk_bytes; /* of profiles, slices and index */
	/* Ages after which slices are thinned or removed; 0: never. */
	u64 keep_10s_ns, keep_1min_ns, keep_10min_ns;
};

/*
 * Opens the store in the directory `dir`, which stays the caller's. Creates missing files.
 * Parts of recordings that were cut off are found by store_orphans. -EINVAL if a newer version of
 * sysflame wrote it, -EBUSY if another process has it open; `why` gets a sentence.
 */
int store_open(int dir, const struct store_limits *limits, struct store **out, struct str *why);
void store_close(struct store *s);

/* Reserves the number of a new profile. It is kept in DIR/ids, too, if the disk allows it. */
u64 store_new_id(struct store *s);

/* Stores one more part of a running recording. */
int store_add_part(struct store *s, u64 id, const void *bytes, size_t nr);

/* A descriptor of the n-th part, oldest first; the caller closes it. -ENOENT after the last. */
int store_open_part(struct store *s, u64 id, u32 n);

/* Replaces the parts [first, first + nr) by one, at once: a kill leaves either. */
int store_join_parts(struct store *s, u64 id, u32 first, u32 nr, const void *bytes, size_t len);
void store_drop_parts(struct store *s, u64 id);

/* Recordings that have parts and are in no list. After store_open, these are the cut-off ones. */
size_t store_orphans(struct store *s, u64 *ids, size_t max);

/*
 * Adds a profile with its file, or without one if it failed (`bytes` NULL). Facts are copied;
 * facts->id was reserved before. The file is complete and synced before the profile is listed.
 */
int store_add(struct store *s, const struct stored *facts, const void *bytes, size_t nr);

/* -ENOENT if it does not exist or is deleted. The caller frees *out. */
int store_get(struct store *s, u64 id, struct stored *out);

/* A descriptor of the profile's file for reading. */
int store_open_file(struct store *s, u64 id);

/* The newest first, from `offset` on. `words`: all of them are in the name, events or target. */
int store_list(struct store *s, const char *words, u64 offset, u64 max, struct stored_list *out);

int store_rename(struct store *s, u64 id, const char *name);

/* -EDQUOT: pinned profiles would take more than 1 / STORE_PINNED_PART of the disk's limit. */
int store_pin(struct store *s, u64 id, bool pinned);
int store_set_summary(struct store *s, u64 id, const char *json, u64 total, const char *unit);

/*
 * Deleted profiles disappear from lists at once and from the disk after STORE_UNDO_NS. On a full
 * disk their files go at once, and they cannot be restored.
 */
int store_delete(struct store *s, u64 id);

/*
 * Deletes all profiles that are not pinned. *undo is for store_restore_all. It is 0 if there was
 * none to delete, or if their files went at once because the disk was full.
 */
int store_delete_all(struct store *s, u64 *nr, u64 *undo);

/* *nr: number of restored profiles. -ENOENT if none of them can be restored any more. */
int store_restore_all(struct store *s, u64 undo, u64 *nr);
int store_restore(struct store *s, u64 id);

/* Deletes, thins and seals files that are due, a few at a time. Call it every second. */
void store_tick(struct store *s, u64 now_ns);

/*
 * Call it before store_tick, with CLOCK_REALTIME and CLOCK_BOOTTIME. After the clock was set by
 * more than an hour, nothing is deleted or thinned by its age for an hour, as it may be set back.
 * The same holds at the start if the newest slice is more than a day old. Returns whether this
 * begins.
 */
bool store_watch_clock(struct store *s, u64 now_ns, u64 boot_ns);

struct store_size {
	u64 profile_bytes, slice_bytes, index_bytes, nr_profiles, oldest_slice_ns;
};
struct store_size store_size(struct store *s);

/* The audit list: actions and who took them, kept for 90 days. `who`: "operator", "viewer",
 * "daemon". Returns the entry's time. */
u64 store_audit(struct store *s, const char *who, const char *what);

/* Keeps the newest `most` of the entries that begin with `prefix`. */
void store_audit_bound(struct store *s, const char *prefix, u64 most);
struct store_audit_entry {
	u64 at_ns;
	char *who, *what;
};
struct store_audit_list {
	VEC(struct store_audit_entry) list;
};
int store_audit_read(struct store *s, u64 max, struct store_audit_list *out);
void store_audit_list_fini(struct store_audit_list *l);

/* Settings of the people who use the daemon: a JSON text by key; NULL if it was never set. */
char *store_setting(struct store *s, const char *key);
int store_set_setting(struct store *s, const char *key, const char *json);
