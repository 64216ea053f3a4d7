/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and keeps the fleet's policy. */
#include "web/fleet_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/fleet_policy.h"
#include "fleet/link.h"
#include "fleet/member.h"
#include "fleet/stream_names.h"

#define NAME      "fleet.policy"
#define NAME_NEW  "fleet.policy.new"
#define BYTES_MAX 2048
#define DELAY_NS  NS_PER_SEC       /* the subscriptions are known to the server then */
#define JITTER_NS (2 * NS_PER_SEC) /* a whole fleet connects at once after a restart */
#define LAST      "{\"last_by_subj\":\"" FLEET_POLICY_SUBJECT "\"}"

void fleet_policy_load(const struct fleet_policy_source *s, struct member *n)
{
	auto_close int fd = openat(s->dir, NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	u8 bytes[BYTES_MAX];
	ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

	if (len > 0)
		member_message(n, "", bytes, (size_t)len);
}

void fleet_policy_keep(const struct fleet_policy_source *s, const void *bytes, size_t len)
{
	auto_close int fd = openat(s->dir, NAME_NEW,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fsync(fd) ||
	    renameat(s->dir, NAME_NEW, s->dir, NAME))
		log_warn("fleet: the policy is not kept over a restart: %s: %m", NAME);
}

void fleet_policy_connected(struct fleet_policy_source *s, u64 now_ns)
{
	u64 jitter = 0;

	if (getrandom(&jitter, sizeof(jitter), GRND_NONBLOCK) < 0)
		jitter = now_ns;
	s->ask_ns = now_ns + DELAY_NS + jitter % JITTER_NS;
}

/* Without JetStream, stream or right nobody answers, and nothing changes. */
void fleet_policy_tick(struct fleet_policy_source *s, struct link *l, const char *node, u64 now_ns)
{
	auto_free char *reply = NULL;

	if (!s->ask_ns || now_ns < s->ask_ns)
		return;
	s->ask_ns = 0;
	reply = xasprintf("sysflame.v1.node.%s.policy", node);
	link_publish(l, "$JS.API." STREAM_GET_POLICY, reply, LAST, strlen(LAST));
	link_publish(l, STREAM_FROM_LEAF(STREAM_GET_POLICY), reply, LAST, strlen(LAST));
}
