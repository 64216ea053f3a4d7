/* SPDX-License-Identifier: Apache-2.0 */
/* JetStream, for the process that talks to NATS. */
#include "fleet/bus_streams.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/entry.h"
#include "fleet/policy.h"
#include "fleet/stream_names.h"

#define WAIT_MS      2000
#define SEEN_BUCKET  "SYSFLAME_NODES"
#define SEEN_S       90
#define KEPT_S       (90 * 24 * 3600)
#define KEPT_BYTES   (512ll << 20) /* of a stream */
#define KEPT_MAX     10000         /* of a node or a person: no one can crowd out the others */
#define READ_MS      8000          /* for a whole stream */
#define READ_MAX     10000         /* messages */
#define READ_AT_ONCE 128           /* questions on their way */

AUTO_DEFINE(js, jsCtx *, jsCtx_Destroy)
#define auto_js __attribute__((cleanup(auto_js_run)))
AUTO_DEFINE(kv, kvStore *, kvStore_Destroy)
#define auto_kv __attribute__((cleanup(auto_kv_run)))
AUTO_DEFINE(inbox, natsInbox *, natsInbox_Destroy)
#define auto_inbox __attribute__((cleanup(auto_inbox_run)))
AUTO_DEFINE(sub, natsSubscription *, natsSubscription_Destroy)
#define auto_sub __attribute__((cleanup(auto_sub_run)))
AUTO_DEFINE(info, jsStreamInfo *, jsStreamInfo_Destroy)
#define auto_info __attribute__((cleanup(auto_info_run)))

struct stream_kind {
	const char *name, *subjects;
	u32 kept_s; /* 0: for ever */
};

static const struct stream_kind streams[NR_LINK_STREAMS] = {
	[LINK_STREAM_AUDIT] = { "SYSFLAME_AUDIT", "sysflame.v1.audit.*.*", KEPT_S },
	[LINK_STREAM_FIRED] = { "SYSFLAME_RESULTS", "sysflame.v1.ev.*", KEPT_S },
	[LINK_STREAM_POLICY] = { "SYSFLAME_POLICY", POLICY_SUBJECT, 0 },
};

static natsStatus open_js(natsConnection *nc, jsCtx **out)
{
	jsOptions o;

	jsOptions_Init(&o);
	o.Wait = WAIT_MS;
	return natsConnection_JetStream(out, nc, &o);
}

/* "": it is all right. */
static const char *why_not(natsStatus s)
{
	switch (s) {
	case NATS_OK:
		return "";
	case NATS_NO_RESPONDERS:
		return "the NATS server runs without JetStream";
	case NATS_TIMEOUT:
		return "JetStream does not answer; this key may have no right to it";
	default:
		return nats_GetLastError(NULL) ?: natsStatus_GetText(s);
	}
}

/*
 * Nobody may change or remove a message. Nodes and people fill the stream by plain publishing; who
 * may create streams makes it, when it is missing.
 */
