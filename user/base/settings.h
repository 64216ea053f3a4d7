/* SPDX-License-Identifier: Apache-2.0 */
/* Files of settings: lines `key = value`, which only their owner may change. */
#pragma once

#include <sys/types.h>

#include "base/str.h"

/* Cuts blanks off both ends, in place. Returns the first other character. */
char *settings_trim(char *text);

/* May change the line. A negative errno ends the reading, with a sentence in `why`. */
typedef int (*settings_line_fn)(void *ctx, char *line, struct str *why);

/*
 * Calls `fn` for each line of `text`, which it cuts into lines. -EINVAL if `fn` fails; its sentence
 * then follows the number of the line in `why`.
 */
int settings_each_line(char *text, settings_line_fn fn, void *ctx, struct str *why);

/*
 * -EPERM, with a sentence in `why`, unless this is a regular file of root or of this process's user
 * that has none of the bits `forbidden` in its mode. `fault` begins the sentence about them.
 */
int settings_check_owner(int fd, mode_t forbidden, const char *fault, struct str *why);
