/* SPDX-License-Identifier: Apache-2.0 */
/* The process that talks to NATS. With fleet/wire/bus_key.c the only user of its library. */
#include "fleet/wire/bus.h"

#include <errno.h>
#include <fcntl.h>
#include <nats/nats.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/packet.h"
#include "base/str.h"
#include "base/time.h"
#include "fleet/wire/bus_key.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/link.h"
#include "fleet/wire/policy.h"
#include "sandbox/rights.h"

#define TESTED       "2.9"
#define CONNECT_MS   5000
#define WRITE_MS     10000
#define PING_MS      20000
#define FLUSH_MS     1000
#define BUFFER_BYTES (1 << 20) /* of messages published while there is no connection */
#define PENDING_MAX  65536 /* messages that wait for the other process: all nodes answer at once */
#define DELAY_MAX_MS 60000
#define REFUSED      "the server refuses the key: it knows another fleet, or the key was revoked"
#define HUNG_UP                                                                                  \
	"the server closed the connection before its answer: it may be full (max_connections), " \
	"or no NATS server listens there"
#define WAIT_MS      2000
#define KEPT_BYTES   (512ll << 20) /* of a stream */
#define READ_MS      8000          /* for a whole stream */
#define READ_AT_ONCE 128           /* questions on their way */

int bus_pack(enum bus_packet_kind kind, const char *subject, const char *reply, const void *bytes,
	     size_t len, struct str *out)
{
	struct bus_packet p = { .kind = (u8)kind };
	size_t subject_len = strlen(subject), reply_len = strlen(reply);

	if (subject_len >= LINK_SUBJECT_MAX || reply_len >= LINK_SUBJECT_MAX ||
	    len > FLEET_MESSAGE_MAX)
		return -E2BIG;
	p.subject_len = (u8)subject_len;
	p.reply_len = (u8)reply_len;
	str_clear(out);
	str_add_bytes(out, &p, sizeof(p));
	str_add_bytes(out, subject, subject_len);
	str_add_bytes(out, reply, reply_len);
	str_add_bytes(out, bytes, len);
	return 0;
}

/* Sends a packet whole or not at all; from any thread. */
static void bus_put(int sock, enum bus_packet_kind kind, const char *subject, const char *reply,
		    const void *bytes, size_t len)
{
	auto_str struct str packet = { 0 };

	if (!bus_pack(kind, subject, reply, bytes, len, &packet))
		packet_send(sock, packet.at, packet.len, NULL, 0);
}

static void take_text(char *field, const u8 *at, size_t len)
{
	memcpy(field, at, len);
	field[len] = '\0';
}

bool bus_unpack(const u8 *packet, size_t nr, struct bus_parts *out)
{
	struct bus_packet p;

	if (nr < sizeof(p))
		return false;
	memcpy(&p, packet, sizeof(p));
	size_t head = sizeof(p) + p.subject_len + p.reply_len;
	if (nr < head)
		return false;
	out->kind = (enum bus_packet_kind)p.kind;
	take_text(out->subject, packet + sizeof(p), p.subject_len);
	take_text(out->reply, packet + sizeof(p) + p.subject_len, p.reply_len);
	out->bytes = packet + head;
	out->len = nr - head;
	return true;
}

AUTO_DEFINE(options, natsOptions *, natsOptions_Destroy)
#define auto_options __attribute__((cleanup(auto_options_run)))

struct bus {
	int sock;
	natsConnection *connection;
	const char *inbox; /* prefix of inboxes; NULL: the library's */
	bool has_key;
	struct bus_key key;
	struct {
		char *subject;
		natsSubscription *at;
	} subjects[LINK_SUBJECTS_MAX];
	u32 nr_subjects;
	/*
	 * socket pair for packets to the thread that asks JetStream: its end, and this thread's end
	 */
	int questions[2];
};

/* Called by the library's threads, too. */
static void put_text(const struct bus *b, enum bus_packet_kind kind, const char *text)
{
	bus_put(b->sock, kind, "", "", text, strlen(text));
}

