/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame debug unwind`: the stack of a stopped thread, with the rule that found each frame. */
#include "cmd/debug_unwind.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "capture/walker.h"
#include "cmd/cmd.h"
#include "elf/debugfile.h"
#include "jvm/hotspot.h"
#include "proc/status.h"
#include "sym/native.h"

#define SYMBOL_BYTES (256u << 20) /* budget for symbol tables */
#define INLINED_MAX  64

struct options {
	int tid, count, interval_us;
	bool collapsed, help;
};

struct target {
	pid_t pid;
	struct mappings mappings;
	struct tables *tables;
	struct hotspot *jvm; /* NULL if it is none */
	struct native *native;
};

/* Opens the JVM, if the process is one, and tells the unwinder how it looks now. */
static int learn_jvm(struct target *t, u64 start_ns)
{
	struct hotspot_layout layout;
	int err = t->jvm ? hotspot_refresh(t->jvm) : hotspot_open(t->pid, start_ns, &t->jvm);

	if (err == -ENOENT || err == -EAGAIN)
		return 0;
	if (err < 0)
		return err;
	hotspot_layout(t->jvm, &layout);
	return tables_set_jvm(t->tables, t->pid, &layout);
}

/* Tells the unwinder what PID looks like now. */
static int learn(struct target *t)
{
	struct proc_status status;
	int err = proc_status_read(t->pid, &status);

	if (err)
		return err;
	mappings_fini(&t->mappings);
	err = mappings_read(t->pid, true, &t->mappings)
		      ?: tables_set_process(t->tables, t->pid, status.start_ns, &t->mappings);
	return err ?: learn_jvm(t, status.start_ns);
}

/* Stops a thread; *signal is what it was about to get, to be handed on. */
static int stop_thread(pid_t tid, struct user_regs_struct *regs, int *signal)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, tid, 0, regs)) {
		int err = -errno;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return err ?: -ESRCH;
	}
	*signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return 0;
}

/* A cut stack may only mean that mappings changed: then they are read again, once. */
static int walk_stopped(struct target *t, const struct user_regs_struct *regs, struct walked *out)
{
	int err = walker_walk(t->tables, t->pid, regs, out);

	if (err || out->is_complete)
		return err;
	err = learn(t);
	return err ?: walker_walk(t->tables, t->pid, regs, out);
}

static const char *const kind_names[] = {
	[USER_FRAME_NATIVE] = "native",
	[USER_FRAME_COMPILED] = "compiled",
	[USER_FRAME_WRAPPER] = "wrapper",
	[USER_FRAME_STUB] = "stub",
	[USER_FRAME_VTABLE] = "vtable",
	[USER_FRAME_INTERPRETED] = "interpreted",
	[USER_FRAME_INTERPRETER] = "interpreter",
	[USER_FRAME_FROZEN] = "frozen",
	[USER_FRAME_CLASS] = "class",
};

static u32 kind_of(const struct user_frame *f)
{
	u32 kind = (u32)(f->info >> USER_FRAME_KIND_SHIFT);

	return kind < ARRAY_SIZE(kind_names) ? kind : USER_FRAME_NATIVE;
}

/* The Java frames at one physical frame, innermost first; 0 if it cannot be named. */
static int name_java(struct target *t, const struct user_frame *f, struct java_frame *out)
{
	u32 kind = kind_of(f), id = (u32)(f->info >> USER_FRAME_ID_SHIFT) & USER_FRAME_ID_MASK;
	int nr = 0;

	if (!t->jvm || kind == USER_FRAME_NATIVE || kind == USER_FRAME_FROZEN)
		return 0;
	if (kind == USER_FRAME_INTERPRETED)
		nr = !hotspot_name_method(t->jvm, f->addr, f->info & USER_FRAME_BCP_MASK, out);
	else
		nr = hotspot_name_pc(t->jvm, f->addr, id, f->info & USER_FRAME_LEAF, out,
				     INLINED_MAX);
	return nr > 0 ? nr : 0;
}

static void print_native(struct target *t, const struct user_frame *f)
{
	u64 addr = f->addr - !(f->info & USER_FRAME_LEAF);
	const struct mapping *m = mappings_find(&t->mappings, addr);
	struct native_name name;

	if (kind_of(f) == USER_FRAME_FROZEN)
		printf("[frozen frames]");
	else if (!m)
		printf("[0x%" PRIx64 "]", addr);
	else if (!native_name(t->native, t->pid, m, addr, &name))
		printf("%s", name.symbol);
	else
		printf("[%s+0x%" PRIx64 "]", name.module, name.offset);
}

static void print_java(const struct java_frame *f)
{
	printf("%s%s%s%s", f->class_name, *f->class_name ? "." : "", f->method,
	       f->is_stale ? " (stale)" : "");
}

static void print_frame(struct target *t, size_t i, const struct walked_frame *f)
{
	struct java_frame java[INLINED_MAX];
	int nr = name_java(t, &f->frame, java);

	printf("%4zu  %016" PRIx64 "  sp %012" PRIx64 "  %-11s %c%c ", i, f->pc, f->sp,
	       kind_names[kind_of(&f->frame)], f->frame.info & USER_FRAME_LEAF ? 'L' : ' ',
	       f->frame.info & USER_FRAME_APPROXIMATE ? '~' : ' ');
	if (!nr)
		print_native(t, &f->frame);
	for (int k = 0; k < nr; k++) {
		printf("%s", k ? " < " : "");
		print_java(&java[k]);
		if (java[k].bci >= 0)
			printf("@%d", java[k].bci);
	}
	printf("  [%s]\n", f->rule);
}

/* Root first, one line, as flamegraph.pl reads it; the first word says how the walk ended. */
static void print_collapsed(struct target *t, const struct walked *w)
{
	struct java_frame java[INLINED_MAX];

	printf("%s", w->is_complete ? "complete" : w->stop);
	for (size_t i = w->frames.nr; i-- > 0;) {
		const struct user_frame *f = &w->frames.at[i].frame;
		int nr = name_java(t, f, java);

		if (!nr) {
			printf(";");
			print_native(t, f);
		}
		while (nr-- > 0) {
			printf(";");
			print_java(&java[nr]);
			printf("_[%s%s]", kind_names[kind_of(f)],
			       java[nr].is_approximate ? "~" : "");
		}
	}
	printf(" 1\n");
}

static void print_stack(struct target *t, pid_t tid, const struct walked *w)
{
	printf("thread %d: %zu frames, %s\n", tid, w->frames.nr, w->stop);
	for (size_t i = 0; i < w->frames.nr; i++)
		print_frame(t, i, &w->frames.at[i]);
}

/* Names are read while the thread stands still: what it runs could go away. */
static int unwind_thread(struct target *t, pid_t tid, const struct options *o)
{
	struct user_regs_struct regs;
	struct walked w = { 0 };
	int signal = 0, err = stop_thread(tid, &regs, &signal);

	if (err)
		return err;
	err = walk_stopped(t, &regs, &w);
	if (!err && o->collapsed)
		print_collapsed(t, &w);
	else if (!err)
		print_stack(t, tid, &w);
	ptrace(PTRACE_DETACH, tid, 0, signal);
	walked_fini(&w);
	return err;
}

static int unwind_all_threads(struct target *t, const struct options *o)
{
	auto_free char *path = xasprintf("/proc/%d/task", t->pid);
	auto_closedir DIR *dir = opendir(path);
	int err = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *entry; !err && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		err = unwind_thread(t, atoi(entry->d_name), o);
		if (err == -ESRCH) /* the thread has ended */
			err = 0;
	}
	return err;
}

static int unwind(struct target *t, const struct options *o)
{
	const struct tables_sizes sizes = { .nr_rows = 4u << 20,
					    .nr_ranges = 1u << 20,
					    .nr_jvms = 4 };
	const struct timespec pause = { o->interval_us / 1000000,
					o->interval_us % 1000000 * 1000L };
	int err = tables_new(&sizes, NULL, &t->tables) ?: learn(t);

	for (int i = 0; i < o->count && !err; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = o->tid ? unwind_thread(t, o->tid, o) : unwind_all_threads(t, o);
	}
	return err;
}

static int usage(const struct opt *opts, size_t nr, int status)
{
	puts("usage: sysflame debug unwind [OPTION..] PID\n\n"
	     "Stops threads for a moment and prints their stacks with the rule that found each "
	     "frame.\n");
	opt_help(opts, nr);
	return status;
}

int debug_unwind_main(int argc, char **argv)
{
	struct options o = { .count = 1, .interval_us = 10000 };
	const struct opt opts[] = {
		{ 't', "tid", OPT_INT, &o.tid, "TID", "only this thread" },
		{ 'n', "count", OPT_INT, &o.count, "N", "stop and print so many times" },
		{ 'i', "interval", OPT_INT, &o.interval_us, "US",
		  "microseconds between two times" },
		{ 0, "collapsed", OPT_BOOL, &o.collapsed, NULL, "one line per stack, root first" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this" },
	};
	int first = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (first < 0 || o.help)
		return usage(opts, ARRAY_SIZE(opts), first < 0 ? EXIT_USAGE : 0);
	struct target t = { .pid = first + 1 == argc ? atoi(argv[first]) : 0 };
	if (t.pid <= 0 || o.count < 1 || o.interval_us < 0) {
		log_error(
			"debug unwind takes one PID, a count above 0 and an interval of 0 or more");
		return EXIT_USAGE;
	}
	t.native = native_new(SYMBOL_BYTES, DEBUG_ROOT);
	int err = unwind(&t, &o);
	if (err)
		log_error("cannot unwind process %d: %s", t.pid, strerror(-err));
	mappings_fini(&t.mappings);
	tables_free(t.tables);
	hotspot_free(t.jvm);
	native_free(t.native);
	return err ? EXIT_FAILED : 0;
}
