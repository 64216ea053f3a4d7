/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of `sysflame top`. */
#pragma once

#include "top/view.h"

enum screen_key {
	SCREEN_NONE = -1,
	SCREEN_UP = 0x1000,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_BACKSPACE,
	SCREEN_RESIZED,
	SCREEN_GONE, /* the terminal was closed */
};

/*
 * Takes the terminal over. -ENOTTY with a reason in `why` if it cannot show a screen. Until
 * screen_close, messages to standard error on the terminal are kept. A fatal signal restores the
 * terminal.
 */
int screen_open(struct str *why);

/* Restores the terminal and prints the messages that were kept. Does nothing if it is not open. */
void screen_close(void);

void screen_size(size_t *rows, size_t *columns);

/* Shows the lines from the top, and `status` on the last line. */
void screen_draw(const struct view *v, const char *status, enum line_style status_style);

/* The next key: a character, an enum screen_key, or SCREEN_NONE. */
int screen_key(void);

/* Appends the last message to standard error since the previous call, if there was one. */
void screen_message(struct str *out);
