/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the login address of a daemon. */
#include "cmd/login_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "daemon/supervisor/home.h"
#include "web/http/auth.h"

/* A browser does not open a unix socket: whoever forwards it needs the parts. */
static void print_socket(const char *address, const char *token)
{
	size_t len = strcspn(address, "\n");

	printf("%.*s\n", (int)len, address);
	if (address[len])
		printf("prefix: %s\n", address + len + 1);
	printf("token: %s\n", token);
}

/* Histories and logs keep addresses: this one is good for one login, and servers get no fragment.
 */
static int print_code(const char *address, const char *token)
{
	auto_free char *code = auth_code(token, time_wall_ns() / NS_PER_SEC);

	if (code)
		printf("%s/login#code=%s\n", address, code);
	return code ? 0 : -EIO;
}

int login_link_print(const char *command, const char *dir, const char *tokens)
{
	auto_str struct str address = { 0 }, why = { 0 };
	struct home h = { 0 };
	const char *token = h.operator_token;

	if (home_read_link(dir, &address, h.operator_token, &why) ||
	    (tokens && home_read_tokens(tokens, &h, &why))) {
		log_error("%s: %s", command, why.at);
		return EXIT_FAILED;
	}
	if (strncmp(address.at, "http", 4))
		print_socket(address.at, token);
	else if (print_code(address.at, token)) {
		log_error("%s: there is no randomness for a login", command);
		return EXIT_FAILED;
	}
	return 0;
}
