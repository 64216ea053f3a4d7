/* SPDX-License-Identifier: Apache-2.0 */
/* A perf event on every online CPU that samples. */
#include "capture/cpus.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/cpulist.h"
#include "capture/perf.h"
#include "capture/privilege.h"

struct cpu_event {
	int cpu, fd;
	struct bpf_link *link;
};

struct cpus {
	struct bpf *bpf;
	struct perf_event_attr attr;
	const char *event;
	bool running;
	VEC(struct cpu_event) events;
};

static int add_cpu(struct cpus *c, int cpu)
{
	auto_close int fd = perf_open(&c->attr, cpu);
	if (fd < 0)
		return fd;

	struct bpf_link *link;
	int err = bpf_attach_cpu(c->bpf, fd, &link);
	if (err)
		return err;
	/* Attaching enables the event. */
	ioctl(fd, c->running ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	vec_push(&c->events, (struct cpu_event){ cpu, take_fd(fd), link });
	return 0;
}

static void drop_event(struct cpus *c, size_t i)
{
	bpf_detach(c->events.at[i].link);
	close(c->events.at[i].fd);
	c->events.at[i] = c->events.at[--c->events.nr];
}

/* The hardware's cycle counter, if it works: virtual machines often have none. */
static void choose_event(struct cpus *c, int cpu)
{
	struct perf_event_attr attr = c->attr;

	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	auto_close int fd = perf_open(&attr, cpu);
	if (fd >= 0) {
		c->attr = attr;
		c->event = "cpu-cycles";
	}
}

/* perf lowers its limit when interrupts took too long, so what worked before may be too much. */
static int check_frequency(int freq_hz)
{
	auto_free char *text = NULL;
	size_t len;

	if (file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &text, &len))
		return 0;
	int limit = atoi(text);
	if (freq_hz <= limit)
		return 0;
	log_error("-F %d: the kernel allows at most %d samples per second now; use -F %d, or raise "
		  "the limit: sysctl kernel.perf_event_max_sample_rate=%d",
		  freq_hz, limit, limit, freq_hz);
	return -EINVAL;
}

static int open_all(struct cpus *c)
{
	cpulist online = { 0 };
	int err = cpulist_online(&online);

	if (!err && online.nr)
		choose_event(c, online.at[0]);
	for (size_t i = 0; !err && i < online.nr; i++) {
		err = add_cpu(c, online.at[i]);
		if (err == -ENODEV) /* went offline since the list was read */
			err = 0;
	}
	vec_fini(&online);
	return err;
}

int cpus_open(struct bpf *bpf, int freq_hz, struct cpus **out)
{
	int err = check_frequency(freq_hz);
	if (err)
		return err;

	struct cpus *c = xcalloc(1, sizeof(*c));
	c->bpf = bpf;
	c->event = "cpu-clock";
	c->attr = (struct perf_event_attr){
		.size = sizeof(c->attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = (u64)freq_hz,
		.freq = 1,
		.disabled = 1,
	};
	err = open_all(c);
	if (err) {
		privilege_explain("opening perf events", err);
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

void cpus_follow(struct cpus *c)
{
	cpulist online = { 0 }, known = { 0 };

	if (!cpulist_online(&online)) {
		for (size_t i = c->events.nr; i-- > 0;)
			if (!cpulist_has(&online, c->events.at[i].cpu))
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

const char *cpus_event(const struct cpus *c)
{
	return c->event;
}

int cpus_nr(const struct cpus *c)
{
	return (int)c->events.nr;
}
