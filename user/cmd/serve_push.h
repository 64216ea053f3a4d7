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

#define PUSH_OPTS(o)                                                                               \
	{ 0,          "push",                                                                      \
	  OPT_LIST,   &(o)->receivers,                                                             \
	  "KIND=URL", "send slices to a receiver: otlp, pyroscope, parca; may be repeated" },      \
		{ 0,          "push-auth",                                                         \
		  OPT_STRING, &(o)->auth,                                                          \
		  "FILE",     "credentials and CA for receivers, by address; root's, mode 0600" }, \
		{ 0,                                                                               \
		  "push-spool",                                                                    \
		  OPT_STRING,                                                                      \
		  &(o)->spool,                                                                     \
		  "BYTES",                                                                         \
		  "keep this much for each receiver that takes nothing at the moment (64m)" },     \
	{                                                                                          \
		0, "push-age", OPT_INT, &(o)->age_min, "MINUTES",                                  \
			"give up what could not be sent for that long (60)"                        \
	}

/* Checks the options and sets `out` but for its credentials. Logs errors; an exit status. */
int push_options_check(const struct push_options *o, struct web_push *out);

/* Reads the credentials of each receiver, as root. Logs errors; negative errno. */
int push_options_read(const struct push_options *o, const struct web_push *push,
		      struct credentials *out);
