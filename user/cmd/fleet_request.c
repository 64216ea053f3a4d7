/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the nodes of a fleet. */
#include "cmd/fleet_request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "fleet/key.h"

#define CONNECT_NS (10 * NS_PER_SEC)
#define ALIVE_NS   (15 * NS_PER_SEC)
#define POLL_MS    50

static int read_key(struct asking *a, const char *dir)
{
	auto_free char *path = xasprintf("%s/key", dir), *text = NULL;
	size_t len;
	int err = file_read(path, 1024, &text, &len);

	if (err) {
		log_error("fleet: %s: %s; sysflame fleet init makes a key", path, strerror(-err));
		return EXIT_FAILED;
	}
	text[strcspn(text, "\n")] = '\0';
	bool is_key = hex_parse(text, a->private_key, sizeof(a->private_key));
	explicit_bzero(text, len);
	if (!is_key)
		log_error("fleet: %s holds no key of 64 hexadecimal digits", path);
	return is_key ? 0 : EXIT_FAILED;
}

/* Messages of the link. -EPIPE if it is gone. */
static int take_events(struct asking *a)
{
	struct link_event e;

	for (;;) {
		int err = link_receive(a->link, &e);
		if (err == -EAGAIN)
			return 0;
		if (err) {
			log_error("fleet: the process that talks to NATS has ended");
			return err;
		}
		if (e.kind == LINK_MESSAGE && a->gather)
			gather_message(a->gather, e.bytes, e.len);
		else if (e.kind == LINK_UP)
			log_debug("fleet: connected to %s", e.text);
		else if (e.kind == LINK_DOWN)
			log_warn("fleet: %s: %s", a->o->url, e.text);
		a->is_up = e.kind == LINK_MESSAGE ? a->is_up : e.kind == LINK_UP;
	}
}

static void wait_a_while(const struct asking *a)
{
	struct pollfd polled = { link_fd(a->link), POLLIN, 0 };

	poll(&polled, 1, POLL_MS);
}

static int connect_link(struct asking *a)
{
	const struct link_options link = { .url = a->o->url,
					   .name = "sysflame-fleet",
					   .dir = a->o->dir };
	auto_free char *all = xasprintf("%s.>", a->inbox);
	u64 until = time_mono_ns() + CONNECT_NS;
	int err = link_start(&link, &a->link) ?: link_subscribe(a->link, all);

	while (!err && !a->is_up && time_mono_ns() < until) {
		wait_a_while(a);
		err = take_events(a);
	}
	if (a->is_up)
		return 0;
	log_error("fleet: %s cannot be reached", a->o->url);
	return EXIT_FAILED;
}

int asking_begin(struct asking *a, const struct fleet_request_options *o)
{
	u8 random[FLEET_ID_LEN];
	char text[2 * FLEET_ID_LEN + 1];

	a->o = o;
	if (!o->url || !o->dir || !(o->wait_s > 0) || o->wait_s > 600) {
		log_error("fleet: needs --nats URL and --fleet-dir DIR; --wait takes up to 600 s");
		return EXIT_USAGE;
	}
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return EXIT_FAILED;
	hex_print(random, sizeof(random), text);
	snprintf(a->inbox, sizeof(a->inbox), "_INBOX.%s", text);
	int status = read_key(a, o->dir);
	return status ?: connect_link(a);
}

void asking_end(struct asking *a)
{
	link_free(a->link);
	explicit_bzero(a->private_key, sizeof(a->private_key));
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct asking *a = ctx;

	/* No error: gather_tick repeats requests without an answer. */
	if (link_publish(a->link, subject, reply, bytes, len))
		log_debug("fleet: a message to %s was not sent", subject);
}

struct gather_host asking_host(struct asking *a)
{
	return (struct gather_host){ .ctx = a, .publish = publish };
}

int asking_send(struct asking *a, struct fleet_request *r, struct gather *g,
		const struct gather_host *host)
{
	u8 secret[FLEET_ID_LEN];
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	auto_free char *reply = xasprintf("%s.answer", a->inbox);
	auto_str struct str bytes = { 0 };

	if (getrandom(r->id, sizeof(r->id), 0) != sizeof(r->id) ||
	    getrandom(r->nonce, sizeof(r->nonce), 0) != sizeof(r->nonce) ||
	    getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return EXIT_FAILED;
	digest(secret, sizeof(secret), r->pull_hash);
	r->sent_ms = time_wall_ns() / NS_PER_MS;
	if (request_encode(r, &m.sealed) || key_sign(a->private_key, &m.sealed)) {
		log_error("fleet: the request cannot be signed");
		return EXIT_FAILED;
	}
	gather_init(g, host, r->id, secret, a->inbox);
	a->gather = g;
	message_encode(&m, &bytes);
	if (!link_publish(a->link, "sysflame.v1.req.all", reply, bytes.at, bytes.len))
		return 0;
	log_error("fleet: the request was not sent: the connection is too slow");
	return EXIT_FAILED;
}

void asking_control(struct asking *a, enum message_kind kind, const u8 *id)
{
	struct fleet_message m = { .kind = kind };
	auto_str struct str bytes = { 0 };

	m.control.has_id = id;
	if (id)
		memcpy(m.control.id, id, sizeof(m.control.id));
	message_encode(&m, &bytes);
	publish(a, "sysflame.v1.ctl", "", bytes.at, bytes.len);
}

bool asking_run(struct asking *a, u64 ns, bool (*is_over)(const struct gather *g))
{
	u64 began = time_mono_ns(), alive = began;

	for (;;) {
		u64 now = time_mono_ns();
		if (now - began >= ns || (is_over && is_over(a->gather)))
			return true;
		if (a->stopped && *a->stopped)
			return false;
		if (now - alive >= ALIVE_NS) {
			asking_control(a, MESSAGE_ALIVE, a->gather->id);
			alive = now;
		}
		gather_tick(a->gather, now);
		wait_a_while(a);
		if (take_events(a))
			return false;
	}
}
