/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects below a controller's inbox. */
#include "fleet/inbox.h"

#include <string.h>

#include "fleet/selector.h"

/* Whether the subject is INBOX.KIND.NAME, or begins with that and a dot. NULL: any name. */
static bool is_from(const char *inbox, const char *subject, const char *kind, const char *name)
{
	size_t len = strlen(inbox), word = strlen(kind);
	const char *at = subject + len + 1;

	if (strncmp(subject, inbox, len) != 0 || subject[len] != '.' ||
	    strncmp(at, kind, word) != 0 || at[word] != '.')
		return false;
	at += word + 1;
	if (!name)
		return true;
	if (strncmp(at, name, strlen(name)) != 0)
		return false;
	at += strlen(name);
	return !*at || *at == '.';
}

bool inbox_is_right(const char *inbox, const char *subject, const struct fleet_message *m)
{
	switch (m->kind) {
	case MESSAGE_ANSWER:
		return is_from(inbox, subject, "answer", m->answer.node);
	case MESSAGE_DONE:
		return is_from(inbox, subject, "answer", m->done.node);
	case MESSAGE_CHUNK:
		return is_from(inbox, subject, "chunk", m->chunk.node);
	default:
		return false;
	}
}

const char *inbox_answerer(const char *inbox, const char *subject)
{
	size_t len = strlen(inbox) + strlen(".answer.");

	if (!is_from(inbox, subject, "answer", NULL))
		return NULL;
	return node_name_is_valid(subject + len) ? subject + len : NULL;
}
