/* SPDX-License-Identifier: Apache-2.0 */
/* The counters that HotSpot keeps in /tmp/hsperfdata_USER/PID. */
#include "jvm/process/perfdata.h"

#include <string.h>

#include "base/alloc.h"

#define MAGIC     0xc0c0feca /* "cafec0c0" as bytes, read little-endian */
#define TYPE_BYTE 'B'
#define TYPE_LONG 'J'
#define VALUE_MAX 256

struct prologue {
	u32 magic;
	u8 byte_order, major, minor, accessible;
	u32 used, overflow;
	u64 modified;
	u32 entry_off, nr_entries;
};
_Static_assert(sizeof(struct prologue) == 32, "PerfDataPrologue of perfMemory.hpp");

struct perfdata_entry {
	u32 len, name_off, vector_len;
	u8 type, flags, units, variability;
	u32 data_off;
};
_Static_assert(sizeof(struct perfdata_entry) == 20, "PerfDataEntry of perfMemory.hpp");

static bool is_called(const u8 *at, const struct perfdata_entry *e, const char *name)
{
	size_t name_max = strlen(name) + 1;

	return e->name_off <= e->len && e->len - e->name_off >= name_max &&
	       !memcmp(at + e->name_off, name, name_max);
}

/* The offset of the entry of that name, and its header in *out; 0 if there is none. */
static size_t find(const u8 *bytes, size_t len, const char *name, struct perfdata_entry *out)
{
	struct prologue p;
	struct perfdata_entry e;

	if (len < sizeof(p))
		return 0;
	memcpy(&p, bytes, sizeof(p));
	if (p.magic != MAGIC || p.byte_order != 1 || p.major != 2)
		return 0;
	for (size_t off = p.entry_off, i = 0; i < p.nr_entries; i++, off += e.len) {
		if (off > len || len - off < sizeof(e))
			return 0;
		memcpy(&e, bytes + off, sizeof(e));
		if (e.len < sizeof(e) || e.len > len - off)
			return 0;
		if (is_called(bytes + off, &e, name)) {
			*out = e;
			return off;
		}
	}
	return 0;
}

char *perfdata_string(const u8 *bytes, size_t len, const char *name)
{
	struct perfdata_entry e;
	size_t off = find(bytes, len, name, &e);

	if (!off || e.type != TYPE_BYTE || !e.vector_len || e.vector_len > VALUE_MAX ||
	    e.data_off > e.len || e.len - e.data_off < e.vector_len)
		return NULL;
	return xstrndup((const char *)bytes + off + e.data_off, e.vector_len);
}

size_t perfdata_number(const u8 *bytes, size_t len, const char *name)
{
	struct perfdata_entry e;
	size_t off = find(bytes, len, name, &e);

	if (!off || e.type != TYPE_LONG || e.vector_len || e.data_off > e.len ||
	    e.len - e.data_off < sizeof(u64) || (off + e.data_off) % sizeof(u64))
		return 0;
	return off + e.data_off;
}
