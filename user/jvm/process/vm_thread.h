/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's own threads, recognised by the names that HotSpot gives them (early updates of JDK 8
 * name none).
 */
#pragma once

enum vm_work {
	WORK_OTHER,
	WORK_GC,
	WORK_JIT,
	WORK_VM, /* the VM Thread; with the Serial collector it collects */
	NR_VM_WORKS,
};

/* The work of a thread with that name, of which the kernel keeps 15 bytes. */
enum vm_work vm_work_of(const char *comm);

/* The role for people: "GC", "C2 compiler"; NULL for other threads. */
const char *vm_role_of(const char *comm);
