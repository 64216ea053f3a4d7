/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes a process context as OpenTelemetry's OTEP 4719 describes, independent of sysflame's
 * reader. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct otel_header {
	char signature[8];
	uint32_t version, payload_len;
	_Atomic uint64_t published_ns;
	uint64_t payload;
};

struct otel_bytes {
	unsigned char at[8192];
	size_t len;
};

static inline void otel_varint(struct otel_bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		b->at[b->len++] = (unsigned char)(v | 0x80);
	b->at[b->len++] = (unsigned char)v;
}

static inline void otel_field(struct otel_bytes *b, int number, const void *bytes, size_t len)
{
	otel_varint(b, (uint64_t)number << 3 | 2);
	otel_varint(b, len);
	memcpy(b->at + b->len, bytes, len);
	b->len += len;
}

/* KeyValue { key, AnyValue { string_value } }, as field `number`. */
static inline void otel_text(struct otel_bytes *b, int number, const char *key, const char *text)
{
	static struct otel_bytes value, pair;

	value.len = pair.len = 0;
	otel_field(&value, 1, text, strlen(text));
	otel_field(&pair, 1, key, strlen(key));
	otel_field(&pair, 2, value.at, value.len);
	otel_field(b, number, pair.at, pair.len);
}

/* KeyValue { key, AnyValue { array_value { values { string_value } .. } } }. */
static inline void otel_texts(struct otel_bytes *b, int number, const char *key,
			      const char *const *texts, int nr)
{
	static struct otel_bytes one, array, value, pair;

	array.len = value.len = pair.len = 0;
	for (int i = 0; i < nr; i++) {
		one.len = 0;
		otel_field(&one, 1, texts[i], strlen(texts[i]));
		otel_field(&array, 1, one.at, one.len);
	}
	otel_field(&value, 5, array.at, array.len);
	otel_field(&pair, 1, key, strlen(key));
	otel_field(&pair, 2, value.at, value.len);
	otel_field(b, number, pair.at, pair.len);
}

/* An empty header in a mapping of the name: "anon", "shmem" or "memfd". NULL if that fails. */
static inline struct otel_header *otel_map(const char *kind)
{
	size_t len = (size_t)getpagesize();
	int fd = strcmp(kind, "memfd") ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC);
	int flags = fd >= 0 ? MAP_PRIVATE
			    : MAP_ANONYMOUS | (strcmp(kind, "shmem") ? MAP_PRIVATE : MAP_SHARED);

	if (fd >= 0 && ftruncate(fd, (off_t)len))
		return NULL;
	struct otel_header *h = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (h == MAP_FAILED)
		return NULL;
	madvise(h, len, MADV_DONTFORK);
	if (fd >= 0)
		close(fd);
	else if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, h, len, "OTEL_CTX"))
		return NULL;
	return h;
}

/* Publishes the payload, which must stay. `payload_len` is what the header claims. */
static inline void otel_publish(struct otel_header *h, const void *payload, uint32_t payload_len)
{
	struct timespec t;

	atomic_store(&h->published_ns, 0);
	memcpy(h->signature, "OTEL_CTX", 8);
	h->version = 2;
	h->payload_len = payload_len;
	h->payload = (uint64_t)(uintptr_t)payload;
	clock_gettime(CLOCK_BOOTTIME, &t);
	atomic_store(&h->published_ns, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

/* A payload that names a service, with its instance, environment and version. */
static inline void otel_service(struct otel_bytes *out, const char *service, const char *version)
{
	static struct otel_bytes resource;

	resource.len = out->len = 0;
	otel_text(&resource, 1, "telemetry.sdk.language", "c");
	otel_text(&resource, 1, "service.name", service);
	otel_text(&resource, 1, "service.instance.id", "i-4711");
	otel_text(&resource, 1, "service.version", version);
	otel_text(&resource, 1, "deployment.environment.name", "staging");
	otel_field(out, 1, resource.at, resource.len);
}