AUTO_DEFINE(js, jsCtx *, jsCtx_Destroy)
#define auto_js __attribute__((cleanup(auto_js_run)))
AUTO_DEFINE(inbox, natsInbox *, natsInbox_Destroy)
#define auto_inbox __attribute__((cleanup(auto_inbox_run)))
AUTO_DEFINE(sub, natsSubscription *, natsSubscription_Destroy)
#define auto_sub __attribute__((cleanup(auto_sub_run)))
AUTO_DEFINE(info, jsStreamInfo *, jsStreamInfo_Destroy)
#define auto_info __attribute__((cleanup(auto_info_run)))

struct stream_kind {
	const char *name, *subjects;
	u32 kept_s, kept_max; /* 0 s: for ever; `kept_max`: of each subject */
	bool in_memory;
};

/* Nobody can crowd out the entries of others. */
static const struct stream_kind streams[NR_LINK_STREAMS] = {
	[LINK_STREAM_SEEN] = { "SYSFLAME_NODES", STREAM_SEEN "*", 90, 1, true },
	[LINK_STREAM_AUDIT] = { "SYSFLAME_AUDIT", "sysflame.v1.audit.*.*", 90 * 24 * 3600, 10000 },
	[LINK_STREAM_POLICY] = { "SYSFLAME_POLICY", POLICY_SUBJECT, 0, 10000 },
};

static const char *why_no_jetstream(natsStatus s)
{
	switch (s) {
	case NATS_NO_RESPONDERS:
		return "the NATS server runs without JetStream";
	case NATS_TIMEOUT:
		return "JetStream does not answer; this key may have no right to it";
	case NATS_NOT_FOUND:
		return "there is no such stream; an operator's sysflame fleet ls makes it";
	default:
		return nats_GetLastError(NULL) ?: natsStatus_GetText(s);
	}
}

/* Subjects of the nodes come with the state of their stream, without a consumer. */
static natsStatus find_stream(jsCtx *js, enum link_stream i, jsStreamInfo **out)
{
	jsOptions o;

	jsOptions_Init(&o);
	o.Wait = WAIT_MS;
	o.Stream.Info.SubjectsFilter = i == LINK_STREAM_SEEN ? STREAM_SEEN ">" : NULL;
	return js_GetStreamInfo(out, js, streams[i].name, &o, NULL);
}

/*
 * Nobody may change or remove a message. Nodes and people fill the stream by plain publishing; who
 * may create streams makes it, when it is missing.
 */
static natsStatus make_stream(jsCtx *js, enum link_stream i)
{
	const struct stream_kind *kind = &streams[i];
	auto_info jsStreamInfo *info = NULL;
	jsStreamConfig c;
	natsStatus s = find_stream(js, i, &info);

	if (s != NATS_NOT_FOUND)
		return s;
	jsStreamConfig_Init(&c);
	c.Name = kind->name;
	c.Subjects = (const char *[]){ kind->subjects };
	c.SubjectsLen = 1;
	c.Storage = kind->in_memory ? js_MemoryStorage : js_FileStorage;
	c.MaxAge = kind->kept_s * (int64_t)NS_PER_SEC;
	c.MaxBytes = kind->in_memory ? -1 : KEPT_BYTES; /* these bytes are reserved */
	c.MaxMsgsPerSubject = kind->kept_max;
	c.MaxMsgSize = ENTRY_MAX;
	c.DenyDelete = true;
	c.DenyPurge = true;
	c.AllowDirect = true;
	return js_AddStream(NULL, js, &c, NULL, NULL);
}

/* Why the entries of a stream are missing or can be forged; "" if its configuration is as ours. */
static const char *fault_of(const jsStreamConfig *c, enum link_stream i)
{
	if (!c->AllowDirect)
		return "cannot be read: sysflame did not make it, and it lacks allow_direct";
	if (c->SubjectsLen != 1 || strcmp(c->Subjects[0], streams[i].subjects) != 0)
		return "keeps other subjects: sysflame did not make it";
	if (!c->DenyDelete || !c->DenyPurge)
		return "allows deletion: sysflame did not make it";
	return "";
}

