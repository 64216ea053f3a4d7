/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket of CPU time. */
#include "fleet/node/budget.h"

#include "base/time.h"

#define DAY_NS    (24 * 3600 * NS_PER_SEC)
#define SAMPLE_NS 40000ull
#define MERGE_NS  (200 * NS_PER_MS)

void budget_init(struct budget *b, u32 nr_cpus, u64 now_ns)
{
	b->nr_cpus = nr_cpus;
	b->size_ns = DAY_NS / 1000000 * POLICY_CPU_PPM * nr_cpus;
	b->left_ns = b->size_ns;
	b->filled_mono_ns = now_ns;
}

void budget_limit(struct budget *b, u32 ppm, u64 now_ns)
{
	u64 left = budget_left(b, now_ns);

	b->size_ns = DAY_NS / 1000000 * (ppm < POLICY_CPU_PPM ? ppm : POLICY_CPU_PPM) * b->nr_cpus;
	b->left_ns = left < b->size_ns ? left : b->size_ns;
}

u64 budget_refilled(u32 nr_cpus, u64 left_ns, u64 passed_ns)
{
	struct budget b;

	budget_init(&b, nr_cpus, 0);
	b.left_ns = left_ns < b.size_ns ? left_ns : b.size_ns;
	return budget_left(&b, passed_ns);
}

u64 budget_left(struct budget *b, u64 now_ns)
{
	u64 gained = (u64)((unsigned __int128)b->size_ns * (now_ns - b->filled_mono_ns) / DAY_NS);

	if (gained) {
		b->filled_mono_ns = now_ns;
		b->left_ns = b->size_ns - b->left_ns > gained ? b->left_ns + gained : b->size_ns;
	}
	return b->left_ns;
}

void budget_take(struct budget *b, u64 cpu_ns, u64 now_ns)
{
	u64 left = budget_left(b, now_ns);

	b->left_ns = left > cpu_ns ? left - cpu_ns : 0;
}

void budget_give(struct budget *b, u64 cpu_ns)
{
	b->left_ns = b->size_ns - b->left_ns > cpu_ns ? b->left_ns + cpu_ns : b->size_ns;
}

u64 budget_estimate(u32 nr_cpus, u32 hz, u32 duration_s)
{
	return SAMPLE_NS * nr_cpus * hz * duration_s + MERGE_NS;
}
