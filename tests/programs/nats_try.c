/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of NATS for tests: it tries forbidden subjects and faulty requests. DIR contains its
 * nats.nk or join, and ca.pem, and for `ask` and `policy` the private key of a person.
 *
 * usage: nats_try URL DIR pub|sub SUBJECT..
 *            prints "allowed SUBJECT" or "denied SUBJECT" for each, as the server answers
 *        nats_try URL DIR ask FAULT
 *            sends a request with a fault to all nodes, and prints the verdict of the first answer
 *        nats_try URL DIR policy TEXT
 *            signs a text, which is malformed, as the policy of all nodes, and sends it
 *        nats_try URL DIR call SUBJECT TEXT
 *            sends a text and prints the reply
 *        nats_try URL DIR flood SECONDS
 *            sends requests for the census and for slices as fast as they can be signed
 *        nats_try URL DIR connect TIMES
 *            connects, and prints how often it was refused
 *        nats_try URL DIR waits SECONDS
 *            prints "connected", and "closed" when the server has ended the connection
 *        nats_try URL DIR asks INBOX SUBJECT
 *            asks JetStream for nodes last seen, publishes to SUBJECT below INBOX, and prints
 *            "message" and "seen: WHY" as they arrive
 */
#include <errno.h>
#include <nats/nats.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "fleet/wire/bus_key.h"
#include "fleet/wire/key.h"
#include "fleet/wire/link.h"
#include "fleet/wire/policy.h"

#define TIMEOUT_MS 10000

static natsConnection *connection;

static void die(const char *text, natsStatus s)
{
	const char *last = nats_GetLastError(NULL);

	printf("%s: %s\n", text, last ?: natsStatus_GetText(s));
	exit(1);
}

