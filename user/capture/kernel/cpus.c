/* SPDX-License-Identifier: Apache-2.0 */
/* A sampling perf event on every online CPU. */
#include "capture/kernel/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/perf.h"

struct cpu_event {
	int cpu, fd;
	u64 running_ns; /* see perf_has_run */
	struct bpf_link *link;
};

struct cpus {
	struct programs *bpf;
	struct perf_event_attr attr;
	const cpulist *only; /* NULL: all CPUs */
	u32 event;
	bool running;
	VEC(struct cpu_event) events;
};

static int add_cpu(struct cpus *c, int cpu)
{
	auto_close int fd = perf_open(&c->attr, cpu);
	if (fd < 0)
		return fd;

	struct bpf_link *link;
	int err = programs_attach_perf(c->bpf, fd, c->event, &link);
	if (err)
		return err;
	/* Attaching enables the event. */
	ioctl(fd, c->running ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	vec_push(&c->events, (struct cpu_event){ cpu, take_fd(fd), 0, link });
	return 0;
}

static void drop_event(struct cpus *c, size_t i)
{
	programs_detach(c->events.at[i].link);
	close(c->events.at[i].fd);
	c->events.at[i] = c->events.at[--c->events.nr];
}

/* Appends the online CPUs that the event is for. */
static int read_wanted(const struct cpus *c, cpulist *out)
{
	size_t nr = 0;

	int err = cpulist_online(out);
	for (size_t i = 0; !err && i < out->nr; i++)
		if (!c->only || cpulist_has(c->only, out->at[i]))
			out->at[nr++] = out->at[i];
	out->nr = err ? out->nr : nr;
	return err;
}

static int open_all(struct cpus *c)
{
	cpulist online = { 0 };
	int err = read_wanted(c, &online);

	for (size_t i = 0; !err && i < online.nr; i++) {
		err = add_cpu(c, online.at[i]);
		if (err == -ENODEV) /* went offline since the list was read */
			err = 0;
	}
	vec_fini(&online);
	return err;
}

int cpus_open(struct programs *bpf, const struct perf_event_attr *attr, const cpulist *only,
	      u32 event, struct cpus **out)
{
	struct cpus *c = xcalloc(1, sizeof(*c));

	c->bpf = bpf;
	c->event = event;
	c->only = only;
	c->attr = *attr;
	c->attr.size = sizeof(c->attr);
	c->attr.disabled = 1;
	c->attr.read_format = PERF_RUN_FORMAT;
	int err = open_all(c);
	if (err) {
		cpus_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cpus_close(struct cpus *c)
{
	if (!c)
		return;
	while (c->events.nr)
		drop_event(c, c->events.nr - 1);
	vec_fini(&c->events);
	free(c);
}

int cpus_start(struct cpus *c)
{
	c->running = true;
	vec_each(e, &c->events)
		if (ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void cpus_stop(struct cpus *c)
{
	c->running = false;
	vec_each(e, &c->events)
		ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Its CPU went offline and perhaps came back; an event that got no counter is opened again, too. */
static bool has_died(const struct cpus *c, struct cpu_event *e)
{
	return c->running && !perf_has_run(e->fd, &e->running_ns);
}

void cpus_follow(struct cpus *c)
{
	cpulist online = { 0 }, known = { 0 };

	if (!read_wanted(c, &online)) {
		for (size_t i = c->events.nr; i-- > 0;)
			if (!cpulist_has(&online, c->events.at[i].cpu) ||
			    has_died(c, &c->events.at[i]))
				drop_event(c, i);
		vec_each(e, &c->events)
			vec_push(&known, e->cpu);
		vec_each(cpu, &online)
			if (!cpulist_has(&known, *cpu) && add_cpu(c, *cpu))
				log_debug("cpu %d came online but cannot be sampled", *cpu);
	}
	vec_fini(&online);
	vec_fini(&known);
}

int cpus_nr(const struct cpus *c)
{
	return (int)c->events.nr;
}

int cpus_try(const struct perf_event_attr *attr)
{
	struct perf_event_attr own = *attr;
	cpulist online = { 0 };
	int err = cpulist_online(&online);

	own.size = sizeof(own);
	own.disabled = 1;
	auto_close int fd = err ? -1 : perf_open(&own, online.nr ? online.at[0] : 0);
	vec_fini(&online);
	return err ?: fd < 0 ? fd : 0;
}
