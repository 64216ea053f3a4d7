/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of a JVM (runtime/flags/jvmFlag.hpp) and its options (runtime/arguments.hpp). Part of
 * jvm/hotspot/hotspot.h.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/hotspot/hotspot_private.h"

#define FLAGS_MAX    4000 /* JDK 8..28 have at most 1,400 */
#define FLAG_MAX_LEN 48   /* longer than every wanted name */
#define OPTIONS_MAX  4096

/* JVMFlag::WAS_SET_ON_COMMAND_LINE, or ORIG_COMMAND_LINE before JDK 17. */
#define SET_ON_COMMAND_LINE (1u << 17)

/* `entry`: the flag's object in the JVM, whose copy has its value's address `addr`. */
static void take_flag(struct vm_memory *j, const char *name, u64 entry, u64 addr)
{
	for (int i = 0; i < NR_JVM_FLAGS; i++) {
		if (strcmp(name, jvm_flag_name(i)) != 0)
			continue;
		j->build.flags[i] = addr - j->bias;
		if (vm_has(&j->build, FLAG_ORIGIN))
			j->build.flag_origins[i] =
				entry + j->build.fields[FLAG_ORIGIN].at - j->bias;
	}
}

/* The names are close together in libjvm's .rodata: one system call reads 256 of them. */
static void read_names(struct vm_memory *j, u64 at, const u8 *flags, size_t nr, size_t size)
{
	auto_free char *texts = xmalloc(nr * FLAG_MAX_LEN);
	auto_free struct mem_request *requests = xcalloc(nr, sizeof(*requests));

	for (size_t i = 0; i < nr; i++)
		requests[i] = (struct mem_request){ (u64)jvm_get(&j->build, FLAG_NAME,
								 flags + i * size, size),
						    texts + i * FLAG_MAX_LEN, FLAG_MAX_LEN, false };
	if (mem_read_batch(j->mem, requests, nr) < 0)
		return;
	for (size_t i = 0; i < nr; i++)
		if (requests[i].ok && memchr(requests[i].buf, '\0', FLAG_MAX_LEN))
			take_flag(j, requests[i].buf, at + i * size,
				  (u64)jvm_get(&j->build, FLAG_ADDR, flags + i * size, size));
}

void hotspot_find_flags(struct vm_memory *j)
{
	size_t size =
		j->build.sizes[SIZE_FLAG] ? j->build.sizes[SIZE_FLAG] : j->build.sizes[SIZE_FLAG_8];
	u64 flags, nr;

	if (!size || size > 256 || vm_read_static(j, FLAGS, &flags) ||
	    vm_read_static(j, NR_FLAGS, &nr) || nr > FLAGS_MAX)
		return;

	auto_free u8 *table = xmalloc(nr * size);
	if (!mem_read(j->mem, flags, table, nr * size))
		read_names(j, flags, table, nr, size);
}

int hotspot_flag(const struct hotspot *h, const char *name, bool *out)
{
	for (int i = 0; i < NR_JVM_FLAGS; i++) {
		u64 addr = h->jvm.build.flags[i];
		u8 value;

		if (strcmp(name, jvm_flag_name(i)) != 0)
			continue;
		if (!addr)
			return -ENOENT;
		int err = mem_read(h->jvm.mem, addr + h->jvm.bias, &value, 1);
		if (err)
			return err;
		*out = value != 0;
		return 0;
	}
	return -ENOENT;
}

int hotspot_flag_is_of_command_line(const struct hotspot *h, const char *name, bool *out)
{
	for (int i = 0; i < NR_JVM_FLAGS; i++) {
		u64 addr = h->jvm.build.flag_origins[i];
		u32 origin;

		if (strcmp(name, jvm_flag_name(i)) != 0)
			continue;
		if (!addr)
			return -ENOENT;
		int err = mem_read(h->jvm.mem, addr + h->jvm.bias, &origin, sizeof(origin));
		if (!err)
			*out = origin & SET_ON_COMMAND_LINE;
		return err;
	}
	return -ENOENT;
}

const char *hotspot_flag_name(size_t i)
{
	return i < NR_JVM_FLAGS ? jvm_flag_name(i) : NULL;
}

static void add_options(const struct hotspot *h, enum jvm_slot array, enum jvm_slot count,
			struct str *out)
{
	char text[HOTSPOT_OPTION_LEN];
	u64 at, nr, option;

	if (vm_read_static(&h->jvm, array, &at) || vm_read_static(&h->jvm, count, &nr) || !at)
		return;
	for (u64 i = 0; i < nr && i < OPTIONS_MAX; i++) {
		if (mem_read_u64(h->jvm.mem, at + i * sizeof(u64), &option))
			return;
		int err = mem_read_string(h->jvm.mem, option, text, sizeof(text));
		if (err && err != -ENAMETOOLONG)
			continue;
		str_addf(out, "%.*s\n", (int)strnlen(text, sizeof(text)), text);
	}
}

void hotspot_options(const struct hotspot *h, struct str *out)
{
	add_options(h, OPTIONS, NR_OPTIONS, out);
	add_options(h, FLAGS_OPTIONS, NR_FLAGS_OPTIONS, out);
}

/* The collector, by the flags that select one. */
const char *hotspot_collector(const struct hotspot *h)
{
	static const struct {
		const char *flag, *name;
	} all[] = {
		{ "UseG1GC", "G1" },
		{ "UseParallelGC", "Parallel" },
		{ "UseParallelOldGC", "Parallel" },
		{ "UseSerialGC", "Serial" },
		{ "UseConcMarkSweepGC", "CMS" },
		{ "UseZGC", "Z" },
		{ "UseShenandoahGC", "Shenandoah" },
		{ "UseEpsilonGC", "Epsilon" },
	};
	bool on;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!hotspot_flag(h, all[i].flag, &on) && on)
			return all[i].name;
	return "";
}
