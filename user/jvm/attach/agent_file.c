/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the agent's file before a JVM loads it. */
#include "jvm/attach/agent_file.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "jvmmap/wire.h"

/* The linker writes the section headers last, so they show a truncated file. */
static bool is_whole(const char *bytes, size_t len)
{
	Elf64_Ehdr head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       head.e_shoff < len && (u64)head.e_shnum * head.e_shentsize <= len - head.e_shoff;
}

bool agent_file_is_good(const char *path, struct str *why)
{
	auto_free char *bytes = NULL;
	size_t len;
	int err = file_read(path, AGENT_FILE_MAX, &bytes, &len);

	str_clear(why);
	if (err)
		str_addf(why, "%s cannot be read (%s); install it again", path, strerror(-err));
	else if (!is_whole(bytes, len))
		str_addf(why, "%s is not a complete library; install it again", path);
	if (why->len)
		return false;
	const char *mark = memmem(bytes, len, WIRE_MARK, strlen(WIRE_MARK));
	int abi = mark ? atoi(mark + strlen(WIRE_MARK)) : -1;
	if (abi == WIRE_ABI)
		return true;
	if (mark)
		str_addf(why,
			 "%s is of another version (%d) than sysflame (%d); install both from "
			 "one build",
			 path, abi, WIRE_ABI);
	else
		str_addf(why, "%s is not sysflame's agent; install that", path);
	return false;
}

static char *default_path(void)
{
	static const char *const places[] = { "libjvmmap.so", "../lib/sysflame/libjvmmap.so" };
	char exe[PATH_MAX], *slash;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[len > 0 ? len : 0] = '\0';
	slash = strrchr(exe, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		auto_free char *path = xasprintf("%.*s/%s", (int)(slash - exe), exe, places[i]);
		char *real = realpath(path, NULL);
		if (real)
			return real;
	}
	return NULL;
}

char *agent_file_find(const char *path)
{
	return path ? realpath(path, NULL) : default_path();
}
