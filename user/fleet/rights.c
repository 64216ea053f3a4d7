/* SPDX-License-Identifier: Apache-2.0 */
/* Rights on NATS. */
#include "fleet/rights.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "fleet/stream_names.h"

struct grants {
	const char *kind;
	const char *publish[20], *subscribe[8]; /* NAME and INBOX stand for those of the client */
};

/* Of every person. */
#define PERSON_PUBLISHES                                                                           \
	"sysflame.v1.req.all", "sysflame.v1.ctl", "sysflame.v1.node.*.get",                        \
		"sysflame.v1.audit.person.NAME", "$JS.API.STREAM.INFO.KV_SYSFLAME_NODES",          \
		"$JS.API.STREAM.INFO.SYSFLAME_AUDIT", "$JS.API.STREAM.INFO.SYSFLAME_RESULTS",      \
		"$JS.API.STREAM.MSG.GET.KV_SYSFLAME_NODES", "$JS.API.DIRECT.GET.SYSFLAME_RESULTS", \
		"$JS.API.STREAM.INFO.SYSFLAME_POLICY", "$JS.API.DIRECT.GET.SYSFLAME_POLICY"

/*
 * A node's answers go to "INBOX.answer.NAME" and "INBOX.chunk.NAME.>" below an inbox of two tokens,
 * so it needs no right to reply to whatever it was asked. Of the API of JetStream it may read the
 * policy only: publishing is enough for what other streams keep.
 *
 * Nobody may change, purge or delete a stream, or make a consumer, which can deliver to any
 * subject. Who creates a stream chooses its subjects, and could read what others get: operators
 * only.
 */
static const struct grants grants[NR_RIGHTS] = {
	[RIGHTS_NODE] = {
		"node",
		{ "_INBOX.*.*.answer.NAME", "_INBOX.*.*.chunk.NAME.>", "sysflame.v1.ev.NAME",
		  "sysflame.v1.audit.node.NAME", STREAM_SEEN "NAME",
		  STREAM_FROM_LEAF(STREAM_SEEN "NAME"), "$JS.API." STREAM_GET_POLICY,
		  STREAM_FROM_LEAF(STREAM_GET_POLICY) },
		{ "sysflame.v1.req.all", "sysflame.v1.ctl", "sysflame.v1.policy",
		  "sysflame.v1.node.NAME.>",
		  "_INBOX.INBOX.>" },
	},
	[RIGHTS_PERSON] = {
		"person",
		{ PERSON_PUBLISHES },
		{ "_INBOX.INBOX.>" },
	},
	[RIGHTS_OPERATOR] = {
		"person",
		{ PERSON_PUBLISHES, "sysflame.v1.policy",
		  "$JS.API.STREAM.CREATE.KV_SYSFLAME_NODES",
		  "$JS.API.STREAM.CREATE.SYSFLAME_POLICY",
		  "$JS.API.STREAM.CREATE.SYSFLAME_AUDIT",
		  "$JS.API.STREAM.CREATE.SYSFLAME_RESULTS",
		  "$JS.API.DIRECT.GET.SYSFLAME_AUDIT" },
		{ "_INBOX.INBOX.>" },
	},
};

static void add_subject(struct str *out, const char *subject, const char *name, const char *inbox)
{
	const char *at = strstr(subject, "NAME"), *own = strstr(subject, "INBOX.INBOX");

	if (own)
		str_addf(out, "\"_INBOX.%s.>\"", inbox);
	else if (at)
		str_addf(out, "\"%.*s%s%s\"", (int)(at - subject), subject, name, at + 4);
	else
		str_addf(out, "\"%s\"", subject);
}

static void add_list(struct str *out, const char *const *subjects, size_t nr, const char *name,
		     const char *inbox)
{
	for (size_t i = 0; i < nr && subjects[i]; i++) {
		if (i)
			str_add_char(out, ',');
		add_subject(out, subjects[i], name, inbox);
	}
}

void rights_add(struct str *out, enum rights_kind kind, const char *name, const char *inbox,
		const char *public_key)
{
	const struct grants *g = &grants[kind];

	str_addf(out, "{nkey:%s,permissions:{publish:{allow:[", public_key);
	add_list(out, g->publish, ARRAY_SIZE(g->publish), name, inbox);
	str_add(out, "]},subscribe:{allow:[");
	add_list(out, g->subscribe, ARRAY_SIZE(g->subscribe), name, inbox);
	str_addf(out, "]}}} # %s %s\n", g->kind, name);
}

bool rights_line_is(const char *line, enum rights_kind kind, const char *name)
{
	auto_free char *end = xasprintf("} # %s %s", grants[kind].kind, name);
	size_t len = strlen(line), nr = strlen(end);

	return len >= nr && !strcmp(line + len - nr, end);
}

static const char common[] = "port: 4222\n"
			     "max_connections: 65536\n"
			     "max_payload: 1MB\n"
			     "ping_interval: \"30s\"\n"
			     "authorization { timeout: 10 }\n";

/* Nodes of a whole fleet connect at once after a restart: handshakes wait for the CPU. */
static const char tls[] = "tls {\n"
			  "  cert_file: \"./server.pem\"\n"
			  "  key_file: \"./server.key\"\n"
			  "  ca_file: \"./ca.pem\"\n"
			  "  timeout: 10\n"
			  "}\n";

void rights_add_hub(struct str *out, const char *leaf_password)
{
	str_add(out, "# nats-server -c hub.conf, in this folder. Made by sysflame fleet init.\n"
		     "server_name: sysflame-hub\n");
	str_addf(out, "%s%s", common, tls);
	str_add(out, "jetstream {\n"
		     "  domain: " STREAM_DOMAIN "\n"
		     "  store_dir: \"./jetstream\"\n"
		     "  max_memory_store: 256MB\n"
		     "  max_file_store: 4GB\n"
		     "}\n");
	str_addf(out, "leafnodes {\nport: 7422\n%s", tls);
	str_addf(out, "authorization { user: leaf, password: \"%s\", account: FLEET }\n}\n",
		 leaf_password);
	str_add(out, "accounts {\n"
		     "  FLEET {\n"
		     "    jetstream: enabled\n"
		     "    include \"users.conf\"\n"
		     "  }\n"
		     "}\n");
}

void rights_add_leaf(struct str *out, const char *hub_host, const char *leaf_password)
{
	str_add(out, "# nats-server -c leaf.conf near the nodes of a zone, with the other files of "
		     "this folder\n# except hub.conf. Made by sysflame fleet init.\n");
	str_addf(out, "%s%s", common, tls);
	str_addf(out,
		 "leafnodes {\n"
		 "  remotes: [\n"
		 "    {\n"
		 "      url: \"tls://leaf:%s@%s:7422\"\n"
		 "      account: FLEET\n"
		 "      tls { ca_file: \"./ca.pem\" }\n"
		 "    }\n"
		 "  ]\n"
		 "}\n",
		 leaf_password, hub_host);
	str_add(out, "accounts {\n"
		     "  FLEET {\n"
		     "    include \"users.conf\"\n"
		     "  }\n"
		     "}\n");
}
