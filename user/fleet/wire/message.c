/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the fleet. */
#include "fleet/wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "fleet.pb-c.h"
#include "fleet/wire/selector.h"

#define SMALL_MAX (8u << 10) /* bytes of messages that have no profile */

const char *verdict_name(enum verdict v)
{
	static const char *const names[NR_VERDICTS] = {
		"ACCEPT",    "NO_MATCH", "BUDGET",  "POLICY",   "BUSY",   "CLOCK",
		"SIGNATURE", "REPLAY",   "EXPIRED", "DISABLED", "FAILED",
	};

	return names[v];
}

static bool take_text(char *field, size_t size, const char *text)
{
	if (!utf8_is_clean(text, size - 1))
		return false;
	copy_text(field, size, text);
	return true;
}

static bool take_bytes(u8 *field, size_t len, const ProtobufCBinaryData *b)
{
	if (b->len != len)
		return false;
	memcpy(field, b->data, len);
	return true;
}

static bool take_node(char *field, size_t size, const char *text)
{
	return node_name_is_valid(text) && take_text(field, size, text);
}

bool message_url_is_valid(const char *url)
{
	size_t scheme = !strncmp(url, "https://", 8) ? 8 : !strncmp(url, "http://", 7) ? 7 : 0;
	size_t len = strlen(url);

	return scheme && len > scheme && len < FLEET_URL_TEXT && url[len - 1] != '/' &&
	       strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "-._~:/[]") == len;
}

/* People follow it: anything else than a plain address is dropped, not the message. */
static bool take_url(char *field, size_t size, const char *text)
{
	copy_text(field, size, message_url_is_valid(text) ? text : "");
	return true;
}

static bool take_signed(const Fleet__Signed *in, struct fleet_signed *out)
{
	if (!in->request.len || in->request.len > sizeof(out->request))
		return false;
	out->len = (u32)in->request.len;
	memcpy(out->request, in->request.data, out->len);
	return take_bytes(out->key, sizeof(out->key), &in->key) &&
	       take_bytes(out->signature, sizeof(out->signature), &in->signature);
}

/* A node cannot use more CPUs than it has; without a recorder it does not know their number. */
static u64 limit_busy(u64 busy_ppm, u32 nr_cpus)
{
	u64 most = (nr_cpus ?: FLEET_CPUS_MAX) * 1000000ull;

	return busy_ppm < most ? busy_ppm : most;
}

static bool take_answer(const Fleet__Answer *in, struct fleet_answer *out)
{
	if (in->verdict >= NR_VERDICTS || in->n_services > FLEET_SERVICES)
		return false;
	out->verdict = in->verdict;
	out->instance = in->instance;
	out->nr_services = (u32)in->n_services;
	out->nr_all_services = in->nr_services;
	out->nr_cpus = in->nr_cpus < FLEET_CPUS_MAX ? in->nr_cpus : FLEET_CPUS_MAX;
	out->nr_jvms = in->nr_jvms;
	out->busy_ppm = limit_busy(in->busy_ppm, out->nr_cpus);
	out->policy_ms = in->policy_ms;
	for (size_t i = 0; i < in->n_runs && i < FLEET_RUNS; i++)
		if (!take_text(out->runs[i], sizeof(out->runs[i]), in->runs[i]))
			return false;
	for (u32 i = 0; i < out->nr_services; i++)
		if (!take_text(out->services[i], sizeof(out->services[i]), in->services[i]))
			return false;
	return take_bytes(out->id, sizeof(out->id), &in->id) &&
	       take_node(out->node, sizeof(out->node), in->node) &&
	       take_text(out->why, sizeof(out->why), in->why) &&
	       take_text(out->labels, sizeof(out->labels), in->labels) &&
	       take_text(out->version, sizeof(out->version), in->version) &&
	       take_url(out->url, sizeof(out->url), in->url);
}

