/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the agent's file before a JVM loads it. */
#include "jvm/attach/agent_file.h"

#include <elf.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "jvmmap/wire.h"

#ifdef SYSFLAME_STATIC
#define HAS_OWN true
/* The library itself. */
__asm__(".pushsection .rodata\n"
	"agent_begin: .incbin \"" SYSFLAME_STATIC "\"\n"
	"agent_end:\n"
	".popsection");
extern const char agent_begin[] __attribute__((visibility("hidden")));
extern const char agent_end[] __attribute__((visibility("hidden")));
#else
#define HAS_OWN false
static const char agent_begin[1], *const agent_end = agent_begin;
#endif

static bool is_built_in(const char *path)
{
	return !strcmp(path, AGENT_BUILT_IN);
}

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

/*
 * Whether the file or folder can be changed only by root, by this user, or by someone who can
 * change our program anyway. A build in a user's folder, run by sudo, belongs to that user: program
 * and agent alike.
 */
static bool is_ours(const struct stat *st, const struct stat *program)
{
	bool is_sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;
	bool has_our_group =
		!st->st_gid || (st->st_gid == program->st_gid && st->st_uid == program->st_uid);

	if (st->st_uid && st->st_uid != geteuid() && st->st_uid != program->st_uid)
		return false;
	return is_sticky ||
	       (!(st->st_mode & S_IWOTH) && (!(st->st_mode & S_IWGRP) || has_our_group));
}

/* The first of the file and the folders above it that others can change; NULL if there is none. */
static char *find_foreign(const char *path)
{
	auto_free char *at = realpath(path, NULL);
	struct stat st, program;

	if (!at || stat("/proc/self/exe", &program))
		return xstrdup(path);
	for (;;) {
		if (lstat(at, &st) || !is_ours(&st, &program))
			return take(at);
		if (!strcmp(at, "/"))
			return NULL;
		dirname(at);
	}
}

bool agent_file_is_trusted(const char *path, struct str *why)
{
	auto_free char *foreign = is_built_in(path) ? NULL : find_foreign(path);

	str_clear(why);
	if (foreign)
		str_addf(why,
			 "other users can change %s, so %s is not loaded into a JVM; install it as "
			 "root with mode 755",
			 foreign, path);
	return !foreign;
}

int agent_file_read(const char *path, char **bytes, size_t *len)
{
	if (is_built_in(path)) {
		*len = (size_t)(agent_end - agent_begin);
		*bytes = xmemdup(agent_begin, *len);
		return 0;
	}
	auto_close int fd = file_open_regular(AT_FDCWD, path, 0);
	char opened[32];

	if (fd < 0)
		return fd;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	return file_read(opened, AGENT_FILE_MAX, bytes, len);
}

bool agent_file_is_good(const char *path, struct str *why)
{
	auto_free char *bytes = NULL;
	size_t len;
	int err = agent_file_read(path, &bytes, &len);

	str_clear(why);
	if (err)
		str_addf(why, "%s cannot be read (%s); install it again", path, strerror(-err));
	else if (!is_whole(bytes, len))
		str_addf(why, "%s is not a complete library; install it again", path);
	if (why->len || !agent_file_is_trusted(path, why))
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

const char *agent_file_missing(const char *path)
{
	return path ? "there is no such file as --agent-path names"
		    : "libjvmmap.so is neither beside sysflame nor in ../lib/sysflame; install it";
}

char *agent_file_find(const char *path)
{
	if (!path && HAS_OWN)
		return xstrdup(AGENT_BUILT_IN);
	return path ? realpath(path, NULL) : default_path();
}
