/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of requests as OpenTelemetry's OTEP 4947 describes them, and the process context that
 * names their attributes.
 */
#pragma once

#include "publish.h"

struct record {
	unsigned char trace[16], span[8], valid, flags;
	uint16_t attributes_bytes;
	unsigned char attributes[612];
} __attribute__((packed, aligned(2)));

static inline void add_attribute(struct record *r, int key, const char *value)
{
	unsigned char *at = r->attributes + r->attributes_bytes;
	size_t len = strlen(value);

	at[0] = (unsigned char)key;
	at[1] = (unsigned char)len;
	memcpy(at + 2, value, len);
	r->attributes_bytes = (uint16_t)(r->attributes_bytes + 2 + len);
}

/* The numbers become trace and span. */
static inline void fill_record(struct record *r, const char *route, uint64_t number,
			       uint64_t thread)
{
	r->valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(r->trace, &number, 8);
	memcpy(r->trace + 8, &thread, 8);
	memcpy(r->span, &number, 8);
	r->attributes_bytes = 0;
	add_attribute(r, 1, "GET");
	add_attribute(r, 2, thread % 2 ? "odd" : "even");
	add_attribute(r, 0, route);
	atomic_signal_fence(memory_order_seq_cst);
	r->valid = 1;
}

/* Publishes the names of the keys 0 to 2. */
static inline int publish_keys(void)
{
	static const char *const keys[] = { "http.route", "http.request.method", "user" };
	static struct otel_bytes payload;
	struct otel_header *h = otel_map("memfd");

	if (!h)
		return -1;
	otel_service(&payload, "requests", "1.0");
	otel_text(&payload, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	otel_texts(&payload, 2, "threadlocal.attribute_key_map", keys, 3);
	otel_publish(h, payload.at, (uint32_t)payload.len);
	return 0;
}
