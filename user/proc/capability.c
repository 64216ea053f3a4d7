/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of this process. */
#include "proc/capability.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

/* The capabilities that actions of sysflame may need. */
struct name {
	int number;
	const char *text;
};

static const struct name names[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SETUID, "CAP_SETUID" },
	{ CAP_SETGID, "CAP_SETGID" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_SYSLOG, "CAP_SYSLOG" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
	{ CAP_FOWNER, "CAP_FOWNER" },
};

static int get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, data) ? -errno : 0;
}

u64 capabilities_read(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return get(data) ? 0 : data[0].effective | (u64)data[1].effective << 32;
}

bool capability_has(int number)
{
	return capabilities_read() & CAPABILITY(number);
}

int capabilities_set(u64 effective)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int err = get(data);

	if (err)
		return err;
	data[0].effective = (u32)effective & data[0].permitted;
	data[1].effective = (u32)(effective >> 32) & data[1].permitted;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

int capabilities_keep(u64 kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int err = get(data);

	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (u32)(kept >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

const char *capability_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].number == number)
			return names[i].text;
	return "";
}

/* Yama refuses PTRACE_MODE_ATTACH, which reads of memory need, whatever the capabilities. */
static bool nobody_may_trace(void)
{
	auto_free char *text = NULL;
	size_t len;

	return !file_read("/proc/sys/kernel/yama/ptrace_scope", 16, &text, &len) && text[0] == '3';
}

void capabilities_add_remedy(struct str *out, u64 wanted)
{
	u64 missing = wanted & ~capabilities_read();
	const char *separator = "";

	if (!missing && wanted & CAPABILITY(CAP_SYS_PTRACE) && nobody_may_trace()) {
		str_add(out, "kernel.yama.ptrace_scope is 3, which forbids it to every process "
			     "until the next boot; set 2 there, or use Linux 6.2 or newer, where a "
			     "BPF program reads the memory of JVMs");
		return;
	}
	if (!missing) {
		str_add(out, "sysflame has the capabilities for it; check whether a user "
			     "namespace, a security module or seccomp forbids it");
		return;
	}
	str_add(out, "run sysflame with ");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(missing & CAPABILITY(names[i].number)))
			continue;
		missing &= ~CAPABILITY(names[i].number);
		str_addf(out, "%s%s", separator, names[i].text);
		separator = missing & (missing - 1) ? ", " : " and ";
	}
}
