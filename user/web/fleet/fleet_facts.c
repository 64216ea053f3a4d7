/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the node, from the recorder and from continuous profiling. */
#include "web/fleet/fleet_facts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "store/store.h"
#include "web/recordings/service.h"

#define SERVICES_NS (600 * NS_PER_SEC) /* a service that used the CPU since then runs */

/* "some avg10=12.34 .." */
static u32 pressure(int fd)
{
	char text[64] = "";
	double percent = 0;

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "some avg10=%lf", &percent) != 1 || percent < 0 || percent > 100)
		return 0;
	return (u32)percent;
}

static void add_service(struct node_agent_facts *out, const char *name)
{
	for (u32 i = 0; i < out->nr_services; i++)
		if (!strcmp(out->services[i], name))
			return;
	out->nr_all_services++;
	if (out->nr_services < FLEET_SERVICES)
		copy_text(out->services[out->nr_services++], sizeof(out->services[0]), name);
}

static int read_strip(const struct service *sv, struct store_strip *out)
{
	u64 now = time_wall_ns();
	const struct store_strip_query q = { now - SERVICES_NS, now, "cpu", 1 };

	return store_strip(sv->store, &q, out);
}

void fleet_facts_look(const struct service *sv, int pressure_fd, struct node_agent_facts *out)
{
	const struct recorder_link *r = &sv->recorder;
	struct store_strip strip = { 0 };

	*out = (struct node_agent_facts){
		.has_recorder = r->is_up,
		.nr_cpus = r->caps.nr_cpus,
		.nr_jvms = (u32)r->jvms.nr,
		.kernel = r->caps.kernel,
		.caps = { r->caps.max_hz, r->caps.max_duration_s },
		.cpu_ns = r->cpu_ns,
		.cpu_ppm = r->has_node ? r->node.cpu_ppm : 0,
		.pressure_pct = pressure(pressure_fd),
	};
	if (!read_strip(sv, &strip))
		vec_each(s, &strip.series)
			add_service(out, s->service);
	store_strip_fini(&strip);
}

/*
 * Without slices, or for a service that the strip leaves out, the service counts as running, and
 * its samples decide later.
 */
bool fleet_facts_runs(const struct service *sv, const struct selector *s)
{
	const char *wanted = s->processes[SELECTOR_SERVICE];
	struct store_strip strip = { 0 };
	bool is_known = false, runs = false, are_more = false;

	if (!*wanted)
		return true;
	if (!read_strip(sv, &strip))
		vec_each(one, &strip.series) {
			is_known = true;
			runs |= !strcmp(one->service, wanted);
		}
	are_more = strip.nr_left_out > 0;
	store_strip_fini(&strip);
	return runs || !is_known || are_more;
}

u64 fleet_facts_busy_ppm(const struct service *sv, const struct selector *s)
{
	const char *wanted = s->processes[SELECTOR_SERVICE];
	struct store_strip strip = { 0 };
	u64 ns = 0, covered_ns = 0;
	bool is_known = false;

	if (!selector_is_of_services(s) || read_strip(sv, &strip)) {
		store_strip_fini(&strip);
		return 0;
	}
	vec_each(one, &strip.series)
		ns += *wanted && !strcmp(one->service, wanted) ? one->total : 0;
	for (size_t i = 0; !*wanted && i < strip.all.nr; i++)
		ns += strip.all.at[i];
	vec_each(of, &strip.covered)
		covered_ns += *of;
	vec_each(event, &strip.events)
		is_known |= !strcmp(*event, "cpu");
	is_known &= covered_ns && (ns || !strip.nr_left_out);
	store_strip_fini(&strip);
	if (!is_known)
		return 0;
	return (u64)((double)ns / (double)covered_ns * 1e6) ?: 1;
}
