/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the tables of a JVM can be read. */
#include "jvm/hotspot/legibility.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "proc/status.h"
#include "sandbox/rights.h"

#define LIMITATIONS_MAX 64
#define STARTING_NS     (10 * NS_PER_SEC)
#define THREADS_MAX     64

/* Whether no frame gets a name without this item. */
static bool is_essential(const char *what)
{
	return !strcmp(what, "any Java frame") || !strcmp(what, "method names");
}

static enum legibility judge_tables(const struct hotspot *h, struct str *why)
{
	const char *what, *reason;

	for (size_t i = 0; i < LIMITATIONS_MAX && hotspot_limitation(h, i, &what, &reason); i++) {
		if (!is_essential(what))
			continue;
		str_addf(why, "%s: %s; run it with a JDK from 8 to 28", what, reason);
		return ILLEGIBLE;
	}
	return LEGIBLE;
}

/* Every VM has this thread among its first ones; before JDK 9 it has no name. */
static bool has_vm_thread(pid_t pid)
{
	char path[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_closedir DIR *dir = opendir(path);
	struct dirent *e = dir ? readdir(dir) : NULL;
	for (int i = 0; e && !found && i < THREADS_MAX; i++, e = readdir(dir)) {
		auto_free char *comm = NULL;
		size_t len;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", pid, e->d_name);
		found = !file_read(path, 64, &comm, &len) && !strcmp(comm, "VM Thread\n");
	}
	return found;
}

/* The verdict on a process without a code heap or tables. */
static enum legibility judge_start(struct process_id id, struct str *why)
{
	if (time_boot_ns() - id.start_ns < STARTING_NS) {
		str_add(why, "it is still starting; wait");
		return NOT_STARTED;
	}
	if (!has_vm_thread(id.pid)) {
		str_add(why, "it has loaded libjvm, but runs no VM; wait until it does");
		return NOT_STARTED;
	}
	str_add(why, "libjvm shows no code heap, though its VM runs; report it, with the version "
		     "of the JDK");
	return ILLEGIBLE;
}

enum legibility legibility_of(struct process_id id, int err, const struct hotspot *h,
			      struct str *why)
{
	str_clear(why);
	/* While a process ends, its memory may be missing or have any content. */
	if (err && proc_has_ended(id))
		err = -ESRCH;
	switch (-err) {
	case 0:
		return judge_tables(h, why);
	case EAGAIN:
		return judge_start(id, why);
	case ESRCH:
		str_add(why, "it has ended");
		return NOT_STARTED;
	case EPERM:
	case EACCES:
		str_add(why, "its memory may not be read; ");
		capabilities_add_remedy(why, CAPABILITY(CAP_SYS_PTRACE));
		return ILLEGIBLE;
	case ENOENT:
		str_add(why, "its libjvm.so is no longer mapped as a library; find out which "
			     "program or option moves it");
		return ILLEGIBLE;
	case ENOEXEC:
		str_add(why, "its libjvm is not HotSpot as we know it; run it with a JDK from 8 to "
			     "28");
		return ILLEGIBLE;
	default:
		str_addf(why, "its tables cannot be read (%s); record for longer: sysflame retries",
			 strerror(-err));
		return ILLEGIBLE;
	}
}
