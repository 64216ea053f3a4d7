/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options --debug-dir and --debuginfod: symbols for functions that had none where they were
 * recorded, from folders and servers.
 */
#pragma once

#include "base/opt.h"
#include "profile/profile.h"
#include "sandbox/workers.h"
#include "sym/files/debuginfod.h"

struct late_symbols {
	/* As given. */
	struct opt_list folders;
	const char *urls; /* of --debuginfod; "" if it names none; NULL without the option */
	bool quiet;       /* shows no progress */
	/* Made by late_symbols_start. */
	char *cache; /* elfutils' folder of this user */
	struct debuginfod *debuginfod;
	size_t nr_wanted;
};

#define DEBUGINFOD_OPT(late)                                               \
	{                                                                  \
		0, "debuginfod", OPT_MAYBE, &(late)->urls, "URL",          \
			"fetch symbols from this server (DEBUGINFOD_URLS)" \
	}

/* Whether functions without a name get one by folders or servers. */
static inline bool late_symbols_are_asked(const struct late_symbols *l)
{
	return l->debuginfod || l->folders.nr;
}

/*
 * Starts the process that asks servers, if there are some: those of --debuginfod, or of
 * DEBUGINFOD_URLS. Logs errors. Call it before rights are dropped.
 */
int late_symbols_start(struct late_symbols *l);

/* Asks for a debug file, unless it is in the cache; takes what has arrived. Does not wait. */
void late_symbols_want(struct late_symbols *l, const char *build_id);

/*
 * Names the functions of the profile: by files in the folders, then by files from servers, for
 * which it waits at most max_wait_ns. Logs which files have no symbols, and why, unless max_wait_ns
 * is 0.
 */
void late_symbols_give(struct late_symbols *l, struct profile *p, struct workers *workers,
		       u64 max_wait_ns);
void late_symbols_fini(struct late_symbols *l);
