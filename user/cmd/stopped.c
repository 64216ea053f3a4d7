/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/stopped.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "capture/unwind/tables.h"
#include "elf/debugfile.h"
#include "proc/status.h"
#include "sym/native.h"

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
		      ?: tables_set_process(t->tables, proc_status_id(&status), &t->mappings);
	return err ?: learn_jvm(t, proc_status_id(&status));
}

int stopped_seize(pid_t tid, struct user_regs_struct *regs, int *signal)
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

/* A cut stack may mean that mappings have changed: read them again, once. */
int stopped_walk(struct stopped *t, const struct user_regs_struct *regs, struct walked *out)
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
