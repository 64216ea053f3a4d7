/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the fleet. */
#include "fleet/wire/message.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "fleet.pb-c.h"
#include "fleet/wire/key.h"
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

/* A field of a struct, and of the message in fleet.proto. */
struct field {
	const char *name;
	u16 offset, size;
};

#define NAMED(type, name, member)                                                       \
	{                                                                               \
		name, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}
#define FIELD(type, member) NAMED(type, #member, member)

/* The fields that are copied as they are; others have code below. */
struct shape {
	const ProtobufCMessageDescriptor *of;
	const struct field *fields;
	size_t nr;
};

static const struct field sealed_fields[] = {
	FIELD(fleet_signed, key),
	FIELD(fleet_signed, signature),
};

static const struct field answer_fields[] = {
	FIELD(fleet_answer, id),       FIELD(fleet_answer, node),
	FIELD(fleet_answer, instance), FIELD(fleet_answer, verdict),
	FIELD(fleet_answer, why),      FIELD(fleet_answer, labels),
	FIELD(fleet_answer, version),  FIELD(fleet_answer, nr_all_services),
	FIELD(fleet_answer, nr_cpus),  FIELD(fleet_answer, nr_jvms),
	FIELD(fleet_answer, busy_ppm), FIELD(fleet_answer, policy_ms),
	FIELD(fleet_answer, kernel),
};

static const struct field done_fields[] = {
	FIELD(fleet_done, id),      FIELD(fleet_done, node),    FIELD(fleet_done, instance),
	FIELD(fleet_done, verdict), FIELD(fleet_done, why),     FIELD(fleet_done, size),
	FIELD(fleet_done, sha256),  FIELD(fleet_done, samples), FIELD(fleet_done, lost),
	FIELD(fleet_done, profile), FIELD(fleet_done, nr_died), FIELD(fleet_done, covered_ms),
};

static const struct field get_fields[] = {
	FIELD(fleet_get, id),     FIELD(fleet_get, instance), FIELD(fleet_get, secret),
	FIELD(fleet_get, offset), FIELD(fleet_get, len),
};

static const struct field chunk_fields[] = {
	FIELD(fleet_chunk, id),
	FIELD(fleet_chunk, node),
	FIELD(fleet_chunk, instance),
	FIELD(fleet_chunk, offset),
};

static const struct field alive_fields[] = { FIELD(fleet_alive, id) };

static const struct field request_fields[] = {
	FIELD(fleet_request, id),
	FIELD(fleet_request, nonce),
	FIELD(fleet_request, sent_ms),
	FIELD(fleet_request, want),
	FIELD(fleet_request, selector),
	FIELD(fleet_request, events),
	FIELD(fleet_request, reason),
	FIELD(fleet_request, hz),
	FIELD(fleet_request, duration_s),
	FIELD(fleet_request, ago_s),
	FIELD(fleet_request, nr_nodes),
	FIELD(fleet_request, pull_hash),
	FIELD(fleet_request, target),
	NAMED(fleet_request, "sampling_seed", sampling.seed),
	NAMED(fleet_request, "cpu_ppb", sampling.cpu_ppb),
	NAMED(fleet_request, "least_ppb", sampling.least_ppb),
	NAMED(fleet_request, "unknown_ppb", sampling.unknown_ppb),
	NAMED(fleet_request, "from_rank", sampling.from_rank),
	NAMED(fleet_request, "to_rank", sampling.to_rank),
};

#define SHAPE(message, fields)                                              \
	{                                                                   \
		&fleet__##message##__descriptor, fields, ARRAY_SIZE(fields) \
	}

static const struct shape shapes[NR_MESSAGE_KINDS] = {
	[MESSAGE_SIGNED] = SHAPE(signed, sealed_fields),
	[MESSAGE_ANSWER] = SHAPE(answer, answer_fields),
	[MESSAGE_DONE] = SHAPE(done, done_fields),
	[MESSAGE_GET] = SHAPE(get, get_fields),
	[MESSAGE_CHUNK] = SHAPE(chunk, chunk_fields),
	[MESSAGE_ALIVE] = SHAPE(alive, alive_fields),
	[MESSAGE_POLICY] = SHAPE(signed, sealed_fields),
};

static const struct shape request_shape = SHAPE(request, request_fields);

