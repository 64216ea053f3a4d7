/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects below a controller's inbox: INBOX.answer.NAME and INBOX.chunk.NAME.N. NATS lets each
 * node publish to subjects with its own name only.
 */
#pragma once

#include "fleet/message.h"

/* Whether a message came on the subject of the node that it names. */
bool inbox_is_right(const char *inbox, const char *subject, const struct fleet_message *m);

/* The node's name in INBOX.answer.NAME; NULL: it is another subject. */
const char *inbox_answerer(const char *inbox, const char *subject);
