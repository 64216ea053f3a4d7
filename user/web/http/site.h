/* SPDX-License-Identifier: Apache-2.0 */
/* How a server is reached: its socket, names, tokens and certificate. */
#pragma once

#include <stdbool.h>

struct site {
	int listen_fd;              /* bound and listening; TCP or a unix socket */
	const char *prefix;         /* of all paths, "" or "/profiles" */
	const char *operator_token; /* the token for logins; 32 bytes or more */
	const char *viewer_token;
	const char *allowed_hosts; /* further values of Host: "a.example:7070,b"; may be NULL */
	const char *tls_cert, *tls_key; /* PEM; NULL: plain HTTP */
	bool is_behind_tls; /* a proxy in front speaks HTTPS: cookies are for it alone */
};
