/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person asks of a fleet, as an entry (fleet/wire/entry.h) on the subject of that person.
 * Nobody waits for it: without the audit stream it is lost.
 */
#pragma once

#include "fleet/controller/controller.h"
#include "fleet/wire/link.h"

#define AUDIT_NAME 64

/* Reads the name of the folder's owner from DIR/person, at most AUDIT_NAME bytes; "" without that
 * file. */
void audit_person(const char *dir, char *person);

/* The sentence for an order; the caller frees it. `user`: of the fleet's page, or NULL. */
char *audit_request_text(const struct controller_order *o, const char *user);

/* Publishes it; does nothing for the person "". `l` NULL: the connection has ended for good. */
void audit_publish(struct link *l, const char *person, const char *text);
