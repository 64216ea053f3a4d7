/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame top` on a terminal. */
#pragma once

#include "top/watch.h"

struct live_options {
	enum board_key key;
	const char *filter; /* "" for all */
	bool has_pids;      /* as in struct view_choice */
	u64 interval_ns;
	int signal_fd; /* readable when the program is to end */
};

/* Shows readings until the user quits, or the program is to end. Returns the exit status. */
int top_live(struct watch *w, const struct live_options *options);