static natsStatus open_stream(jsCtx *js, enum link_stream i, jsStreamInfo **out)
{
	const char *subjects[] = { streams[i].subjects };
	jsStreamConfig c;
	natsStatus s = js_GetStreamInfo(out, js, streams[i].name, NULL, NULL);

	if (s != NATS_NOT_FOUND)
		return s;
	jsStreamConfig_Init(&c);
	c.Name = streams[i].name;
	c.Subjects = subjects;
	c.SubjectsLen = 1;
	c.Storage = js_FileStorage;
	c.MaxAge = streams[i].kept_s * (int64_t)NS_PER_SEC;
	c.MaxBytes = KEPT_BYTES;
	c.MaxMsgsPerSubject = KEPT_MAX;
	c.MaxMsgSize = ENTRY_MAX;
	c.DenyDelete = true;
	c.DenyPurge = true;
	c.AllowDirect = true;
	return js_AddStream(out, js, &c, NULL, NULL);
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

static natsStatus open_bucket(jsCtx *js, bool creates, kvStore **out)
{
	kvConfig config;
	natsStatus s = js_KeyValue(out, js, SEEN_BUCKET);

	if (s == NATS_OK || !creates)
		return s;
	kvConfig_Init(&config);
	config.Bucket = SEEN_BUCKET;
	config.History = 1;
	config.TTL = SEEN_S * (int64_t)NS_PER_SEC;
	config.StorageType = js_MemoryStorage;
	return js_CreateKeyValue(out, js, &config);
}

/* Names come with the state of the stream: there is no consumer. */
static natsStatus put_names(const struct bus_client *b, jsCtx *js)
{
	size_t prefix = strlen(STREAM_SEEN);
	auto_info jsStreamInfo *info = NULL;
	jsOptions o;

	jsOptions_Init(&o);
	o.Wait = WAIT_MS;
	o.Stream.Info.SubjectsFilter = STREAM_SEEN ">";
	natsStatus s = js_GetStreamInfo(&info, js, "KV_" SEEN_BUCKET, &o, NULL);
	const jsStreamStateSubjects *all = s == NATS_OK ? info->State.Subjects : NULL;
	for (int i = 0; all && i < all->Count; i++)
		if (!strncmp(all->List[i].Subject, STREAM_SEEN, prefix))
			bus_put(b->sock, BUS_SEEN, all->List[i].Subject + prefix, "", "", 0);
	return s;
}

/* Not kvStore_Get, whose subject is no right of people (fleet/rights.c). */
static natsStatus put_time(const struct bus_client *b, jsCtx *js, const char *node)
{
	auto_free char *subject = xasprintf("%s%s", STREAM_SEEN, node);
	natsMsg *m = NULL;
	char text[32];
	natsStatus s = js_GetLastMsg(&m, js, "KV_" SEEN_BUCKET, subject, NULL, NULL);

	if (s == NATS_OK) {
		snprintf(text, sizeof(text), "%lld",
			 (long long)(natsMsg_GetTime(m) / (int64_t)NS_PER_MS));
		bus_put(b->sock, BUS_SEEN, node, "", text, strlen(text));
	}
	natsMsg_Destroy(m);
	return s == NATS_NOT_FOUND ? NATS_OK : s;
}

/* The first command that may creates all of them, so that nothing is lost until somebody reads. */
static void open_streams(jsCtx *js)
{
	for (enum link_stream i = 0; i < NR_LINK_STREAMS; i++) {
		auto_info jsStreamInfo *info = NULL;
		if (open_stream(js, i, &info) == NATS_TIMEOUT)
			return; /* this key has no right to it */
	}
}

void bus_list_seen(const struct bus_client *b, const char *node, bool creates)
{
	auto_js jsCtx *js = NULL;
	auto_kv kvStore *kv = NULL;
	natsStatus s = open_js(b->connection, &js);

	if (s == NATS_OK)
		s = open_bucket(js, creates, &kv);
	if (s == NATS_OK && creates && !*node)
		open_streams(js);
	if (s == NATS_OK)
		s = *node ? put_time(b, js, node) : put_names(b, js);
	const char *why = why_not(s);
	bus_put(b->sock, BUS_SEEN_END, "", "", why, strlen(why));
}

/* The newest first. Several questions are on their way; the answers have subjects of their own. */
struct reading {
	const struct bus_client *bus;
	const char *api, *inbox;
	u64 next, first; /* sequence numbers */
	u32 waiting;
	bool has_right; /* an answer has arrived: without the right to ask, one refusal is enough */
};

static natsStatus ask_next(struct reading *r)
{
	auto_free char *reply = xasprintf("%s.%llu", r->inbox, (unsigned long long)r->next);
	auto_free char *ask = xasprintf("{\"seq\":%llu}", (unsigned long long)r->next);

	r->next--;
	r->waiting++;
	return natsConnection_PublishRequestString(r->bus->connection, r->api, reply, ask);
}

/* A message without a subject says that the stream has dropped that one. */
static natsStatus take_answer(struct reading *r, natsSubscription *sub)
{
	const char *subject = NULL;
	natsMsg *m = NULL;
	natsStatus s = natsSubscription_NextMsg(&m, sub, WAIT_MS);

	if (s != NATS_OK)
		return s;
	int len = natsMsg_GetDataLength(m);
	r->waiting--;
	r->has_right = true;
	if (natsMsg_IsNoResponders(m))
		s = NATS_NO_RESPONDERS;
	else if (natsMsgHeader_Get(m, "Nats-Subject", &subject) == NATS_OK && len > 0 &&
		 len <= ENTRY_MAX)
		bus_put(r->bus->sock, BUS_STORED, subject, "", natsMsg_GetData(m), (size_t)len);
	natsMsg_Destroy(m);
	return s;
}

/* The library's own inboxes ignore the prefix to which people have a right. */
static natsStatus subscribe(const struct bus_client *b, char **inbox, natsSubscription **sub)
{
	auto_inbox natsInbox *unique = NULL;
	natsStatus s = natsInbox_Create(&unique);

	if (s != NATS_OK)
		return s;
	*inbox = xasprintf("%s%s", b->inbox ?: "_INBOX", strrchr(unique, '.'));
	auto_free char *answers = xasprintf("%s.*", *inbox);
	return natsConnection_SubscribeSync(sub, b->connection, answers);
}

static natsStatus read_messages(struct reading *r)
{
	auto_free char *inbox = NULL;
	auto_sub natsSubscription *sub = NULL;
	u64 until = time_mono_ns() + READ_MS * NS_PER_MS;
	natsStatus s = subscribe(r->bus, &inbox, &sub);

	r->inbox = inbox;
	while (s == NATS_OK && (r->waiting || r->next >= r->first)) {
		if (r->next >= r->first && r->waiting < (r->has_right ? READ_AT_ONCE : 1))
			s = ask_next(r);
		else
			s = time_mono_ns() < until ? take_answer(r, sub) : NATS_TIMEOUT;
	}
	return s;
}

/* The number of messages that it keeps, and a sentence on it if something is wrong. */
static natsStatus read_stream(const struct bus_client *b, const struct bus_read *ask, u64 *nr_kept,
			      const char **fault)
{
	auto_js jsCtx *js = NULL;
	auto_info jsStreamInfo *info = NULL;
	auto_free char *api = xasprintf("$JS.API.DIRECT.GET.%s", streams[ask->stream].name);
	struct reading r = { .bus = b, .api = api };
	u32 max = ask->max < READ_MAX ? ask->max : READ_MAX;
	natsStatus s = open_js(b->connection, &js);

	if (s == NATS_OK)
		s = open_stream(js, ask->stream, &info);
	if (s != NATS_OK)
		return s;
	*fault = fault_of(info->Config, ask->stream);
	*nr_kept = info->State.Msgs;
	r.next = info->State.LastSeq;
	r.first = r.next > max ? r.next - max + 1 : 1;
	if (r.first < info->State.FirstSeq)
		r.first = info->State.FirstSeq;
	return *nr_kept && info->Config->AllowDirect ? read_messages(&r) : NATS_OK;
}

void bus_read_stream(const struct bus_client *b, const void *ask)
{
	struct bus_read order;
	auto_free char *text = NULL;
	const char *fault = "";
	char kept[32];
	u64 nr_kept = 0;

	memcpy(&order, ask, sizeof(order));
	natsStatus s = order.stream < NR_LINK_STREAMS ? read_stream(b, &order, &nr_kept, &fault)
						      : NATS_INVALID_ARG;
	if (s != NATS_OK)
		text = xasprintf("cannot be read: %s", why_not(s));
	fault = text ?: fault;
	snprintf(kept, sizeof(kept), "%llu", (unsigned long long)nr_kept);
	bus_put(b->sock, BUS_STORED_END, "", kept, fault, strlen(fault));
}
