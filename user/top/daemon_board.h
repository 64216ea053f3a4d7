/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a daemon, by its API (/api/v1/top). */
#pragma once

#include "top/board.h"
#include "top/hot.h"

struct daemon_board;

/*
 * `url` as in DIR/address: "http://127.0.0.1:7070", "unix:PATH" or "unix:PATH\n/prefix". Waits some
 * seconds for the first reading with rates. Negative errno, with a sentence in `why`.
 */
int daemon_board_new(const char *url, const char *token, struct daemon_board **out,
		     struct str *why);
void daemon_board_free(struct daemon_board *d);

/*
 * Asks for the last reading, and waits a few seconds at most. Texts of the rows are valid until the
 * next call. Negative errno, with a sentence in `why`; the rows are gone then.
 */
int daemon_board_read(struct daemon_board *d, const pid_t *pids, size_t nr_pids, struct board *out,
		      struct str *why);

/* The hottest methods of a process in the last reading. */
void daemon_board_methods(const struct daemon_board *d, pid_t pid, struct hot_list *out);

/* Whether the daemon samples continuously, which methods come from. */
bool daemon_board_has_methods(const struct daemon_board *d);
