/* SPDX-License-Identifier: Apache-2.0 */
/* Checks arbitrary bytes as a message. Every accepted message is within the limits of the protocol.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "daemon/channel/channel.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct control_message m;

	if (size < 5)
		return 0;
	memset(&m, 0, sizeof(m));
	m.kind = data[0] % (NR_CONTROL_KINDS + 1);
	size_t len = 4 + (size_t)data[1] * 256 + data[2], rest = size - 3;
	memcpy((char *)&m + 4, data + 3, rest < sizeof(m) - 4 ? rest : sizeof(m) - 4);
	if (!channel_check(&m, len, data[0] & 0x80))
		return 0;
	check(len <= sizeof(m));
	if (m.kind == CONTROL_JVMS)
		for (u32 i = 0; i < m.jvms.nr; i++)
			check(m.jvms.at[i].pid > 0 && strlen(m.jvms.at[i].main) < 192);
	if (m.kind == CONTROL_READING)
		for (u32 i = 0; i < m.reading.nr; i++)
			check(m.reading.at[i].pid > 0 && strlen(m.reading.at[i].name) < 192 &&
			      m.reading.at[i].nr_methods <= CONTROL_READING_METHODS);
	if (m.kind == CONTROL_SLICE)
		for (u32 i = 0; i < m.slice.nr; i++)
			check(strlen(m.slice.services[i].name) < 120);
	if (m.kind == CONTROL_CRASHED)
		check(m.crashed.pid > 0 && strlen(m.crashed.namespace) < 128);
	if (m.kind == CONTROL_ENDED)
		check(utf8_is_clean(m.ended.why, 1023));
	return 0;
}
