/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the store of a daemon that does not run with slices of many days, as if it had profiled
 * JVMs all the time. Stacks are made up: depth, number and recurrence are those of servers in Java.
 * Prints a line "DAY SERVICE NS" for each day (UTC, since 1970) and service: the CPU time that any
 * reader must find.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/opt.h"
#include "base/time.h"
#include "export/slices/slice_writer.h"
#include "store/store.h"

#define HOUR_NS   (3600 * NS_PER_SEC)
#define DAY_NS    (24 * HOUR_NS)
#define SLICE_NS  (10 * NS_PER_SEC)
#define SAMPLE_NS (NS_PER_SEC / 19)
#define SERVICES  5
#define THREADS   40  /* of a JVM */
#define STACKS    600 /* that a JVM has; few of them are frequent */
#define FUNCTIONS 500 /* of a JVM */
#define DEPTH_MIN 20
#define DEPTH_MAX 90

static const char *const services[SERVICES] = { "cart", "checkout", "search", "stock", "users" };

struct options {
	int days, samples, step_s;
	const char *end;
	u64 end_ns;
};

struct month {
	struct options o;
	struct store *store;
	struct slice_writer *writer;
	struct frames *frames;
	frame_id functions[SERVICES][FUNCTIONS], entry, leaf;
	u32 seed;
	u64 hour, day, sums[SERVICES];
};

static u32 next_random(struct month *m)
{
	m->seed = m->seed * 1664525 + 1013904223;
	return m->seed >> 8;
}

/* A number below `nr`; small ones are frequent. */
static u32 next_skewed(struct month *m, u32 nr)
{
	u64 r = next_random(m) % 65536;

	return (u32)(r * r / 65536 * r / 65536 * nr / 65536);
}

static void name_functions(struct month *m)
{
	static const char *const packages[] = { "com.example", "org.springframework.web",
						"org.apache.catalina.core", "java.util.concurrent",
						"org.hibernate.internal" };

	m->frames = frames_new();
	m->entry = frames_intern(m->frames, FRAME_NATIVE, "thread_native_entry", "libjvm.so");
	m->leaf = frames_intern(m->frames, FRAME_KERNEL, "do_syscall_64", "");
	for (u32 s = 0; s < SERVICES; s++)
		for (u32 i = 0; i < FUNCTIONS; i++) {
			auto_free char *name =
				xasprintf("%s.%s.Part%u.step%u", packages[i % ARRAY_SIZE(packages)],
					  services[s], i / 13, i);
			m->functions[s][i] = frames_intern(
				m->frames, i % 4 ? FRAME_C2 : FRAME_INLINED, name, "");
		}
}

/*
 * Adds the stack of a number. Most functions have one callee, few have many. Half of the stacks are
 * those of this hour only: code changes, and caches expire.
 */
static node_id add_stack(struct month *m, struct profile *p, u32 service, u32 number)
{
	u32 seed = m->seed, function = 0;

	m->seed = number * 7919 + (number % 2 ? (u32)m->hour * 104729 : 0);
	u32 depth = DEPTH_MIN + next_random(m) % (DEPTH_MAX - DEPTH_MIN);
	node_id node = profile_child(p, 0, m->entry);
	for (u32 i = 0; i < depth; i++) {
		u32 branch = next_random(m) % 8 ? 0 : next_skewed(m, 9);
		function = (function * 31 + branch * 101 + 1) % FUNCTIONS;
		node = profile_child(p, node, m->functions[service][function]);
	}
	if (number % 8 == 0)
		node = profile_child(p, node, m->leaf);
	m->seed = seed;
	return node;
}

static labels_id add_thread(struct profile *p, u32 service, u32 number)
{
	char thread[32];

	snprintf(thread, sizeof(thread), "http-exec-%u", number);
	return profile_intern_labels(p, &(struct labels){ .pid = 1000 + service,
							  .tid = 2000 + service * 100 + number,
							  .comm = "java",
							  .thread = thread,
							  .container = services[service],
							  .service = services[service] });
}

static void print_day(struct month *m, u64 day)
{
	for (u32 s = 0; s < SERVICES && m->day; s++)
		printf("%" PRIu64 " %s %" PRIu64 "\n", m->day, services[s], m->sums[s]);
	memset(m->sums, 0, sizeof(m->sums));
	m->day = day;
}