static bool take_done(const Fleet__Done *in, struct fleet_done *out)
{
	bool has_result = in->verdict == VERDICT_ACCEPT;

	if (in->verdict >= NR_VERDICTS || in->size > FLEET_BLOB_MAX || has_result != !!in->size)
		return false;
	if (has_result && !take_bytes(out->sha256, sizeof(out->sha256), &in->sha256))
		return false;
	out->verdict = in->verdict;
	out->instance = in->instance;
	out->size = in->size;
	out->samples = in->samples;
	out->lost = in->lost;
	out->profile = in->profile;
	out->nr_died = in->nr_died;
	out->covered_ms = in->covered_ms;
	return take_bytes(out->id, sizeof(out->id), &in->id) &&
	       take_node(out->node, sizeof(out->node), in->node) &&
	       take_text(out->why, sizeof(out->why), in->why);
}

static bool take_get(const Fleet__Get *in, struct fleet_get *out)
{
	out->instance = in->instance;
	out->offset = in->offset;
	out->len = in->len;
	return in->len && in->len <= FLEET_CHUNK_MAX && in->offset <= FLEET_BLOB_MAX &&
	       take_bytes(out->id, sizeof(out->id), &in->id) &&
	       take_bytes(out->secret, sizeof(out->secret), &in->secret);
}

/* `out` points into `in`. */
static bool take_chunk(const Fleet__Chunk *in, struct fleet_chunk *out)
{
	out->instance = in->instance;
	out->offset = in->offset;
	out->data = in->data.data;
	out->len = (u32)in->data.len;
	return in->data.len <= FLEET_CHUNK_MAX && in->offset <= FLEET_BLOB_MAX &&
	       take_bytes(out->id, sizeof(out->id), &in->id) &&
	       take_node(out->node, sizeof(out->node), in->node);
}

static bool take_alive(const Fleet__Alive *in, struct fleet_alive *out)
{
	return take_bytes(out->id, sizeof(out->id), &in->id);
}

static const ProtobufCMessageDescriptor *descriptor(enum message_kind kind)
{
	static const ProtobufCMessageDescriptor *const all[NR_MESSAGE_KINDS] = {
		[MESSAGE_SIGNED] = &fleet__signed__descriptor,
		[MESSAGE_ANSWER] = &fleet__answer__descriptor,
		[MESSAGE_DONE] = &fleet__done__descriptor,
		[MESSAGE_GET] = &fleet__get__descriptor,
		[MESSAGE_CHUNK] = &fleet__chunk__descriptor,
		[MESSAGE_ALIVE] = &fleet__alive__descriptor,
		[MESSAGE_POLICY] = &fleet__signed__descriptor,
	};

	return all[kind];
}

static bool take_message(const ProtobufCMessage *in, struct fleet_message *out)
{
	switch (out->kind) {
	case MESSAGE_SIGNED:
	case MESSAGE_POLICY:
		return take_signed((const Fleet__Signed *)in, &out->sealed);
	case MESSAGE_ANSWER:
		return take_answer((const Fleet__Answer *)in, &out->answer);
	case MESSAGE_DONE:
		return take_done((const Fleet__Done *)in, &out->done);
	case MESSAGE_GET:
		return take_get((const Fleet__Get *)in, &out->get);
	case MESSAGE_CHUNK:
		return take_chunk((const Fleet__Chunk *)in, &out->chunk);
	case MESSAGE_ALIVE:
		return take_alive((const Fleet__Alive *)in, &out->alive);
	case NR_MESSAGE_KINDS:
		break;
	}
	return false;
}

int message_decode(const void *bytes, size_t len, struct fleet_message *out)
{
	const u8 *b = bytes;

	if (len < 2 || len > FLEET_MESSAGE_MAX)
		return -EBADMSG;
	if (b[0] != FLEET_VERSION)
		return -EPROTONOSUPPORT;
	if (b[1] >= NR_MESSAGE_KINDS || !descriptor(b[1]) ||
	    (len > SMALL_MAX && b[1] != MESSAGE_CHUNK))
		return -EBADMSG;
	memset(out, 0, sizeof(*out));
	out->kind = b[1];
	ProtobufCMessage *in = protobuf_c_message_unpack(descriptor(b[1]), NULL, len - 2, b + 2);
	if (!in)
		return -EBADMSG;
	bool is_right = take_message(in, out);
	if (is_right && out->kind == MESSAGE_CHUNK)
		out->owner = take(in);
	if (in)
		protobuf_c_message_free_unpacked(in, NULL);
	return is_right ? 0 : -EBADMSG;
}

