/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches debug files by build id from debuginfod servers (elfutils; GET URL/buildid/ID/debuginfo).
 * The process of net/http_client.h talks to them: it writes to files that it is handed and parses
 * nothing. Files that prove to be of that build come into elfutils' cache, where debuggers find
 * them, too. Only debuginfod_wait waits.
 */
#pragma once

#include "base/types.h"
#include "profile/unnamed.h"

#define DEBUGINFOD_URLS    "DEBUGINFOD_URLS"                 /* as elfutils: separated by blanks */
#define DEBUGINFOD_DEFAULT "https://debuginfod.elfutils.org" /* asks those of distributions */

#define DEBUGINFOD_FILES_MAX 256
#define DEBUGINFOD_BYTES_MAX (1ull << 30) /* of a file; DEBUGINFOD_MAXSIZE may say less */
#define DEBUGINFOD_QUIET_S   10 /* a server that sends almost nothing for so long is given up */
#define DEBUGINFOD_FILE_S    90 /* for one file; DEBUGINFOD_MAXTIME may say less */

struct debuginfod;

/*
 * Starts the process that asks servers. Call it while this process still has the right to fork.
 * `cache` is the folder of the cache. -EINVAL: a word of `urls` is no address. -ENOTSUP: this build
 * is static.
 */
int debuginfod_start(const char *urls, const char *cache, struct debuginfod **out);
void debuginfod_free(struct debuginfod *d);

/* Asks for the debug file of a build, once. */
void debuginfod_want(struct debuginfod *d, const char *build_id);

/* Takes what has arrived and sends further orders. Returns the number of files under way. */
u32 debuginfod_step(struct debuginfod *d);

/* Waits until no file is under way, at most `max_ns`. Calls `tick` 5 times a second. */
void debuginfod_wait(struct debuginfod *d, u64 max_ns, void (*tick)(u32 nr_open, void *ctx),
		     void *ctx);

/*
 * Opens a file that has arrived for reading. -EAGAIN while it is under way, otherwise -ENOENT, and
 * *why has the reason, NULL if no server has the file.
 */
int debuginfod_file(const struct debuginfod *d, const char *build_id, const char **why);

/* The file was judged: a good one comes into the cache, another one is removed. */
void debuginfod_judge(struct debuginfod *d, const char *build_id, bool is_good);

#define DEBUGINFOD_SERVERS_MAX 8
