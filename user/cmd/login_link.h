/* SPDX-License-Identifier: Apache-2.0 */
/* The login address of a daemon. */
#pragma once

/*
 * Prints how to log in to the daemon that runs on `dir`, by a token of the folder `tokens` (NULL:
 * of `dir`; see home_read_tokens). `command` names the caller in errors. Returns an exit status.
 */
int login_link_print(const char *command, const char *dir, const char *tokens);
