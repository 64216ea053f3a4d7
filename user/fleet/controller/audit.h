/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit stream's record of what people ask of a fleet: an entry (fleet/wire/entry.h) for each
 * request, on the subject of that person. The server may have no audit stream; the entry is lost
 * then, and the request goes on.
 */
#pragma once

#include "fleet/controller/controller.h"
#include "fleet/wire/link.h"

#define AUDIT_NAME 64

/*
 * Reads the name of the folder's owner from DIR/person, at most AUDIT_NAME bytes; "" without that
 * file.
 */
void audit_person(const char *dir, char *person);

/* An order as a sentence; the caller frees it. `user`: who asked on the fleet's page, or NULL. */
char *audit_request_text(const struct controller_order *o, const char *user);

/*
 * Publishes that sentence; does nothing for the person "". `l` is NULL once the connection has
 * ended for good.
 */
void audit_publish(struct link *l, const char *person, const char *text);
