/* SPDX-License-Identifier: Apache-2.0 */
/* What a person asks of a fleet. */
#include "fleet/controller/audit.h"

#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/key.h"
#include "fleet/wire/selector.h"

void audit_person(const char *dir, char *person)
{
	auto_free char *path = xasprintf("%s/person", dir), *text = NULL;
	size_t len;

	*person = '\0';
	if (file_read(path, 1024, &text, &len))
		return;
	text[strcspn(text, "\n")] = '\0';
	if (node_name_is_valid(text))
		copy_text(person, AUDIT_NAME, text);
}

char *audit_request_text(const struct controller_order *o, const char *user)
{
	static const u8 all[FLEET_ID_LEN];
	char id[2 * FLEET_ID_LEN + 1];
	struct str s = { 0 };

	hex_print(o->target, sizeof(o->target), id);
	str_addf(&s, "fleet: %s%sasked ", user ?: "", user ? " " : "");
	if (o->want == WANT_RECORDING)
		str_addf(&s, "to record \"%s\" for %u s at %u Hz", o->selector, o->duration_s,
			 o->hz);
	else if (o->want == WANT_SLICES)
		str_addf(&s, "for slices of \"%s\", %u s that ended %u s ago", o->selector,
			 o->duration_s, o->ago_s);
	else if (o->want == WANT_STOP)
		str_addf(&s, "to stop %s",
			 memcmp(o->target, all, sizeof(all)) ? id : "all recordings");
	else
		str_addf(&s, "for the audit lists of \"%s\"", o->selector);
	str_addf(&s, "%s%s", *o->reason ? ": " : "", o->reason);
	return str_take(&s);
}

void audit_publish(struct link *l, const char *person, const char *text)
{
	auto_free char *subject = xasprintf("sysflame.v1.audit.person.%s", person);
	auto_str struct str line = { 0 };

	if (!*person)
		return;
	entry_add(&line, time_wall_ns() / NS_PER_MS, person, text);
	if (!l || link_publish(l, subject, "", line.at, line.len))
		log_debug("fleet: a message to %s was not sent", subject);
}
