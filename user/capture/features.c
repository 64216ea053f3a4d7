/* SPDX-License-Identifier: Apache-2.0 */
/* The features that sysflame needs from the kernel and its capabilities. */
#include "capture/features.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "capture/events/events.h"
#include "capture/events/sources.h"
#include "capture/kernel/privilege.h"
#include "capture/programs/cpus.h"
#include "capture/programs/node_programs.h"
#include "capture/programs/programs.h"
#include "sandbox/rights.h"
#include "sym/kernel.h"

#define DEFAULT_HZ 99 /* of `record` */
#define SETCAP     "run as root, or give the sysflame binary "

/* The first namespaces of a kernel have fixed inode numbers (include/linux/proc_ns.h). */
#define INIT_USER_NS 0xEFFFFFFDu
#define INIT_PID_NS  0xEFFFFFFCu

struct check {
	feature_fn visit;
	void *ctx;
	bool may_record; /* true while everything needed is present */
};

static void report(struct check *c, const char *name, const char *gives, bool is_needed, bool is_ok,
		   const char *remedy)
{
	struct feature f = { name, gives, is_ok, is_needed, is_ok ? NULL : remedy };

	c->may_record &= is_ok || !is_needed;
	c->visit(&f, c->ctx);
}

static bool is_namespace(const char *kind, unsigned inode)
{
	auto_str struct str path = { 0 }, name = { 0 };
	char link[64];

	str_addf(&path, "/proc/self/ns/%s", kind);
	str_addf(&name, "%s:[%u]", kind, inode);
	ssize_t len = readlink(path.at, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	return len <= 0 || !strcmp(link, name.at);
}

bool features_has_host_pids(void)
{
	return is_namespace("pid", INIT_PID_NS);
}

static void check_place(struct check *c)
{
	report(c, "user namespace", "capabilities count for the whole node", true,
	       is_namespace("user", INIT_USER_NS),
	       "this is a user namespace, whose capabilities the kernel does not accept; run "
	       "sysflame outside of it, or in a container without user namespace");
	report(c, "pid namespace", "processes have the same PIDs as in the kernel", true,
	       features_has_host_pids(),
	       "in this namespace PIDs belong to other processes; run the container with "
	       "--pid=host "
	       "(Kubernetes: hostPID: true)");
	report(c, "kernel BTF", "types of the kernel, for the BPF programs", true,
	       !access("/sys/kernel/btf/vmlinux", R_OK),
	       "/sys/kernel/btf/vmlinux cannot be read; use a kernel with "
	       "CONFIG_DEBUG_INFO_BTF=y, and mount /sys");
}

struct capability {
	int number, stand_in; /* stand_in: has the same effect; -1: none */
	bool is_needed;
	const char *name, *gives, *remedy;
};

static const struct capability capabilities[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, true, "CAP_BPF", "load BPF programs", SETCAP "cap_bpf" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, true, "CAP_PERFMON", "sample all processes",
	  SETCAP "cap_perfmon" },
	{ CAP_SYS_PTRACE, -1, false, "CAP_SYS_PTRACE",
	  "whole stacks of programs in containers, and of other users' before Linux 6.14; their "
	  "Java names before 6.2; attach the agent to JVMs of root and in user namespaces",
	  SETCAP "cap_sys_ptrace" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, false, "CAP_DAC_READ_SEARCH",
	  "symbols in files of other users; tracefs", SETCAP "cap_dac_read_search" },
	{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, false, "CAP_CHECKPOINT_RESTORE",
	  "symbols in deleted files, by map_files", SETCAP "cap_checkpoint_restore" },
	{ CAP_SETUID, -1, false, "CAP_SETUID", "attach the agent to JVMs of other users",
	  SETCAP "cap_setuid,cap_setgid" },
	{ CAP_SETGID, -1, false, "CAP_SETGID", "attach the agent to JVMs of other users",
	  SETCAP "cap_setuid,cap_setgid" },
	{ CAP_SYS_ADMIN, -1, false, "CAP_SYS_ADMIN", "mount the agent's file into containers",
	  SETCAP "cap_sys_admin; without it a copy is delivered where /tmp allows" },
};

static void check_capabilities(struct check *c)
{
	for (const struct capability *p = capabilities; p < capabilities + ARRAY_SIZE(capabilities);
	     p++)
		report(c, p->name, p->gives, p->is_needed,
		       capability_has(p->number) ||
			       (p->stand_in >= 0 && capability_has(p->stand_in)),
		       p->remedy);
}

/*
 * Loads the programs of the event cpu: only a trial shows whether verifier, seccomp and lockdown
 * allow loading.
 */
static int load_programs(void)
{
	const struct event_options o = { .freq_hz = DEFAULT_HZ };
	struct programs_options options = { 0 };
	auto_str struct str why = { 0 };
	const struct node_programs_options own = { .tables = TABLES_SIZES_DEFAULT,
						   .ring_bytes = 4096 };
	struct events events = { 0 };
	struct node_programs *node = NULL;
	struct programs *bpf = NULL;
	int err = events_parse("cpu", &o, &events, &why) ?: node_programs_load(&own, &node);

	if (!err) {
		sources_configure(&events, &o, &options);
		options.tables = node_programs_tables(node);
		err = programs_load_begin(&options, &bpf) ?: programs_load_end(bpf);
	}
	programs_free(bpf);
	node_programs_free(node);
	events_fini(&events);
	return err;
}

