/* SPDX-License-Identifier: Apache-2.0 */
/* A sender as the web process sees it. */
#include "push/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/packet.h"
#include "base/str.h"
#include "sandbox/rights.h"

struct sender {
	int sock;
};

static int run(int sock, const void *ctx)
{
	return post_run(sock, ctx);
}

int sender_start(const struct receiver *r, const struct credentials *credentials,
		 struct sender **out)
{
	const struct post_options options = { r, credentials };
	int sock, err = guarded_start(run, &options, &sock);

	if (err)
		return err;
	struct sender *s = xcalloc(1, sizeof(*s));
	s->sock = sock;
	*out = s;
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	close(s->sock);
	free(s);
}

int sender_fd(const struct sender *s)
{
	return s->sock;
}

int sender_post(struct sender *s, u64 number, int fd)
{
	return packet_send(s->sock, &number, sizeof(number), &fd, 1);
}

/* Whoever took the process over may send anything. */
static int check(struct sender_event *e, size_t nr)
{
	auto_str struct str clean = { 0 };

	if (nr != sizeof(*e) || e->kind > SENDER_DONE || e->status < 0 || e->status > 999)
		return -EPROTO;
	e->why[sizeof(e->why) - 1] = '\0';
	utf8_clean(&clean, e->why, sizeof(e->why) - 1);
	copy_text(e->why, sizeof(e->why), clean.at);
	return 0;
}

int sender_receive(struct sender *s, struct sender_event *out)
{
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;
	int err = packet_receive(s->sock, out, sizeof(*out), &nr, fds, &nr_fds);

	for (size_t i = 0; !err && i < nr_fds; i++)
		close(fds[i]);
	return err ?: check(out, nr);
}
