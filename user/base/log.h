/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one message to standard error, after the program's name. Folders capture, recorder, web,
 * fleet and cmd use it. Every other folder returns its errors and may only call log_debug. The text
 * says what failed, where, and what the user can do.
 */
#pragma once

#include "base/str.h"

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
};

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Removes control characters from the message, because names come from other processes. */
void log_print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * From now on the texts of errors and warnings are also appended to `to`, each in a sentence of its
 * own, until this is called with NULL. For a process that reports them to another one.
 */
void log_keep(struct str *to);

/* From now on calls `fn` before each line that is printed; NULL: nothing. */
void log_before_lines(void (*fn)(void));

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_print(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)