static void check_programs(struct check *c)
{
	if (c->may_record && privilege_is_locked_down())
		report(c, "BPF programs", "the kernel loads them", true, false, PRIVILEGE_LOCKDOWN);
	else if (c->may_record) {
		int err = load_programs();
		report(c, "BPF programs", "the kernel loads them", true, !err,
		       privilege_is_denied_by_policy(err)
			       ? PRIVILEGE_SELINUX
			       : "the kernel refused them; a container's seccomp profile or kernel "
				 "lockdown may forbid bpf(); record -v shows the kernel's "
				 "messages");
	} else
		report(c, "BPF programs", "the kernel loads them", true, false,
		       "not tried; see what is missing above");
}

/* The integer in a file of /proc/sys; -1 if it cannot be read. */
static int read_setting(const char *name)
{
	auto_str struct str path = { 0 };
	auto_free char *text = NULL;
	size_t len;

	str_addf(&path, "/proc/sys/kernel/%s", name);
	return file_read(path.at, 64, &text, &len) ? -1 : atoi(text);
}

static void check_perf(struct check *c)
{
	const struct perf_event_attr cycles = { .type = PERF_TYPE_HARDWARE,
						.config = PERF_COUNT_HW_CPU_CYCLES,
						.sample_period = 1000000 };
	const struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_CPU_CLOCK,
					       .sample_period = 1000000 };
	auto_str struct str text = { 0 }, remedy = { 0 };
	int paranoid = read_setting("perf_event_paranoid");
	int rate = read_setting("perf_event_max_sample_rate");
	bool has_cycles = !cpus_try(&cycles);
	int err = cpus_try(&clock);

	str_addf(&remedy, "perf events: %s; ", strerror(-err));
	if (privilege_is_denied_by_policy(err))
		str_addf(&remedy, PRIVILEGE_SELINUX);
	else
		str_addf(&remedy,
			 "CAP_PERFMON is needed while kernel.perf_event_paranoid is %d, and a "
			 "container's seccomp profile must allow perf_event_open()",
			 paranoid);
	report(c, "CPU samples",
	       err          ? "where the CPUs spend their time"
	       : has_cycles ? "by the CPU's clock; -e cycles by the processor's counter"
			    : "by the CPU's clock; the machine shows no cycle counter",
	       true, !err, remedy.at);
	bool needs_admin = paranoid > 2; /* sandbox/rights.c */
	const char *wanted = needs_admin ? "CAP_SYS_ADMIN" : "CAP_PERFMON";
	str_addf(&text, "%d; has no effect with %s", paranoid, wanted);
	str_clear(&remedy);
	str_addf(&remedy, "%s is missing; %s", wanted,
		 needs_admin ? "with CAP_PERFMON, 2 is enough: sysctl kernel.perf_event_paranoid=2"
			     : "a lower setting is not enough");
	report(c, "perf_event_paranoid", text.at, false,
	       paranoid < 0 || capability_has(CAP_SYS_ADMIN) ||
		       (!needs_admin && capability_has(CAP_PERFMON)),
	       remedy.at);
	str_clear(&text);
	str_clear(&remedy);
	str_addf(&text, "%d samples/s per CPU at most", rate);
	str_addf(&remedy,
		 "fewer than the %d of `record`; sysctl kernel.perf_event_max_sample_rate=10000",
		 DEFAULT_HZ);
	report(c, "sample rate", text.at, false, rate < 0 || rate >= DEFAULT_HZ, remedy.at);
}

static void check_kernel_names(struct check *c)
{
	auto_kernel_syms struct kernel_syms *ks = NULL;
	auto_str struct str remedy = { 0 };
	int err = kernel_syms_read(&ks);

	if (err && err != -EPERM)
		str_addf(&remedy, "/proc/kallsyms cannot be read: %s", strerror(-err));
	else if (err && kernel_syms_are_hidden_from_all())
		str_addf(&remedy, "kernel.kptr_restrict=2 hides addresses from every process; "
				  "sysctl kernel.kptr_restrict=1");
	else
		str_addf(&remedy, "/proc/kallsyms shows no addresses; " SETCAP "cap_syslog");
	report(c, "kernel names", "functions of the kernel have names (CAP_SYSLOG)", false, !err,
	       remedy.at);
}

/* Reports those events of `sysflame events` that some kernels lack. */
static void report_event(const char *name, const char *unit, const char *help, const char *why_not,
			 void *ctx)
{
	static const char *const shown[][2] = { { "offcpu", "event offcpu" },
						{ "wall", "event wall" },
						{ "uprobe:", "uprobes" },
						{ "kprobe:", "kprobes" },
						{ "GROUP:", "tracepoints" } };

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (!strncmp(name, shown[i][0], strlen(shown[i][0])))
			report(ctx, shown[i][1], help, false, !why_not, why_not);
}

void features_each(feature_fn fn, void *ctx)
{
	struct check c = { fn, ctx, true };

	check_place(&c);
	check_capabilities(&c);
	check_programs(&c);
	check_perf(&c);
	check_kernel_names(&c);
	events_each(false, report_event, &c);
}

int features_check_host_pids(void)
{
	if (features_has_host_pids())
		return 0;
	log_error("this is a pid namespace, in which processes have other numbers than the kernel "
		  "knows them by; run the container with --pid=host (Kubernetes: hostPID: true)");
	return -ENOTSUP;
}
