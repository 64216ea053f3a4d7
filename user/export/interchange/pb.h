/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers as a stream of fields: a large message is packed and read one inner message at a
 * time (docs/decisions/0002). Wire format: protobuf.dev, "Encoding".
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"

struct pb_reader {
	const u8 *start, *at, *end;
};

struct pb_field {
	u32 number;
	bool is_bytes;
	u64 value;    /* if not is_bytes */
	const u8 *at; /* bytes of a message, a text or packed numbers; never NULL */
	size_t len;   /* 0 if not is_bytes */
};

struct pb_reader pb_read(const void *bytes, size_t len);

/* Returns 1 and the next field, 0 at the end, -EINVAL if the next field is damaged. */
int pb_next(struct pb_reader *r, struct pb_field *f);

/*
 * The field as a message, or NULL if it is not one. Free it with protobuf_c_message_free_unpacked.
 */
void *pb_message(const ProtobufCMessageDescriptor *type, const struct pb_field *f);

/* Appends the fields of `message`. */
void pb_add(struct str *out, const void *message);

/* Appends one field that holds `bytes`. */
void pb_add_bytes(struct str *out, u32 number, const void *bytes, size_t len);

static inline void pb_free(void *message)
{
	if (*(ProtobufCMessage **)message)
		protobuf_c_message_free_unpacked(*(ProtobufCMessage **)message, NULL);
}

#define auto_pb __attribute__((cleanup(pb_free)))
