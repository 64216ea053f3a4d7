/* SPDX-License-Identifier: Apache-2.0 */
/* When kernel symbols are read. */
#include "sym/kernel_names.h"

#include "base/time.h"
#include "sym/kernel.h"

#define PAUSE_NS     NS_PER_SEC
#define PAUSE_MAX_NS (64 * NS_PER_SEC) /* a read takes up to 0.1 s of CPU time */
#define UNNAMED_MAX  65536

static void read_first(struct kernel_names *k)
{
	k->err = kernel_syms_read(&k->syms);
	k->read_ns = time_mono_ns();
	k->nr_reads = 1;
	k->pause_ns = PAUSE_NS;
}

/*
 * Code of a module or BPF program that was loaded after the last read has no name yet. An unnamed
 * pc therefore triggers another read, if enough time has passed and no other pc did so meanwhile.
 */
static bool refresh(struct kernel_names *k, u64 pc)
{
	u64 now = time_mono_ns();

	if (k->unnamed.nr >= UNNAMED_MAX)
		dict_fini(&k->unnamed);
	u64 *nr_reads = dict_add(&k->unnamed, pc);
	if (!*nr_reads)
		*nr_reads = k->nr_reads;
	if (!k->syms || *nr_reads != k->nr_reads || now - k->read_ns <= k->pause_ns)
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
	if (symbol || !refresh(k, pc))
		return symbol;
	symbol = find(k, pc, module);
	if (symbol)
		k->pause_ns = PAUSE_NS;
	else if (k->pause_ns < PAUSE_MAX_NS)
		k->pause_ns *= 2;
	return symbol;
}

void kernel_names_fini(struct kernel_names *k)
{
	kernel_syms_free(k->syms);
	dict_fini(&k->unnamed);
	*k = (struct kernel_names){ 0 };
}
