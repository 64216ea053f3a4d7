/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's own threads. */
#include "jvm/process/vm_thread.h"

#include <string.h>

#include "base/types.h"

struct vm_thread {
	/*
	 * Begin of the name: at most 7 bytes, because JDK 26 shortens names to "%.7s..%.6s"; more
	 * bytes for threads of older JDKs only.
	 */
	const char *begin;
	enum vm_work work;
	const char *role;
};

static const struct vm_thread *find(const char *comm)
{
	static const struct vm_thread all[] = {
		{ "GC Thre", WORK_GC, "GC" },
		{ "GC task", WORK_GC, "GC" },
		{ "G1 ", WORK_GC, "GC" },
		{ "Gang wo", WORK_GC, "GC" },
		{ "ZWorker", WORK_GC, "GC" },
		{ "ZDriver", WORK_GC, "GC" },
		{ "ZDirect", WORK_GC, "GC" },
		{ "ZStat", WORK_GC, "GC" },
		{ "ZUncomm", WORK_GC, "GC" },
		{ "ZUnmapp", WORK_GC, "GC" },
		{ "XWorker", WORK_GC, "GC" },
		{ "XDriver", WORK_GC, "GC" },
		{ "XDirect", WORK_GC, "GC" },
		{ "XStat", WORK_GC, "GC" },
		{ "XUncomm", WORK_GC, "GC" },
		{ "Shenand", WORK_GC, "GC" },
		{ "CMS ", WORK_GC, "GC" },
		{ "ParGC Thread", WORK_GC, "GC" },
		{ "Concurrent Mark", WORK_GC, "GC" },
		{ "C1 Comp", WORK_JIT, "C1 compiler" },
		{ "C2 Comp", WORK_JIT, "C2 compiler" },
		{ "JVMCI", WORK_JIT, "JVMCI compiler" },
		{ "VM Thre", WORK_VM, "VM Thread" },
		{ "VM Peri", WORK_OTHER, "VM Periodic Task Thread" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strncmp(comm, all[i].begin, strlen(all[i].begin)))
			return &all[i];
	return NULL;
}

enum vm_work vm_work_of(const char *comm)
{
	const struct vm_thread *t = find(comm);

	return t ? t->work : WORK_OTHER;
}

const char *vm_role_of(const char *comm)
{
	const struct vm_thread *t = find(comm);

	return t ? t->role : NULL;
}
