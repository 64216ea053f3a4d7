/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that may get the probes of an event, and the places of the probes in them. Workers
 * search each file once. Part of capture/probes/probes.h.
 */
#pragma once

#include "capture/probes/probes.h"

struct probe_files;

enum probe_state {
	PROBES_NONE,    /* the file gets no probes, or cannot be opened by way of this process */
	PROBES_WAITING, /* it is being searched */
	PROBES_KNOWN,
};

struct probe_files *probe_files_new(struct workers *workers, const struct probe_placing *placing,
				    void *ctx);
void probe_files_free(struct probe_files *all);

/*
 * Forgets files without probes that nobody asked for since the last call but one; another process
 * may map them later, and they are searched again. Call it now and then.
 */
void probe_files_turn(struct probe_files *all);

/* Gives up the searches. */
void probe_files_stop(struct probe_files *all);

u64 probe_files_key(const struct mapping *m);

/*
 * Begins to search a file of a process if nothing is known of it. `pid` is that of struct
 * probe_file. False if too many files are being searched: call it again after
 * probe_files_take_news.
 */
bool probe_files_begin(struct probe_files *all, const struct process *process,
		       const struct mapping *m, pid_t pid);

/*
 * Places the probes of a file that is known or being searched. Does not wait longer for the search
 * than work_result does. PROBES_WAITING: call it again after probe_files_take_news.
 */
enum probe_state probe_files_place(struct probe_files *all, const struct process *process,
				   const struct mapping *m, pid_t pid, probe_links *out);

/* Whether a search has ended since the last call. */
bool probe_files_take_news(struct probe_files *all);
u32 probe_files_nr_searching(const struct probe_files *all);

/* How many files have probes. */
u32 probe_files_nr(const struct probe_files *all);

/* The number of a file with probes; false if it has none. */
bool probe_files_number(const struct probe_files *all, u64 key, u32 *number);
