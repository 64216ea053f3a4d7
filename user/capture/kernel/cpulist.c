/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of CPUs, and when CPUs may have come or gone. */
#include "capture/kernel/cpulist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"

#define CPU_MAX  65536
#define LIST_MAX (1 << 16)
#define SYSFS    "/sys/devices/system/cpu/"

int cpulist_parse(const char *text, cpulist *out)
{
	while (*text && *text != '\n') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text)
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text)
				return -EINVAL;
		}
		if (first < 0 || last < first || last >= CPU_MAX)
			return -EINVAL;
		for (long cpu = first; cpu <= last; cpu++)
			vec_push(out, (int)cpu);
		if (*end == ',')
			end++;
		else if (*end && *end != '\n')
			return -EINVAL;
		text = end;
	}
	return 0;
}

static int read_list(const char *path, cpulist *out)
{
	auto_free char *text = NULL;
	size_t len;

	int err = file_read(path, LIST_MAX, &text, &len);
	return err ?: cpulist_parse(text, out);
}

int cpulist_online(cpulist *out)
{
	return read_list(SYSFS "online", out);
}

int cpulist_present(cpulist *out)
{
	return read_list(SYSFS "present", out);
}

char *cpulist_history(void)
{
	auto_free char *text = NULL;
	cpulist online = { 0 };
	struct str out = { 0 };
	struct stat st;
	size_t len;

	if (file_read(SYSFS "online", LIST_MAX, &text, &len) || cpulist_parse(text, &online)) {
		vec_fini(&online);
		return NULL;
	}
	str_add(&out, text);
	vec_each(cpu, &online) {
		auto_free char *folder = xasprintf(SYSFS "cpu%d/topology", *cpu);
		if (!stat(folder, &st))
			str_addf(&out, " %llu", (unsigned long long)st.st_ino);
	}
	vec_fini(&online);
	return out.at;
}

void cpulist_text(const cpulist *list, struct str *out)
{
	size_t last;

	for (size_t i = 0; i < list->nr; i = last + 1) {
		for (last = i; last + 1 < list->nr && list->at[last + 1] == list->at[last] + 1;)
			last++;
		str_addf(out, "%s%d", i ? "," : "", list->at[i]);
		if (last > i)
			str_addf(out, "-%d", list->at[last]);
	}
}

bool cpulist_has(const cpulist *list, int cpu)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->at[i] == cpu)
			return true;
	return false;
}

#define LOOK_NS (30 * NS_PER_SEC)
/* a smaller difference arises because the clocks are read one after the other */
#define SLEPT_NS  (100 * NS_PER_MS)
#define NR_SERIES 2

static bool has_other_cpus(struct hotplug *h, const char *history)
{
	if (!history || (h->history && !strcmp(h->history, history)))
		return false;
	free(h->history);
	h->history = xstrdup(history);
	return true;
}

static bool has_slept(struct hotplug *h, u64 asleep_ns)
{
	bool has = asleep_ns > h->asleep_ns + SLEPT_NS;

	h->asleep_ns = asleep_ns;
	return has;
}

bool hotplug_needs_look(struct hotplug *h, const char *history, u64 mono_ns, u64 boot_ns)
{
	bool is_changed = has_other_cpus(h, history);

	is_changed |= has_slept(h, boot_ns > mono_ns ? boot_ns - mono_ns : 0);
	if (is_changed || mono_ns - h->looked_ns >= LOOK_NS) {
		h->looked_ns = mono_ns;
		h->nr_pending = NR_SERIES;
	}
	if (!h->nr_pending)
		return false;
	h->nr_pending--;
	return true;
}

void hotplug_fini(struct hotplug *h)
{
	free(h->history);
}
