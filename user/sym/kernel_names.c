/* SPDX-License-Identifier: Apache-2.0 */
/* When kernel symbols are read. */
#include "sym/kernel_names.h"

#include "base/time.h"
#include "sym/kernel.h"

#define REFRESH_NS NS_PER_SEC

static void read_first(struct kernel_names *k)
{
	k->err = kernel_syms_read(&k->syms);
	k->read_ns = time_mono_ns();
	k->nr_reads = 1;
}

/*
 * Code of a module or BPF program that was loaded after the last read has no name yet. An unnamed
 * pc therefore triggers another read, if enough time has passed and no other pc did so meanwhile.
 */
static bool refresh(struct kernel_names *k, u64 pc)
{
	u64 now = time_mono_ns(), *nr_reads = dict_add(&k->unnamed, pc);

	if (!*nr_reads)
		*nr_reads = k->nr_reads;
	if (!k->syms || *nr_reads != k->nr_reads || now - k->read_ns <= REFRESH_NS)
		return false;
	kernel_syms_refresh(k->syms);
	k->read_ns = now;
	k->nr_reads++;
	return true;
}

static const char *find(const struct kernel_names *k, u64 pc, const char **module)
{
	u64 offset;

	return k->syms ? kernel_syms_find(k->syms, pc, module, &offset) : NULL;
}

const char *kernel_names_find(struct kernel_names *k, u64 pc, const char **module)
{
	*module = "";
	if (!k->nr_reads)
		read_first(k);
	const char *symbol = find(k, pc, module);
	if (!symbol && refresh(k, pc))
		symbol = find(k, pc, module);
	return symbol;
}

void kernel_names_fini(struct kernel_names *k)
{
	kernel_syms_free(k->syms);
	dict_fini(&k->unnamed);
	*k = (struct kernel_names){ 0 };
}
