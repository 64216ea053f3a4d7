/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of the daemon. */
#pragma once

#include "base/str.h"
#include "base/types.h"

struct listening {
	int fd;
	bool is_loopback; /* nobody else can reach it */
	bool is_unix;
	char url[300]; /* "http://127.0.0.1:7070"; 127.0.0.1 or [::1] for all addresses; or
			  "unix:PATH" */
};

/* -EINVAL, and a sentence in `why`, if the text is no address; its host may still be unknown. */
int listen_check(const char *address, struct str *why);

/*
 * Listens on "HOST:PORT" ("[::1]:7070", "localhost:0") or "unix:PATH". Port 0 takes a free one. A
 * unix socket is for this user and its group only. -EINVAL if the text is no address, or the error
 * of the system; `why` gets a sentence.
 */
int listen_on(const char *address, struct listening *out, struct str *why);

/*
 * Appends the address below a prefix, which may be "". After the path of a unix socket `separator`
 * stands before the prefix: "unix:PATH\n/prefix", as in DIR/address.
 */
void listening_address(const struct listening *l, const char *prefix, const char *separator,
		       struct str *out);

/* The address begins with "https". */
void listening_set_https(struct listening *l);
