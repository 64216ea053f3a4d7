/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of this process, its limit of open files, and the message when one is too few. */
#pragma once

#include "base/types.h"

/*
 * Raises the limit of open files of this process: each CPU, process, JVM and probe of a recording
 * takes some. Without CAP_SYS_RESOURCE it stays at or below the
 * hard limit; logs a warning with the remedy if that is too low to record `nr_events` events.
 */
void descriptors_raise(u32 nr_events);

/* The text of `err`; for too many open files also the limit and the remedy. Until the next call. */
const char *descriptors_error_text(int err);

/*
 * Whether the limit is lower than what BPF programs alone need. Their loading may then fail with
 * another error than -EMFILE.
 */
bool descriptors_are_few(void);

/* 0 if sampling can work; -EPERM if a capability is missing, -ENOENT without kernel BTF. */
int privilege_check(void);

/* Why no BPF program can be loaded, and what to do, if the kernel is locked down that far. */
#define PRIVILEGE_LOCKDOWN                                                                      \
	"the kernel is locked down (lockdown=confidentiality), which lets no BPF program read " \
	"memory; boot it with lockdown=integrity"

/*
 * Whether the kernel reports that it is locked down that far. Without securityfs, as in most
 * containers, it reports nothing.
 */
bool privilege_is_locked_down(void);

/* The advice if a policy of SELinux denied BPF or perf events; see pkg/selinux. */
#define PRIVILEGE_SELINUX                                                                       \
	"SELinux is enforcing; its policy must allow sysflame's domain all of the classes bpf " \
	"and perf_event, as the module pkg/selinux/sysflame.te does for unconfined_t; "         \
	"ausearch -m avc -c sysflame shows what it denied"

/* Whether an SELinux policy is the likely reason for `err`. */
bool privilege_is_denied_by_policy(int err);

/* Logs one line: the step `what` that failed, the missing right, the remedy. */
void privilege_explain(const char *what, int err);