void message_fini(struct fleet_message *m)
{
	if (m->owner)
		protobuf_c_message_free_unpacked(take(m->owner), NULL);
}

static bool take_request(const Fleet__Request *in, struct fleet_request *out)
{
	*out = (struct fleet_request){
		.sent_ms = in->sent_ms,
		.want = in->want,
		.hz = in->hz,
		.duration_s = in->duration_s,
		.ago_s = in->ago_s,
		.sampling = { .cpu_ppb = in->cpu_ppb,
			      .least_ppb = in->least_ppb,
			      .unknown_ppb = in->unknown_ppb,
			      .from_rank = in->from_rank,
			      .to_rank = in->to_rank },
		.nr_matched = in->nr_matched,
		.nr_nodes = in->nr_nodes,
	};

	return in->want < NR_WANTS && in->from_rank <= in->to_rank &&
	       take_bytes(out->sampling.seed, sizeof(out->sampling.seed), &in->sampling_seed) &&
	       take_bytes(out->id, sizeof(out->id), &in->id) &&
	       take_bytes(out->nonce, sizeof(out->nonce), &in->nonce) &&
	       take_bytes(out->pull_hash, sizeof(out->pull_hash), &in->pull_hash) &&
	       (!in->target.len || take_bytes(out->target, sizeof(out->target), &in->target)) &&
	       take_text(out->selector, sizeof(out->selector), in->selector) &&
	       take_text(out->events, sizeof(out->events), in->events) &&
	       take_text(out->reason, sizeof(out->reason), in->reason);
}

int request_decode(const u8 *bytes, size_t len, struct fleet_request *out)
{
	Fleet__Request *in = fleet__request__unpack(NULL, len, bytes);
	bool is_right = in && take_request(in, out);

	fleet__request__free_unpacked(in, NULL);
	return is_right ? 0 : -EBADMSG;
}

static ProtobufCBinaryData bytes_of(const void *at, size_t len)
{
	return (ProtobufCBinaryData){ len, (u8 *)at };
}

#define BYTES(field) bytes_of(field, sizeof(field))

static void put(enum message_kind kind, const ProtobufCMessage *m, struct str *out)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	auto_free u8 *bytes = malloc(len + 1);

	if (!bytes)
		abort();
	protobuf_c_message_pack(m, bytes);
	str_add_char(out, FLEET_VERSION);
	str_add_char(out, (char)kind);
	str_add_bytes(out, bytes, len);
}

static void put_signed(enum message_kind kind, const struct fleet_signed *in, struct str *out)
{
	Fleet__Signed m = FLEET__SIGNED__INIT;

	m.request = bytes_of(in->request, in->len);
	m.key = BYTES(in->key);
	m.signature = BYTES(in->signature);
	put(kind, &m.base, out);
}

static void put_answer(const struct fleet_answer *in, struct str *out)
{
	Fleet__Answer m = FLEET__ANSWER__INIT;
	char *services[FLEET_SERVICES], *runs[FLEET_RUNS];

	for (u32 i = 0; i < in->nr_services; i++)
		services[i] = (char *)in->services[i];
	m.id = BYTES(in->id);
	m.node = (char *)in->node;
	m.instance = in->instance;
	m.verdict = in->verdict;
	m.why = (char *)in->why;
	m.labels = (char *)in->labels;
	m.version = (char *)in->version;
	m.url = (char *)in->url;
	m.n_services = in->nr_services;
	m.services = services;
	m.nr_services = in->nr_all_services;
	m.nr_cpus = in->nr_cpus;
	m.nr_jvms = in->nr_jvms;
	m.busy_ppm = in->busy_ppm;
	m.policy_ms = in->policy_ms;
	m.runs = runs;
	for (u32 i = 0; i < FLEET_RUNS; i++)
		if (*in->runs[i])
			runs[m.n_runs++] = (char *)in->runs[i];
	put(MESSAGE_ANSWER, &m.base, out);
}

