/* SPDX-License-Identifier: Apache-2.0 */
/* Packets between the process that talks to NATS and the one that started it. Part of fleet/bus.h.
 */
#include "fleet/bus.h"

#include <errno.h>
#include <string.h>

#include "base/packet.h"

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

void bus_put(int sock, enum bus_packet_kind kind, const char *subject, const char *reply,
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
