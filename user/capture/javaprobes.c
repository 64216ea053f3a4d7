/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that tell of events in Java code. */
#include "capture/javaprobes.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "elf/functions.h"

enum teller_file {
	NO_TELLER,
	AGENT,
	LIBJVM,
};

/* The agent may be there under a name of its own, or as the root of a mount that is no more. */
static enum teller_file what_file(const char *fd_path)
{
	char path[PATH_MAX];
	ssize_t len = readlink(fd_path, path, sizeof(path) - 1);

	path[len > 0 ? len : 0] = '\0';
	const char *base = strrchr(path, '/');
	if (!base)
		return NO_TELLER;
	if (!base[1] || !strncmp(base, "/libjvmmap", 10) || !strncmp(base, "/.jvmmap", 8))
		return AGENT;
	return strncmp(base, "/libjvm.so", 10) ? NO_TELLER : LIBJVM;
}

static bool is_needed(const struct java_teller *t, enum teller_file file, bool without_agent)
{
	if (file == AGENT)
		return t->is_hook && !without_agent;
	return !t->is_hook && (without_agent || t->is_always);
}

bool javaprobes_place(struct sources *s, const char *event, const struct java_teller *tellers,
		      size_t nr, int fd, pid_t pid, probe_links *out)
{
	const char *names[JAVA_TELLERS_MAX];
	struct function found[JAVA_TELLERS_MAX];
	char path[32];

	assert(nr <= JAVA_TELLERS_MAX);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	enum teller_file file = what_file(path);
	for (size_t i = 0; i < nr; i++)
		names[i] = tellers[i].function;
	if (file == NO_TELLER || functions_find_all(fd, names, nr, found))
		return false;
	for (size_t i = 0; i < nr; i++) {
		const struct bpf_uprobe at = {
			.program = tellers[i].program,
			.path = path,
			.file_off = found[i].file_off,
			.pid = pid,
		};
		struct bpf_link *link;
		if (!is_needed(&tellers[i], file, sources_options(s)->without_agent))
			continue;
		int err = at.file_off ? bpf_attach_program(sources_bpf(s), &at, &link) : -ENOENT;
		if (!err)
			vec_push(out, link);
		else if (!at.file_off && file == LIBJVM)
			log_warn("%s is incomplete: the libjvm.so of a JVM has no symbol %s; "
				 "install "
				 "its debug symbols, or take a JDK whose libjvm.so has them",
				 event, names[i]);
		else if (at.file_off)
			log_warn("%s is incomplete: %s cannot have a probe: %s", event, names[i],
				 strerror(-err));
	}
	return true;
}
