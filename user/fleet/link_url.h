/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of NATS as people see them. */
#pragma once

/*
 * A copy of a list "nats://HOST:PORT,.." without the users, passwords and tokens that addresses may
 * have before an @. The caller frees it.
 */
char *link_url_shown(const char *urls);