static natsStatus ask_message(const struct bus *b, const char *api, const char *inbox, u64 number)
{
	auto_free char *ask = xasprintf("{\"seq\":%llu}", (unsigned long long)number);

	return natsConnection_PublishRequestString(b->connection, api, inbox, ask);
}

/*
 * Takes an answer of JetStream. A message without a subject says that the stream has dropped the
 * message asked for.
 */
static natsStatus take_answer(const struct bus *b, natsSubscription *sub)
{
	const char *subject = NULL;
	natsMsg *m = NULL;
	natsStatus s = natsSubscription_NextMsg(&m, sub, WAIT_MS);
	int len = s == NATS_OK ? natsMsg_GetDataLength(m) : 0;

	if (s == NATS_OK && natsMsg_IsNoResponders(m))
		s = NATS_NO_RESPONDERS;
	else if (len > 0 && len <= ENTRY_MAX &&
		 natsMsgHeader_Get(m, "Nats-Subject", &subject) == NATS_OK)
		bus_put(b->sock, BUS_STORED, subject, "", natsMsg_GetData(m), (size_t)len);
	natsMsg_Destroy(m);
	return s;
}

/*
 * Reads the messages of the stream from `last` down to `first`. The first request is sent alone: if
 * we have no right to ask, NATS refuses only once. Then many requests are under way. The inbox is
 * ours, because those of the library lack the prefix to which people have a right.
 */
static natsStatus read_messages(const struct bus *b, const char *stream, u64 first, u64 last)
{
	auto_free char *api = xasprintf("$JS.API.DIRECT.GET.%s", stream);
	auto_inbox natsInbox *unique = NULL;
	auto_sub natsSubscription *sub = NULL;
	u64 until = time_mono_ns() + READ_MS * NS_PER_MS;
	u32 waiting = 0, most = 1;
	natsStatus s = natsInbox_Create(&unique);

	if (s != NATS_OK)
		return s;
	auto_free char *inbox = xasprintf("%s%s", b->inbox ?: "_INBOX", strrchr(unique, '.'));
	s = natsConnection_SubscribeSync(&sub, b->connection, inbox);
	while (s == NATS_OK && (waiting || last >= first)) {
		if (last >= first && waiting < most) {
			s = ask_message(b, api, inbox, last--);
			waiting++;
		} else {
			s = time_mono_ns() < until ? take_answer(b, sub) : NATS_TIMEOUT;
			most = READ_AT_ONCE;
			waiting--;
		}
	}
	return s;
}

/*
 * Reads the number of messages that the stream keeps, and a sentence if its configuration is wrong.
 */
static natsStatus read_stream(const struct bus *b, const struct bus_read *ask, u64 *nr_kept,
			      const char **fault)
{
	auto_js jsCtx *js = NULL;
	auto_info jsStreamInfo *info = NULL;
	jsOptions o;

	jsOptions_Init(&o);
	o.Wait = WAIT_MS;
	natsStatus s = natsConnection_JetStream(&js, b->connection, &o);
	/* Make all streams, so that messages are kept from now on. */
	for (u32 i = 0; s == NATS_OK && ask->creates && i < NR_LINK_STREAMS; i++)
		if (make_stream(js, i) == NATS_TIMEOUT)
			break; /* this key has no right to it */
	s = s ?: find_stream(js, ask->stream, &info);
	if (s != NATS_OK)
		return s;
	const jsStreamState *state = &info->State;
	*fault = fault_of(info->Config, ask->stream);
	*nr_kept = state->Msgs;
	for (int i = 0; state->Subjects && i < state->Subjects->Count; i++)
		bus_put(b->sock, BUS_STORED, state->Subjects->List[i].Subject, "", "", 0);
	if (!ask->max || !*nr_kept || !info->Config->AllowDirect)
		return NATS_OK;
	u64 first = state->LastSeq > ask->max ? state->LastSeq - ask->max + 1 : 1;
	return read_messages(b, streams[ask->stream].name,
			     first > state->FirstSeq ? first : state->FirstSeq, state->LastSeq);
}

