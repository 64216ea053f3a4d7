/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of the node. */
#include "proc/container.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "proc/container_names.h"

/* Whoever makes a control group chooses its id. */
#define HASH_FUNCTION(id, len, hash) ((hash) = (unsigned)hash_keyed(id, len))
#include <uthash.h>

#define TEXT_MAX    65536
#define ID_DIGITS   6                 /* as few of an id stand for it */
#define ASK_FOR_NS  (15 * NS_PER_SEC) /* longer than a socket is left alone */
#define ASK_EACH_NS NS_PER_SEC

/* A runtime that is stuck, or slow, is slow for every container. */
#define SOCKET_RESTS_NS (10 * NS_PER_SEC)

/*
 * Asking takes no more than this share of the time, at once no more than the credit and what one
 * takes: who may make control groups can make thousands that look like containers. The first look
 * comes before the recording.
 */
#define ASK_SHARE       10
#define ASK_CREDIT_NS   (200 * (s64)NS_PER_MS)
#define FIRST_CREDIT_NS (s64) NS_PER_SEC

struct entry {
	struct container c; /* its id is the key */
	u64 found_ns, asked_ns;
	UT_hash_handle hh;
};

struct containers {
	struct entry *by_id;
	char *root;
	s64 credit_ns; /* of time to ask in, as of credited_ns */
	u64 credited_ns;
	u64 rests_until_ns[NR_RUNTIME_SOCKETS];
};

struct containers *containers_new(const char *root)
{
	struct containers *all = xcalloc(1, sizeof(*all));

	all->root = xstrdup(root);
	all->credit_ns = FIRST_CREDIT_NS;
	all->credited_ns = time_mono_ns();
	return all;
}

void containers_free(struct containers *all)
{
	struct entry *e, *next;

	if (!all)
		return;
	HASH_ITER(hh, all->by_id, e, next) {
		HASH_DEL(all->by_id, e);
		free(e->c.name);
		free(e->c.pod);
		free(e->c.namespace);
		free(e);
	}
	free(all->root);
	free(all);
}

/* A pod's container is known when its pod is; others have no more than a name. */
static bool is_known(const struct container *c)
{
	return *c->name && (*c->pod || !*c->pod_uid);
}

static void ask_sockets(struct containers *all, struct container *c)
{
	for (enum runtime_socket i = 0; i < NR_RUNTIME_SOCKETS && !is_known(c); i++) {
		if (time_mono_ns() < all->rests_until_ns[i])
			continue;
		if (container_names_of_socket(c, all->root, i) == -ETIMEDOUT)
			all->rests_until_ns[i] = time_mono_ns() + SOCKET_RESTS_NS;
	}
}

static void ask(struct containers *all, struct container *c)
{
	static void (*const ways[])(struct container *, const char *) = {
		container_names_of_logs,
		container_names_of_bundle,
		container_names_of_podman,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways) && !is_known(c); i++)
		ways[i](c, all->root);
	ask_sockets(all, c);
}

/* Those that were never asked for come first. */
static bool has_credit(struct containers *all, u64 now, bool is_first)
{
	s64 credit_ns = all->credit_ns + (s64)((now - all->credited_ns) / ASK_SHARE);

	if (all->credit_ns < ASK_CREDIT_NS)
		all->credit_ns = credit_ns < ASK_CREDIT_NS ? credit_ns : ASK_CREDIT_NS;
	all->credited_ns = now;
	return all->credit_ns > (is_first ? 0 : ASK_CREDIT_NS / 2);
}

static bool is_due(const struct entry *e, u64 now)
{
	if (is_known(&e->c))
		return false;
	return !e->asked_ns || (now - e->asked_ns >= ASK_EACH_NS && now - e->found_ns < ASK_FOR_NS);
}

static struct entry *add(struct containers *all, const char *id)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	copy_text(e->c.id, sizeof(e->c.id), id);
	e->c.name = xstrdup("");
	e->c.pod = xstrdup("");
	e->c.namespace = xstrdup("");
	e->found_ns = time_mono_ns();
	HASH_ADD_STR(all->by_id, c.id, e);
	return e;
}

const struct container *containers_find(struct containers *all, const char *id, const char *pod_uid)
{
	u64 now = time_mono_ns();
	struct entry *e;

	HASH_FIND_STR(all->by_id, id, e);
	if (!e && HASH_COUNT(all->by_id) >= CONTAINERS_MAX)
		return NULL;
	if (!e)
		e = add(all, id);
	if (pod_uid)
		copy_text(e->c.pod_uid, sizeof(e->c.pod_uid), pod_uid);
	if (is_due(e, now) && has_credit(all, now, !e->asked_ns)) {
		e->asked_ns = now;
		ask(all, &e->c);
		all->credit_ns -= (s64)(time_mono_ns() - now);
	}
	return &e->c;
}

int containers_of(struct containers *all, pid_t pid, const struct container **out)
{
	auto_free char *path = xasprintf("%s/proc/%d/cgroup", all->root, (int)pid);
	char id[CONTAINER_ID_LEN + 1], uid[POD_UID_LEN + 1];
	auto_free char *text = NULL;
	size_t len;

	if (file_read(path, TEXT_MAX, &text, &len) || !len)
		return -ESRCH;
	*out = cgroup_container_parse(text, id)
		       ? containers_find(all, id, cgroup_pod_parse(text, uid) ? uid : NULL)
		       : NULL;
	return 0;
}

bool container_matches(const struct container *c, const char *text)
{
	size_t len = strlen(text);

	return !strcmp(c->name, text) || (len >= ID_DIGITS && !strncmp(c->id, text, len));
}

bool container_matches_pod(const struct container *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;

	if (slash && (strlen(c->namespace) != len || strncmp(c->namespace, text, len)))
		return false;
	return !strcmp(c->pod, slash ? slash + 1 : text) || !strcmp(c->pod_uid, text);
}