/* A long slice has no more stacks than one of two minutes; each of them weighs more. */
static void add_samples(struct month *m, struct profile *p, u64 nr, struct store_use *uses)
{
	u64 each = 1 + nr / ((u64)m->o.samples * 12 + 1), nr_stacks = nr / each;

	p->rate_hz = 19;
	profile_add_type(p, "cpu", "ns");
	for (u64 i = 0; i < nr_stacks; i++) {
		u32 s = next_skewed(m, SERVICES), number = next_skewed(m, STACKS);
		labels_id thread = add_thread(p, s, next_skewed(m, THREADS));
		profile_add(p, add_stack(m, p, s, number), thread, 0, each * SAMPLE_NS);
		uses[s].value += each * SAMPLE_NS;
		m->sums[s] += each * SAMPLE_NS;
	}
	profile_note(p, "samples", "samples taken", each * nr_stacks);
}

static int add_slice(struct month *m, u64 begin_ns, u64 step_ns)
{
	auto_profile struct profile *p = profile_new_sharing(m->frames);
	auto_str struct str record = { 0 };
	struct store_use uses[SERVICES];
	bool begins;

	for (u32 s = 0; s < SERVICES; s++)
		uses[s] = (struct store_use){ "cpu", services[s], 0 };
	add_samples(m, p, (u64)m->o.samples * step_ns / SLICE_NS, uses);
	return slice_writer_add(m->writer, p, begin_ns, begin_ns + step_ns, &record, &begins)
		       ?: store_add_slice(m->store, record.at, record.len, begin_ns,
					  begin_ns + step_ns, uses, SERVICES);
}

/* As thinning leaves them, unless a step was asked for. */
static u64 step_at(const struct options *o, u64 at_ns)
{
	u64 age_ns = o->end_ns - at_ns;

	if (o->step_s)
		return (u64)o->step_s * NS_PER_SEC;
	return age_ns > 7 * DAY_NS + HOUR_NS   ? 600 * NS_PER_SEC
	       : age_ns > 2 * DAY_NS + HOUR_NS ? 60 * NS_PER_SEC
					       : SLICE_NS;
}

static int fill(struct month *m)
{
	u64 from_ns = m->o.end_ns - (u64)m->o.days * DAY_NS;
	int err = 0;

	from_ns -= from_ns % HOUR_NS;
	for (u64 at = from_ns; at < m->o.end_ns && !err;) {
		u64 step_ns = step_at(&m->o, at - at % HOUR_NS);
		if (at / DAY_NS != m->day)
			print_day(m, at / DAY_NS);
		if (at / HOUR_NS != m->hour)
			store_tick(m->store, at);
		m->hour = at / HOUR_NS;
		err = add_slice(m, at, step_ns);
		at += step_ns;
	}
	print_day(m, 0);
	return err;
}

/* The daemon's web process must be able to write the files. */
static int become_owner(const char *dir)
{
	auto_free char *slices = xasprintf("%s/slices", dir);
	struct stat st;

	if (stat(slices, &st) || geteuid() == st.st_uid)
		return 0;
	return setregid(st.st_gid, st.st_gid) || setreuid(st.st_uid, st.st_uid) ? -errno : 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	const struct opt opts[] = {
		{ 0, "days", OPT_INT, &o->days, "N", "days to fill" },
		{ 0, "samples", OPT_INT, &o->samples, "N", "samples in 10 s" },
		{ 0, "step", OPT_INT, &o->step_s, "S", "seconds of a slice; by age otherwise" },
		{ 0, "end", OPT_STRING, &o->end, "S", "end, in seconds since 1970; otherwise now" },
	};
	int at = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (at < 0 || argc - at != 1)
		return -EINVAL;
	o->end_ns = o->end ? strtoull(o->end, NULL, 10) * NS_PER_SEC : time_wall_ns();
	o->end_ns -= o->end_ns % SLICE_NS;
	return at;
}

int main(int argc, char **argv)
{
	static struct month m = { .o = { .days = 30, .samples = 190 } };
	const struct store_limits limits = { 0 };
	auto_str struct str why = { 0 };
	int at = parse(argc, argv, &m.o);

	if (at < 0) {
		fprintf(stderr, "usage: month [--days N] [--samples N] [--step S] [--end S] DIR\n");
		return 2;
	}
	auto_close int dir = open(argv[at], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : become_owner(argv[at]) ?: store_open(dir, &limits, &m.store, &why);
	if (err) {
		fprintf(stderr, "month: %s: %s\n", argv[at], why.at ?: strerror(-err));
		return 1;
	}
	m.writer = slice_writer_new();
	name_functions(&m);
	err = fill(&m);
	for (int i = 0; i < 2; i++)
		store_tick(m.store, m.o.end_ns);
	store_close(m.store);
	slice_writer_free(m.writer);
	frames_free(m.frames);
	if (err)
		fprintf(stderr, "month: a slice cannot be kept: %s\n", strerror(-err));
	return err ? 1 : 0;
}