/* Sends BUS_STORED for each message, and BUS_STORED_END. */
static void answer_read(const struct bus *b, const u8 *packet, size_t nr)
{
	struct bus_parts p;
	struct bus_read ask;
	auto_free char *text = NULL;
	const char *fault = "";
	char kept[32];
	u64 nr_kept = 0;

	if (!bus_unpack(packet, nr, &p) || p.len != sizeof(ask))
		return;
	memcpy(&ask, p.bytes, sizeof(ask));
	natsStatus s = ask.stream < NR_LINK_STREAMS ? read_stream(b, &ask, &nr_kept, &fault)
						    : NATS_INVALID_ARG;
	if (s != NATS_OK)
		fault = text = xasprintf("cannot be read: %s", why_no_jetstream(s));
	snprintf(kept, sizeof(kept), "%llu", (unsigned long long)nr_kept);
	bus_put(b->sock, BUS_STORED_END, "", kept, fault, strlen(fault));
}

static void take_message(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *ctx)
{
	const struct bus *b = ctx;
	int len = natsMsg_GetDataLength(m);

	if (len > 0 && (size_t)len <= FLEET_MESSAGE_MAX)
		bus_put(b->sock, BUS_MESSAGE, natsMsg_GetSubject(m), natsMsg_GetReply(m) ?: "",
			natsMsg_GetData(m), (size_t)len);
	natsMsg_Destroy(m);
}

char *bus_url_shown(const char *urls)
{
	auto_free char *copy = xstrdup(urls);
	struct str out = { 0 };
	char *rest = copy, *url;

	while ((url = strsep(&rest, ","))) {
		char *host = strstr(url, "://"), *at;
		host = host ? host + 3 : url;
		at = strrchr(host, '@');
		str_addf(&out, "%s%.*s%s", out.len ? "," : "", (int)(host - url), url,
			 at ? at + 1 : host);
	}
	return str_take(&out);
}

static void connected(natsConnection *nc, void *ctx)
{
	struct bus *b = ctx;
	long long most = natsConnection_GetMaxPayload(nc);
	char url[256] = "";

	natsConnection_GetConnectedUrl(nc, url, sizeof(url));
	auto_free char *shown = bus_url_shown(url);
	auto_free char *text = xasprintf(
		"%s (tested with nats-server " TESTED ")%s", shown,
		b->has_key ? ""
			   : "; without a key of NATS, which is for trials only: sysflame fleet "
			     "init --hosts makes keys");
	put_text(ctx, BUS_UP, text);
	auto_free char *small =
		xasprintf("the server takes messages of %lld bytes; the fleet needs "
			  "max_payload: %u or more",
			  most, FLEET_MESSAGE_MAX);
	if (most < FLEET_MESSAGE_MAX)
		put_text(ctx, BUS_FAULT, small);
	if (bus_key_exists(&b->key) && !b->key.was_asked)
		put_text(ctx, BUS_FAULT,
			 "the server asks for no key: everybody who reaches it "
			 "has all rights of nodes and people");
	b->key.was_asked = false;
}

static void disconnected(natsConnection *nc, void *ctx)
{
	const char *why = NULL;

	natsConnection_GetLastError(nc, &why);
	put_text(ctx, BUS_DOWN, why && *why ? why : "the connection was lost");
}

/*
 * The library gives a connection up once the server has refused the key twice. The key may be added
 * again, so this process ends and is started again (sandbox/rights.h).
 */
static void closed(natsConnection *nc, void *ctx)
{
	put_text(ctx, BUS_DOWN, REFUSED);
	_exit(1);
}

/* The library reports a fault: messages arrive faster than they are read, or a right is missing. */
static void faulted(natsConnection *nc, natsSubscription *sub, natsStatus status, void *ctx)
{
	const char *why = NULL;

	natsConnection_GetLastError(nc, &why);
	put_text(ctx, BUS_FAULT, why && *why ? why : natsStatus_GetText(status));
}