static const ProtobufCFieldDescriptor *descriptor_of(const struct shape *s, const struct field *f)
{
	return protobuf_c_message_descriptor_get_field_by_name(s->of, f->name);
}

static bool take_text(char *field, size_t size, const char *text)
{
	if (!utf8_is_clean(text, size - 1))
		return false;
	copy_text(field, size, text);
	return true;
}

/* Texts are clean and fit, bytes have exactly this length; numbers are checked by the caller. */
static bool take_fields(const struct shape *s, const ProtobufCMessage *in, void *out)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct field *f = &s->fields[i];
		const ProtobufCFieldDescriptor *d = descriptor_of(s, f);
		const void *from = (const char *)in + d->offset;
		void *to = (char *)out + f->offset;
		const ProtobufCBinaryData *bytes = from;
		if (d->type == PROTOBUF_C_TYPE_STRING) {
			if (!take_text(to, f->size, *(char *const *)from))
				return false;
		} else if (d->type == PROTOBUF_C_TYPE_BYTES) {
			if (bytes->len != f->size)
				return false;
			memcpy(to, bytes->data, f->size);
		} else {
			memcpy(to, from, f->size);
		}
	}
	return true;
}

/* `out` points into `in`. */
static void put_fields(const struct shape *s, const void *in, ProtobufCMessage *out)
{
	s->of->message_init(out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct field *f = &s->fields[i];
		const ProtobufCFieldDescriptor *d = descriptor_of(s, f);
		void *to = (char *)out + d->offset, *from = (char *)in + f->offset;
		if (d->type == PROTOBUF_C_TYPE_STRING)
			*(char **)to = from;
		else if (d->type == PROTOBUF_C_TYPE_BYTES)
			*(ProtobufCBinaryData *)to = (ProtobufCBinaryData){ f->size, from };
		else
			memcpy(to, from, f->size);
	}
}

bool message_url_is_valid(const char *url)
{
	size_t scheme = !strncmp(url, "https://", 8) ? 8 : !strncmp(url, "http://", 7) ? 7 : 0;
	size_t len = strlen(url);

	return scheme && len > scheme && len < FLEET_URL_TEXT && url[len - 1] != '/' &&
	       strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "-._~:/[]") == len;
}

static bool take_signed(const Fleet__Signed *in, struct fleet_signed *out)
{
	if (!in->request.len || in->request.len > sizeof(out->request))
		return false;
	out->len = (u32)in->request.len;
	memcpy(out->request, in->request.data, out->len);
	return true;
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
	out->nr_services = (u32)in->n_services;
	out->nr_cpus = in->nr_cpus < FLEET_CPUS_MAX ? in->nr_cpus : FLEET_CPUS_MAX;
	out->busy_ppm = limit_busy(in->busy_ppm, out->nr_cpus);
	/*
	 * People click on this address. Anything but a plain address is dropped; the message is
	 * kept.
	 */
	copy_text(out->url, sizeof(out->url), message_url_is_valid(in->url) ? in->url : "");
	for (size_t i = 0; i < in->n_runs && i < FLEET_RUNS; i++)
		if (!take_text(out->runs[i], sizeof(out->runs[i]), in->runs[i]))
			return false;
	for (u32 i = 0; i < out->nr_services; i++)
		if (!take_text(out->services[i], sizeof(out->services[i]), in->services[i]))
			return false;
	return node_name_is_valid(out->node);
}

static bool check_done(const struct fleet_done *d)
{
	bool has_result = d->verdict == VERDICT_ACCEPT;

	return d->verdict < NR_VERDICTS && d->size <= FLEET_BLOB_MAX && has_result == !!d->size &&
	       node_name_is_valid(d->node);
}

/* `out` points into `in`. */
static bool take_chunk(const Fleet__Chunk *in, struct fleet_chunk *out)
{
	out->data = in->data.data;
	out->len = (u32)in->data.len;
	return in->data.len <= FLEET_CHUNK_MAX && in->offset <= FLEET_BLOB_MAX &&
	       node_name_is_valid(out->node);
}

