/* SPDX-License-Identifier: Apache-2.0 */
/* Reads variables of libjvm by their addresses in its file. */
#include "jvm/hotspot/variable.h"

#include "jvm/hotspot/hotspot_private.h"

u64 hotspot_libjvm(const struct hotspot *h)
{
	return h->jvm.image_start;
}

int hotspot_variable(const struct hotspot *h, u64 vaddr, bool *out)
{
	u64 addr = vaddr + h->jvm.bias;
	u8 value;

	if (addr < h->jvm.data_start || addr >= h->jvm.data_end)
		return -ERANGE;
	int err = mem_read(h->jvm.mem, addr, &value, 1);
	if (err)
		return err;
	if (value > 1)
		return -EBADMSG;
	*out = value;
	return 0;
}
