/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the login address of a daemon. */
#include "cmd/login_link.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "daemon/home.h"

/* A browser does not open a unix socket: whoever forwards it needs the parts. */
static void print_socket(const char *address, const char *token)
{
	size_t len = strcspn(address, "\n");

	printf("%.*s\n", (int)len, address);
	if (address[len])
		printf("prefix: %s\n", address + len + 1);
	printf("token: %s\n", token);
}

int login_link_print(const char *command, const char *dir)
{
	auto_str struct str address = { 0 }, why = { 0 };
	char token[TOKEN_LEN + 1];

	if (home_read_link(dir, &address, token, &why)) {
		log_error("%s: %s", command, why.at);
		return EXIT_FAILED;
	}
	if (strncmp(address.at, "http", 4))
		print_socket(address.at, token);
	else
		printf("%s/login?token=%s\n", address.at, token);
	return 0;
}
