/* SPDX-License-Identifier: Apache-2.0 */
/* The options --push.. of sysflame serve. */
#pragma once

#include "base/opt.h"
#include "web/web.h"

struct push_options {
	struct opt_list receivers; /* --push */
	const char *auth, *spool;
	int age_min;
};

/* Checks the options and sets `out` but for its credentials. Logs errors; an exit status. */
int push_options_check(const struct push_options *o, struct web_push *out);

/* Reads the credentials of each receiver, as root. Logs errors; negative errno. */
int push_options_read(const struct push_options *o, const struct web_push *push,
		      struct credentials *out);
