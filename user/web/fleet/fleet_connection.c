/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to NATS. */
#include "web/fleet/fleet_connection.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/wire/link.h"

#define WARNINGS_MAX 2 /* while it is not connected */

static void set(struct fleet_connection *c, bool is_up, const char *text)
{
	if (c->is_up != is_up || !c->text)
		c->since_wall_ns = time_wall_ns();
	c->is_up = is_up;
	free(c->text);
	c->text = xstrdup(text);
}

bool fleet_connection_take(struct fleet_connection *c, const struct link_event *e)
{
	if (e->kind == LINK_UP) {
		log_info("fleet: connected to %s", e->text);
		c->nr_warned = 0;
	} else if (c->is_up || c->nr_warned++ < WARNINGS_MAX)
		log_warn("fleet: %s", e->text);
	if (e->kind != LINK_UP && e->kind != LINK_DOWN)
		return false;
	set(c, e->kind == LINK_UP, e->text);
	return true;
}

void fleet_connection_end(struct fleet_connection *c)
{
	static const char why[] = "the connection's process has ended; restart sysflame";

	log_error("fleet: %s", why);
	set(c, false, why);
}

json_t *fleet_connection_json(const struct fleet_connection *c)
{
	return json_pack("{s:b,s:s,s:I}", "is_up", (int)c->is_up, "text",
			 c->text ?: "not connected yet", "since_ms",
			 (json_int_t)(c->since_wall_ns / NS_PER_MS));
}

void fleet_connection_fini(struct fleet_connection *c)
{
	free(c->text);
}