static char *read_text(const char *dir, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	char *text = NULL;
	size_t len;

	if (file_read(path, 4096, &text, &len))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static natsStatus try_connect(const char *url, const char *dir)
{
	natsOptions *opts = NULL;
	auto_free char *ca = xasprintf("%s/ca.pem", dir);
	struct bus_key key;
	natsStatus s = natsOptions_Create(&opts);

	natsOptions_SetURL(opts, url);
	natsOptions_SetAllowReconnect(opts, false);
	bus_key_init(&key, dir, getenv("NODE") ?: "n1");
	if (bus_key_exists(&key))
		bus_key_set(opts, &key);
	if (!access(ca, R_OK))
		s = natsOptions_LoadCATrustedCertificates(opts, ca);
	if (s == NATS_OK)
		s = bus_key_connect(&connection, opts);
	natsOptions_Destroy(opts);
	return s;
}

static void connect_as(const char *url, const char *dir)
{
	natsStatus s = try_connect(url, dir);

	if (s != NATS_OK)
		die("not connected", s);
}

static void connect_often(const char *url, const char *dir, int times)
{
	int nr_refused = 0;

	for (int i = 0; i < times; i++) {
		natsConnection_Destroy(connection);
		connection = NULL;
		nr_refused += try_connect(url, dir) != NATS_OK;
	}
	printf("refused %d times\n", nr_refused);
}

/* The hub maps names with its domain before it looks at rights (user/fleet/wire/link.h). */
static char *mapped(const char *subject)
{
	static const char domain[] = STREAM_FROM_LEAF("");
	const char *at = subject + strlen(domain);

	if (strncmp(subject, domain, strlen(domain)) != 0)
		return xstrdup(subject);
	return *at == '$' ? xstrdup(at) : xasprintf("$JS.API.%s", at);
}

/* The server reports a violation before it answers the flush. */
static bool was_denied(const char *subject)
{
	auto_free char *other = mapped(subject);
	const char *why = NULL;

	if (natsConnection_FlushTimeout(connection, TIMEOUT_MS) != NATS_OK)
		die("lost", NATS_CONNECTION_CLOSED);
	natsConnection_GetLastError(connection, &why);
	return why && strcasestr(why, "permissions violation") &&
	       (strstr(why, subject) || strstr(why, other));
}

static void try_subjects(bool publishes, int nr, char **subjects)
{
	for (int i = 0; i < nr; i++) {
		natsSubscription *sub = NULL;
		natsStatus s =
			publishes ? natsConnection_PublishString(connection, subjects[i], "{}")
				  : natsConnection_SubscribeSync(&sub, connection, subjects[i]);
		if (s != NATS_OK)
			die(subjects[i], s);
		printf("%s %s\n", was_denied(subjects[i]) ? "denied" : "allowed", subjects[i]);
		natsSubscription_Destroy(sub);
	}
}

/* The second request of REPLAY is the same as the first. */
static void make_request(const char *fault, const u8 *private_key, struct str *out)
{
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	struct fleet_request r = { .want = WANT_RECORDING,
				   .events = "cpu",
				   .duration_s = 1,
				   .sampling.to_rank = UINT32_MAX,
				   .sent_ms = time_wall_ns() / NS_PER_MS };
	static const u64 hour_ms = 3600 * 1000;

	if (getrandom(r.id, sizeof(r.id), 0) < 0 || getrandom(r.nonce, sizeof(r.nonce), 0) < 0)
		exit(1);
	if (!strcmp(fault, "expired"))
		r.sent_ms -= hour_ms;
	else if (!strcmp(fault, "clock"))
		r.sent_ms += hour_ms;
	else if (!strcmp(fault, "rate"))
		r.hz = 9999;
	else if (!strcmp(fault, "duration"))
		r.duration_s = 1000000;
	else if (!strcmp(fault, "selector"))
		copy_text(r.selector, sizeof(r.selector), "zone==,=");
	else if (!strcmp(fault, "replay"))
		r.want = WANT_SLICES;
	else if (!strcmp(fault, "census"))
		r.want = WANT_CENSUS;
	if (request_encode(&r, &m.sealed) || key_sign(private_key, KEY_FOR_REQUEST, &m.sealed))
		exit(1);
	if (!strcmp(fault, "signature"))
		m.sealed.signature[5] ^= 1;
	else if (!strcmp(fault, "changed"))
		m.sealed.request[m.sealed.len - 1] ^= 1;
	message_encode(&m, out);
}

/* Waits for an answer; results of the request before are skipped. */
static void await_answer(natsSubscription *sub, struct fleet_answer *out)
{
	struct fleet_message m = { 0 };
	natsMsg *raw = NULL;

	while (m.kind != MESSAGE_ANSWER) {
		natsStatus s = natsSubscription_NextMsg(&raw, sub, TIMEOUT_MS);
		if (s != NATS_OK)
			die("no answer", s);
		if (message_decode(natsMsg_GetData(raw), (size_t)natsMsg_GetDataLength(raw), &m))
			die("malformed answer", NATS_ERR);
		natsMsg_Destroy(raw);
	}
	*out = m.answer;
	message_fini(&m);
}

static void read_key(const char *dir, u8 *private_key)
{
	auto_free char *text = read_text(dir, "key");

	if (!text || !hex_parse(text, private_key, FLEET_KEY_LEN))
		die("no key", NATS_ERR);
}

static void ask(const char *dir, const char *fault)
{
	u8 private_key[FLEET_KEY_LEN], public_key[FLEET_KEY_LEN];
	char owner[2 * INBOX_OWNER + 1];
	auto_str struct str bytes = { 0 };
	natsSubscription *sub = NULL;
	struct fleet_answer answer;

	read_key(dir, private_key);
	if (key_public(private_key, public_key))
		die("no key", NATS_ERR);
	hex_print(public_key, INBOX_OWNER, owner);
	auto_free char *reply = xasprintf("_INBOX.%s.try.answer", owner);
	auto_free char *inbox = xasprintf("%s.>", reply);
	make_request(fault, private_key, &bytes);
	natsStatus s = natsConnection_SubscribeSync(&sub, connection, inbox);
	for (int i = 0; i < 1 + !strcmp(fault, "replay"); i++) {
		s = natsConnection_PublishRequest(connection, "sysflame.v1.req.all", reply,
						  bytes.at, (int)bytes.len);
		if (s != NATS_OK)
			die("not asked", s);
		await_answer(sub, &answer);
	}
	printf("%s: %s\n", verdict_name(answer.verdict), answer.why);
	natsSubscription_Destroy(sub);
}

static void flood(const char *dir, int seconds)
{
	u64 until = time_mono_ns() + (u64)seconds * NS_PER_SEC;
	u8 private_key[FLEET_KEY_LEN];
	u32 nr = 0;

	read_key(dir, private_key);
	for (; time_mono_ns() < until; nr++) {
		auto_str struct str bytes = { 0 };
		make_request(nr % 2 ? "replay" : "census", private_key, &bytes);
		natsStatus s = natsConnection_PublishRequest(connection, "sysflame.v1.req.all",
							     "_INBOX.o.flood.answer", bytes.at,
							     (int)bytes.len);
		if (s != NATS_OK)
			die("not sent", s);
	}
	natsConnection_FlushTimeout(connection, TIMEOUT_MS);
	printf("sent %u\n", nr);
}

static void send_policy(const char *dir, const char *text)
{
	struct fleet_message m = { .kind = MESSAGE_POLICY, .sealed.len = (u32)strlen(text) };
	auto_str struct str bytes = { 0 };
	u8 private_key[FLEET_KEY_LEN];

	read_key(dir, private_key);
	memcpy(m.sealed.request, text, m.sealed.len);
	if (key_sign(private_key, KEY_FOR_POLICY, &m.sealed))
		die("not signed", NATS_ERR);
	message_encode(&m, &bytes);
	natsStatus s = natsConnection_Publish(connection, POLICY_SUBJECT, bytes.at, (int)bytes.len);
	if (s == NATS_OK)
		s = natsConnection_FlushTimeout(connection, TIMEOUT_MS);
	if (s != NATS_OK)
		die("not sent", s);
}

static void call(const char *subject, const char *text)
{
	natsMsg *m = NULL;
	natsStatus s = natsConnection_RequestString(&m, connection, subject, text, TIMEOUT_MS);

	if (s != NATS_OK)
		die("no reply", s);
	printf("%.*s\n", natsMsg_GetDataLength(m), natsMsg_GetData(m));
	natsMsg_Destroy(m);
}

static void print_event(const struct link_event *e)
{
	if (e->kind == LINK_MESSAGE)
		puts("message");
	else if (e->kind == LINK_STORED_END)
		printf("seen: %s\n", e->text);
}

static void ask_and_publish(const char *url, const char *dir, const char *inbox,
			    const char *subject)
{
	const struct link_options o = { .url = url, .name = "test", .inbox = inbox, .dir = dir };
	auto_free char *all = xasprintf("%s.>", inbox);
	struct link *l = NULL;
	struct link_event e = { 0 };
	int err = link_start(&o, &l) ?: link_subscribe(l, all);

	while (!err && e.kind != LINK_STORED_END) {
		struct pollfd polled = { link_fd(l), POLLIN, 0 };
		err = poll(&polled, 1, TIMEOUT_MS) == 1 ? link_receive(l, &e) : -ETIMEDOUT;
		if (!err && e.kind == LINK_UP)
			err = link_read_stream(l, LINK_STREAM_SEEN, 0, false)
				      ?: link_publish(l, subject, "", "x", 1);
		if (!err)
			print_event(&e);
		if (err == -EAGAIN)
			err = 0;
	}
	link_free(l);
	if (err)
		die("no answer", NATS_TIMEOUT);
}

static void wait_for_end(int seconds)
{
	puts("connected");
	fflush(stdout);
	for (int i = 0; i < seconds * 20 && !natsConnection_IsClosed(connection); i++)
		nats_Sleep(50);
	puts(natsConnection_IsClosed(connection) ? "closed" : "open");
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	if (!strcmp(argv[3], "asks") && argc > 5) {
		ask_and_publish(argv[1], argv[2], argv[4], argv[5]);
		return 0;
	}
	connect_as(argv[1], argv[2]);
	if (!strcmp(argv[3], "pub") || !strcmp(argv[3], "sub"))
		try_subjects(*argv[3] == 'p', argc - 4, argv + 4);
	else if (!strcmp(argv[3], "ask"))
		ask(argv[2], argv[4]);
	else if (!strcmp(argv[3], "waits"))
		wait_for_end(atoi(argv[4]));
	else if (!strcmp(argv[3], "flood"))
		flood(argv[2], atoi(argv[4]));
	else if (!strcmp(argv[3], "policy") && strlen(argv[4]) <= 512)
		send_policy(argv[2], argv[4]);
	else if (!strcmp(argv[3], "call") && argc > 5)
		call(argv[4], argv[5]);
	else if (!strcmp(argv[3], "connect"))
		connect_often(argv[1], argv[2], atoi(argv[4]));
	else
		return 2;
	return 0;
}