/* Reads and checks the parts of a message that the table of fields does not cover. */
static bool take_rest(const ProtobufCMessage *in, struct fleet_message *out)
{
	switch (out->kind) {
	case MESSAGE_SIGNED:
	case MESSAGE_POLICY:
		return take_signed((const Fleet__Signed *)in, &out->sealed);
	case MESSAGE_ANSWER:
		return take_answer((const Fleet__Answer *)in, &out->answer);
	case MESSAGE_DONE:
		return check_done(&out->done);
	case MESSAGE_GET:
		return out->get.len && out->get.len <= FLEET_CHUNK_MAX &&
		       out->get.offset <= FLEET_BLOB_MAX;
	case MESSAGE_CHUNK:
		return take_chunk((const Fleet__Chunk *)in, &out->chunk);
	case MESSAGE_ALIVE:
		return true;
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
	const struct shape *s = b[1] < NR_MESSAGE_KINDS ? &shapes[b[1]] : NULL;
	if (!s || !s->of || (len > SMALL_MAX && b[1] != MESSAGE_CHUNK))
		return -EBADMSG;
	memset(out, 0, sizeof(*out));
	out->kind = b[1];
	ProtobufCMessage *in = protobuf_c_message_unpack(s->of, NULL, len - 2, b + 2);
	if (!in)
		return -EBADMSG;
	bool is_right = take_fields(s, in, &out->sealed) && take_rest(in, out);
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

int request_decode(const u8 *bytes, size_t len, struct fleet_request *out)
{
	Fleet__Request *in = fleet__request__unpack(NULL, len, bytes);

	*out = (struct fleet_request){ 0 };
	bool is_right = in && take_fields(&request_shape, &in->base, out) && out->want < NR_WANTS &&
			out->sampling.from_rank <= out->sampling.to_rank;
	fleet__request__free_unpacked(in, NULL);
	return is_right ? 0 : -EBADMSG;
}

int request_encode(const struct fleet_request *r, struct fleet_signed *out)
{
	Fleet__Request m;

	put_fields(&request_shape, r, &m.base);
	if (fleet__request__get_packed_size(&m) > sizeof(out->request))
		return -E2BIG;
	out->len = (u32)fleet__request__pack(&m, out->request);
	return 0;
}

static void put(enum message_kind kind, const ProtobufCMessage *m, struct str *out)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	auto_free u8 *bytes = xmalloc(len + 1);

	protobuf_c_message_pack(m, bytes);
	str_add_char(out, FLEET_VERSION);
	str_add_char(out, (char)kind);
	str_add_bytes(out, bytes, len);
}

static void put_answer(const struct fleet_answer *in, Fleet__Answer *m, struct str *out)
{
	char *services[FLEET_SERVICES], *runs[FLEET_RUNS];

	m->url = (char *)in->url;
	m->n_services = in->nr_services;
	m->services = services;
	for (u32 i = 0; i < in->nr_services; i++)
		services[i] = (char *)in->services[i];
	m->runs = runs;
	for (u32 i = 0; i < FLEET_RUNS; i++)
		if (*in->runs[i])
			runs[m->n_runs++] = (char *)in->runs[i];
	put(MESSAGE_ANSWER, &m->base, out);
}

void message_encode(const struct fleet_message *m, struct str *out)
{
	union {
		ProtobufCMessage base;
		Fleet__Signed sealed;
		Fleet__Answer answer;
		Fleet__Done done;
		Fleet__Get get;
		Fleet__Chunk chunk;
		Fleet__Alive alive;
	} w;

	put_fields(&shapes[m->kind], &m->sealed, &w.base);
	if (m->kind == MESSAGE_ANSWER) {
		put_answer(&m->answer, &w.answer, out);
		return;
	}
	if (m->kind == MESSAGE_CHUNK)
		w.chunk.data = (ProtobufCBinaryData){ m->chunk.len, (u8 *)m->chunk.data };
	else if (m->kind == MESSAGE_SIGNED || m->kind == MESSAGE_POLICY)
		w.sealed.request = (ProtobufCBinaryData){ m->sealed.len, (u8 *)m->sealed.request };
	put(m->kind, &w.base, out);
}

int request_seal(const struct fleet_request *r, const u8 *private_key, struct str *out)
{
	struct fleet_message m = { .kind = MESSAGE_SIGNED };
	int err = request_encode(r, &m.sealed);

	err = err ?: key_sign(private_key, KEY_FOR_REQUEST, &m.sealed);
	if (!err)
		message_encode(&m, out);
	return err;
}
