/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a fleet without NATS. A file has a line for each daemon; # begins a comment:
 *
 *   URL TOKEN_FILE [node=NAME] [ca=FILE] [KEY=VALUE ..]
 *
 * The other pairs are labels of the node. Without node= its name is the host of the URL.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

#define HTTP_NODES_MAX 200

/* Texts are owned. */
struct http_entry {
	char *url; /* "https://host:port", without a slash at its end */
	char *token;
	char *ca;     /* PEM; NULL: the system's certificates */
	char *socket; /* path of the unix socket where it listens; NULL: that of the URL */
	char name[64], labels[184];
};

struct http_entries {
	VEC(struct http_entry) all;
};

/*
 * Reads the file, and the files that it names. Negative errno, and a sentence with the line but
 * without any secret. A token that others than its owner may read is refused (-EPERM).
 */
int http_file_read(const char *path, struct http_entries *out, struct str *why);

/* Erases the tokens. */
void http_entries_wipe(struct http_entries *e);
