/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads are stopped to walk their stacks, and these stacks in print. */
#include "cmd/debug/stopped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "capture/unwind/tables.h"
#include "elf/debugfile.h"
#include "proc/status.h"
#include "sym/files/native.h"

#define SYMBOL_BYTES (256u << 20) /* budget for symbol tables */

/* Opens the JVM, if the process is one, and updates its layout in the unwinder's tables. */
static int learn_jvm(struct stopped *t, struct process_id id)
{
	struct hotspot_layout layout;
	int err = t->jvm ? hotspot_refresh(t->jvm) : hotspot_open(id, &t->jvm);

	if (err == -ENOENT || err == -EAGAIN)
		return 0;
	if (err < 0)
		return err;
	hotspot_layout(t->jvm, &layout);
	return tables_set_jvm(t->tables, t->pid, &layout);
}

/* Updates the process in the unwinder's tables. */
static int learn(struct stopped *t)
{
	struct proc_status status;
	int err = proc_status_read(t->pid, &status);

	if (err)
		return err;
	t->start_stack = status.start_stack;
	mappings_fini(&t->mappings);
	err = mappings_read(t->pid, true, &t->mappings)
		      ?: tables_set_process(t->tables, proc_status_id(&status), status.uid,
					    &t->mappings);
	return err ?: learn_jvm(t, proc_status_id(&status));
}

int stopped_seize(pid_t tid, struct thread_regs *regs, int *signal)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status) || thread_regs_read(tid, regs)) {
		int err = -errno;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return err ?: -ESRCH;
	}
	*signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return 0;
}

/* A cut stack may mean that mappings have changed: read them again, once. */
int stopped_walk(struct stopped *t, const struct thread_regs *regs, struct walked *out)
{
	int err = walker_walk(t->tables, t->pid, regs, t->start_stack, out);

	if (err || out->is_complete)
		return err;
	err = learn(t);
	return err ?: walker_walk(t->tables, t->pid, regs, t->start_stack, out);
}

int stopped_init(struct stopped *t, pid_t pid)
{
	const struct tables_sizes sizes = { .nr_words = 4u << 20,
					    .nr_ranges = 1u << 20,
					    .nr_jvms = 4 };

	*t = (struct stopped){ .pid = pid, .native = native_new(SYMBOL_BYTES, DEBUG_ROOT) };
	return tables_new(&sizes, NULL, &t->tables) ?: learn(t);
}

void stopped_fini(struct stopped *t)
{
	mappings_fini(&t->mappings);
	tables_free(t->tables);
	hotspot_free(t->jvm);
	native_free(t->native);
}

#define INLINED_MAX 64

static const char *const kind_names[] = {
	[USER_FRAME_NATIVE] = "native",
	[USER_FRAME_COMPILED] = "compiled",
	[USER_FRAME_WRAPPER] = "wrapper",
	[USER_FRAME_STUB] = "stub",
	[USER_FRAME_VTABLE] = "vtable",
	[USER_FRAME_INTERPRETED] = "interpreted",
	[USER_FRAME_INTERPRETER] = "interpreter",
	[USER_FRAME_FROZEN] = "frozen",
	[USER_FRAME_SKIPPED] = "skipped",
	[USER_FRAME_CLASS] = "class",
	[USER_FRAME_KLASS] = "klass",
};

static u32 kind_of(const struct user_frame *f)
{
	u32 kind = (u32)(f->info >> USER_FRAME_KIND_SHIFT);

	return kind < ARRAY_SIZE(kind_names) ? kind : USER_FRAME_NATIVE;
}

/* The Java frames at one physical frame, innermost first; 0 if it cannot be named. */
static int name_java(struct stopped *t, const struct user_frame *f, struct java_frame *out)
{
	u32 kind = kind_of(f), id = (u32)(f->info >> USER_FRAME_ID_SHIFT) & USER_FRAME_ID_MASK;
	int nr = 0;

	if (!t->jvm || kind == USER_FRAME_NATIVE || kind == USER_FRAME_FROZEN ||
	    kind == USER_FRAME_SKIPPED)
		return 0;
	if (kind == USER_FRAME_INTERPRETED)
		nr = !hotspot_name_method(t->jvm, f->addr, f->info & USER_FRAME_BCP_MASK, 0, out);
	else
		nr = hotspot_name_pc(t->jvm,
				     (struct code_pc){ .pc = f->addr,
						       .compile_id = id,
						       .is_leaf = f->info & USER_FRAME_LEAF },
				     out, INLINED_MAX);
	return nr > 0 ? nr : 0;
}

static void print_native(struct stopped *t, const struct user_frame *f)
{
	u64 addr = f->addr - !(f->info & USER_FRAME_LEAF);
	const struct mapping *m = mappings_find(&t->mappings, addr);
	struct native_name name;

	if (kind_of(f) == USER_FRAME_FROZEN)
		printf("[frozen frames]");
	else if (kind_of(f) == USER_FRAME_SKIPPED)
		printf("[missing native frames]");
	else if (!m)
		printf("[0x%" PRIx64 "]", addr);
	else if (!native_name(t->native, &(struct mapper){ .pid = t->pid }, m, addr, &name))
		printf("%s", name.symbol);
	else
		printf("[%s+0x%" PRIx64 "]", name.module, name.offset);
}

static void print_java(const struct java_frame *f)
{
	printf("%s%s%s%s", f->class_name, *f->class_name ? "." : "", f->method,
	       f->is_stale ? " (stale)" : "");
}

static void print_frame(struct stopped *t, size_t i, const struct walked_frame *f)
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

void stopped_print_collapsed(struct stopped *t, const struct walked *w)
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

void stopped_print(struct stopped *t, pid_t tid, const struct walked *w)
{
	printf("thread %d: %zu frames, %s\n", tid, w->frames.nr, w->stop);
	for (size_t i = 0; i < w->frames.nr; i++)
		print_frame(t, i, &w->frames.at[i]);
}
