/* SPDX-License-Identifier: Apache-2.0 */
/* The login address of a daemon. */
#pragma once

/*
 * Prints how to log in to the daemon that runs on `dir`. `command` names the caller in errors.
 * Returns an exit status.
 */
int login_link_print(const char *command, const char *dir);