/* Full jitter: nodes that lost the same server come back one by one. */
static int64_t delay(natsConnection *nc, int attempts, void *ctx)
{
	u64 most = 2000ull << (attempts < 5 ? attempts : 5), value = 0;

	if (most > DELAY_MAX_MS)
		most = DELAY_MAX_MS;
	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		value = most;
	return (int64_t)(1000 + value % (most - 999));
}

static natsStatus set_files(natsOptions *opts, struct bus *b, const struct link_options *o)
{
	auto_free char *creds = bus_file_in(o->dir, "nats.creds"),
		       *ca = bus_file_in(o->dir, "ca.pem");
	natsStatus s = NATS_OK;

	bus_key_init(&b->key, o->dir, o->name);
	b->has_key = creds || bus_key_exists(&b->key);
	if (bus_key_exists(&b->key))
		s = bus_key_set(opts, &b->key);
	else if (creds)
		s = natsOptions_SetUserCredentialsFromFiles(opts, creds, NULL);
	if (s == NATS_OK && ca)
		s = natsOptions_LoadCATrustedCertificates(opts, ca);
	return s;
}

/* Servers of the list, joined by commas. */
static natsStatus set_servers(natsOptions *opts, const char *urls)
{
	auto_free char *copy = xstrdup(urls);
	const char *servers[16];
	char *rest = copy, *url;
	int nr = 0;

	while ((url = strsep(&rest, ",")) && nr < (int)ARRAY_SIZE(servers))
		if (*url)
			servers[nr++] = url;
	return natsOptions_SetServers(opts, servers, nr);
}

static natsStatus set_options(natsOptions *opts, struct bus *b, const struct link_options *o)
{
	const natsStatus all[] = {
		set_servers(opts, o->url),
		set_files(opts, b, o),
		natsOptions_SetName(opts, o->name),
		o->inbox ? natsOptions_SetCustomInboxPrefix(opts, o->inbox) : NATS_OK,
		natsOptions_SetTimeout(opts, CONNECT_MS),
		natsOptions_SetMaxReconnect(opts, -1),
		natsOptions_SetCustomReconnectDelay(opts, delay, NULL),
		natsOptions_SetReconnectBufSize(opts, BUFFER_BYTES),
		natsOptions_SetReconnectedCB(opts, connected, b),
		natsOptions_SetDisconnectedCB(opts, disconnected, b),
		natsOptions_SetClosedCB(opts, closed, b),
		natsOptions_SetErrorHandler(opts, faulted, b),
		natsOptions_SetPingInterval(opts, PING_MS),
		natsOptions_SetWriteDeadline(opts, WRITE_MS),
		natsOptions_SetMaxPendingMsgs(opts, PENDING_MAX),
		natsOptions_UseGlobalMessageDelivery(opts, true),
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] != NATS_OK)
			return all[i];
	return NATS_OK;
}

/* The library's text begins with its file and line: "(conn.c:2088): ". */
static const char *last_error(void)
{
	const char *text = nats_GetLastError(NULL), *place = text ? strstr(text, "): ") : NULL;

	text = place && *text == '(' ? place + strlen("): ") : text;
	/* A server that closes at once may have said why, but TCP drops unread bytes at a reset. */
	return text && !strcmp(text, "Expected 'PONG', got ''") ? HUNG_UP : text;
}

static const char *why_not(natsStatus s)
{
	switch (s) {
	case NATS_INVALID_ARG:
		return "a file of --fleet-dir cannot be read, or is malformed: join, nats.nk, "
		       "nats.creds or ca.pem";
	case NATS_CONNECTION_AUTH_FAILED:
		return REFUSED;
	default:
		return last_error() ?: natsStatus_GetText(s);
	}
}

/* Waits before the next attempt. Returns false if the other end of the socket is closed. */
static bool wait_for_attempt(const struct bus *b, int nr)
{
	struct pollfd polled = { b->sock, 0, 0 };

	return !poll(&polled, 1, (int)delay(NULL, nr, NULL));
}

/*
 * Tries until it is connected; from then on the library does. Before 3.12.0 the library forgets a
 * server whose first handshake fails, and tries no more (nats.c, commit 77843e72).
 */
