/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a process, as far as its control groups tell. */
#include "proc/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"

#define TEXT_MAX  65536
#define HEX_DIGIT "0123456789abcdef"

bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1])
{
	const char *found = NULL;

	for (const char *at = text; *at;) {
		size_t len = strspn(at, HEX_DIGIT);
		if (len == CONTAINER_ID_LEN)
			found = at;
		at += len ? len : strcspn(at, HEX_DIGIT);
	}
	if (!found)
		return false;
	memcpy(out, found, CONTAINER_ID_LEN);
	out[CONTAINER_ID_LEN] = '\0';
	return true;
}

bool cgroup_container(pid_t pid, char out[CONTAINER_ID_LEN + 1])
{
	auto_free char *text = NULL;
	char path[32];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	return !file_read(path, TEXT_MAX, &text, &len) && cgroup_container_parse(text, out);
}