static void put_done(const struct fleet_done *in, struct str *out)
{
	Fleet__Done m = FLEET__DONE__INIT;

	m.id = BYTES(in->id);
	m.node = (char *)in->node;
	m.instance = in->instance;
	m.verdict = in->verdict;
	m.why = (char *)in->why;
	m.size = in->size;
	m.sha256 = BYTES(in->sha256);
	m.samples = in->samples;
	m.lost = in->lost;
	m.profile = in->profile;
	m.nr_died = in->nr_died;
	m.covered_ms = in->covered_ms;
	put(MESSAGE_DONE, &m.base, out);
}

static void put_get(const struct fleet_get *in, struct str *out)
{
	Fleet__Get m = FLEET__GET__INIT;

	m.id = BYTES(in->id);
	m.instance = in->instance;
	m.secret = BYTES(in->secret);
	m.offset = in->offset;
	m.len = in->len;
	put(MESSAGE_GET, &m.base, out);
}

static void put_chunk(const struct fleet_chunk *in, struct str *out)
{
	Fleet__Chunk m = FLEET__CHUNK__INIT;

	m.id = BYTES(in->id);
	m.node = (char *)in->node;
	m.instance = in->instance;
	m.offset = in->offset;
	m.data = bytes_of(in->data, in->len);
	put(MESSAGE_CHUNK, &m.base, out);
}

static void put_alive(const struct fleet_alive *in, struct str *out)
{
	Fleet__Alive m = FLEET__ALIVE__INIT;

	m.id = BYTES(in->id);
	put(MESSAGE_ALIVE, &m.base, out);
}

void message_encode(const struct fleet_message *m, struct str *out)
{
	switch (m->kind) {
	case MESSAGE_SIGNED:
	case MESSAGE_POLICY:
		put_signed(m->kind, &m->sealed, out);
		break;
	case MESSAGE_ANSWER:
		put_answer(&m->answer, out);
		break;
	case MESSAGE_DONE:
		put_done(&m->done, out);
		break;
	case MESSAGE_GET:
		put_get(&m->get, out);
		break;
	case MESSAGE_CHUNK:
		put_chunk(&m->chunk, out);
		break;
	case MESSAGE_ALIVE:
		put_alive(&m->alive, out);
		break;
	case NR_MESSAGE_KINDS:
		break;
	}
}

int request_encode(const struct fleet_request *r, struct fleet_signed *out)
{
	Fleet__Request m = FLEET__REQUEST__INIT;

	m.id = BYTES(r->id);
	m.nonce = BYTES(r->nonce);
	m.sent_ms = r->sent_ms;
	m.want = r->want;
	m.selector = (char *)r->selector;
	m.events = (char *)r->events;
	m.hz = r->hz;
	m.duration_s = r->duration_s;
	m.ago_s = r->ago_s;
	m.cpu_ppb = r->sampling.cpu_ppb;
	m.least_ppb = r->sampling.least_ppb;
	m.unknown_ppb = r->sampling.unknown_ppb;
	m.from_rank = r->sampling.from_rank;
	m.to_rank = r->sampling.to_rank;
	m.nr_matched = r->nr_matched;
	m.nr_nodes = r->nr_nodes;
	m.sampling_seed = BYTES(r->sampling.seed);
	m.pull_hash = BYTES(r->pull_hash);
	m.target = BYTES(r->target);
	m.reason = (char *)r->reason;
	if (fleet__request__get_packed_size(&m) > sizeof(out->request))
		return -E2BIG;
	out->len = (u32)fleet__request__pack(&m, out->request);
	return 0;
}