static int connect_bus(struct bus *b, const struct link_options *o)
{
	auto_options natsOptions *opts = NULL;
	natsStatus s = natsOptions_Create(&opts);

	if (s == NATS_OK)
		s = set_options(opts, b, o);
	for (int nr = 0; s == NATS_OK; nr++) {
		s = bus_key_connect(&b->connection, opts);
		if (s == NATS_OK) {
			connected(b->connection, b);
			return 0;
		}
		put_text(b, BUS_DOWN, why_not(s));
		if (s == NATS_INVALID_ARG || !wait_for_attempt(b, nr))
			return -EIO;
		s = NATS_OK;
	}
	put_text(b, BUS_DOWN, why_not(s));
	return -EIO;
}

static void subscribe(struct bus *b, const char *subject)
{
	for (u32 i = 0; i < b->nr_subjects; i++)
		if (!strcmp(b->subjects[i].subject, subject))
			return;
	if (b->nr_subjects == LINK_SUBJECTS_MAX)
		return;
	natsSubscription *sub = NULL;
	natsStatus s = natsConnection_Subscribe(&sub, b->connection, subject, take_message, b);
	if (s != NATS_OK) {
		put_text(b, BUS_DOWN, natsStatus_GetText(s));
		return;
	}
	b->subjects[b->nr_subjects].subject = xstrdup(subject);
	b->subjects[b->nr_subjects++].at = sub;
}

/* A question without an answer takes seconds. Messages must not wait for it. */
static void *answer_questions(void *ctx)
{
	const struct bus *b = ctx;
	auto_free u8 *packet = xmalloc(LINK_PACKET_MAX);
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	while (!packet_receive(b->questions[0], packet, LINK_PACKET_MAX, &nr, fds, &nr_fds))
		answer_read(b, packet, nr);
	return NULL;
}

static int start_questions(struct bus *b)
{
	pthread_t thread;

	fcntl(b->questions[1], F_SETFL, O_NONBLOCK);
	return pthread_create(&thread, NULL, answer_questions, b);
}

static void flush(const struct bus *b)
{
	natsConnection_FlushTimeout(b->connection, FLUSH_MS);
	bus_put(b->sock, BUS_FLUSH, "", "", "", 0);
}

static void take_packet(struct bus *b, const u8 *packet, size_t nr)
{
	natsConnection *connection = b->connection;
	struct bus_parts p;

	if (!bus_unpack(packet, nr, &p))
		return;
	if (p.kind == BUS_SUBSCRIBE)
		subscribe(b, p.subject);
	else if (p.kind == BUS_FLUSH)
		flush(b);
	else if (p.kind == BUS_STORED)
		packet_send(b->questions[1], packet, nr, NULL, 0);
	else if (p.kind == BUS_PUBLISH && *p.reply)
		natsConnection_PublishRequest(connection, p.subject, p.reply, p.bytes, (int)p.len);
	else if (p.kind == BUS_PUBLISH)
		natsConnection_Publish(connection, p.subject, p.bytes, (int)p.len);
}

int bus_run(int sock, const struct link_options *o)
{
	struct bus b = { .sock = sock, .inbox = o->inbox };
	auto_free u8 *packet = xmalloc(LINK_PACKET_MAX);
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	prctl(PR_SET_NAME, "sysflame-nats");
	signal(SIGPIPE, SIG_IGN);
	int err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, b.questions);
	err = err ?: guarded_confine(o->dir);
	if (err) {
		put_text(&b, BUS_DOWN, "the process cannot give up its rights");
		return 1;
	}
	if (connect_bus(&b, o) || start_questions(&b))
		return 1;
	bus_put(sock, BUS_STARTED, "", "", "", 0);
	while (!(err = packet_receive(sock, packet, LINK_PACKET_MAX, &nr, fds, &nr_fds)))
		take_packet(&b, packet, nr);
	/* The library's threads may wait for a server; nothing is left to be done. */
	_exit(err == -EPIPE ? 0 : 1);
}
