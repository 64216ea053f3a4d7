/* SPDX-License-Identifier: Apache-2.0 */
/* When kernel symbols are read. */
#include "sym/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "sym/kernel.h"

#define PAUSE_NS     NS_PER_SEC
#define PAUSE_MAX_NS (64 * NS_PER_SEC) /* a read takes up to 0.1 s of CPU time */
#define UNNAMED_MAX  16384
#define MADE_MAX     4096 /* a tool may load programs all the time */

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

	if (k->unnamed.young.nr >= UNNAMED_MAX)
		aged_turn(&k->unnamed);
	u64 *nr_reads = aged_add(&k->unnamed, pc);
	if (!*nr_reads)
		*nr_reads = k->nr_reads;
	if (!k->syms || *nr_reads != k->nr_reads || now - k->read_ns <= k->pause_ns)
		return false;
	kernel_syms_refresh(k->syms);
	k->read_ns = now;
	k->nr_reads++;
	return true;
}

static void drop_oldest(struct kernel_names *k)
{
	size_t nr = k->made.nr / 2;

	for (size_t i = 0; i < nr; i++)
		free(k->made.at[i].name);
	k->made.nr -= nr;
	memmove(k->made.at, k->made.at + nr, k->made.nr * sizeof(k->made.at[0]));
}

void kernel_names_add(struct kernel_names *k, u64 start, u64 end, const char *name)
{
	if (k->made.nr >= MADE_MAX)
		drop_oldest(k);
	vec_push(&k->made, (struct kernel_code){ start, end, xstrdup(name) });
}

static const char *find(const struct kernel_names *k, u64 pc, const char **module)
{
	u64 offset;

	for (size_t i = k->made.nr; i-- > 0;)
		if (pc >= k->made.at[i].start && pc < k->made.at[i].end) {
			*module = "bpf"; /* as in /proc/kallsyms */
			return k->made.at[i].name;
		}

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

void kernel_names_turn(struct kernel_names *k)
{
	aged_turn(&k->unnamed);
}

size_t kernel_names_nr(const struct kernel_names *k)
{
	return k->syms ? kernel_syms_nr(k->syms) : 0;
}

size_t kernel_names_bytes(const struct kernel_names *k)
{
	return aged_bytes(&k->unnamed) + (k->syms ? kernel_syms_bytes(k->syms) : 0);
}

void kernel_names_fini(struct kernel_names *k)
{
	kernel_syms_free(k->syms);
	vec_each(code, &k->made)
		free(code->name);
	vec_fini(&k->made);
	aged_fini(&k->unnamed);
	*k = (struct kernel_names){ 0 };
}
