/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments and the environment of a process. */
#include "jvm/process/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "jvm/process/java_args.h"
#include "proc/mem.h"

#define READ_BYTES (64u << 10) /* of a command line or an environment */
#define STAT_BYTES 4096
#define ARG_FIELD  48 /* arg_start in /proc/PID/stat, then arg_end, env_start, env_end */

char *words_clean(const char *text)
{
	struct str out = { 0 };

	utf8_clean(&out, text, WORDS_NAME_BYTES);
	return str_take(&out);
}

/* The value of `name` in "a=b,c=d"; NULL if it is missing. */
static char *attribute(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; *at;) {
		size_t here = strcspn(at, ",");
		if (here > len + 1 && !strncmp(at, name, len) && at[len] == '=') {
			auto_free char *value = xstrndup(at + len + 1, here - len - 1);
			return words_clean(value);
		}
		at += here + (at[here] == ',');
	}
	return NULL;
}

char *words_service(const char *environ, size_t len)
{
	static const char own[] = "OTEL_SERVICE_NAME=", list[] = "OTEL_RESOURCE_ATTRIBUTES=";
	char *found = NULL;

	for (const char *v = java_args_next(environ, len, NULL); v;
	     v = java_args_next(environ, len, v)) {
		if (!strncmp(v, own, sizeof(own) - 1) && v[sizeof(own) - 1]) {
			free(found);
			return words_clean(v + sizeof(own) - 1);
		}
		if (!found && !strncmp(v, list, sizeof(list) - 1))
			found = attribute(v + sizeof(list) - 1, "service.name");
	}
	return found;
}

/*
 * Where the kernel put arguments and environment (proc_pid_stat(5)). The files that show them read
 * the process's memory, which may never answer; mem.h gives up.
 */
static bool find_words(pid_t pid, u64 out[4])
{
	auto_free char *stat = NULL;
	char path[32];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, STAT_BYTES, &stat, &len))
		return false;
	const char *at = strrchr(stat, ')'); /* the end of field 2 */
	for (int field = 2; at && field < ARG_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at && sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &out[0], &out[1],
			    &out[2], &out[3]) == 4;
}

/* Reads words that end in a NUL each; NULL if none can be read. */
static char *read_words(struct mem *m, u64 begin, u64 end, size_t *len)
{
	size_t most = end > begin && end - begin < READ_BYTES ? (size_t)(end - begin) : READ_BYTES;
	char *words = end > begin ? xmalloc(most + 1) : NULL;
	ssize_t got = words ? mem_read_some(m, begin, words, most) : 0;

	if (got <= 0) {
		free(words);
		return NULL;
	}
	words[got - 1] = '\0';
	*len = (size_t)got;
	return words;
}

void words_read(struct process_id id, int which, struct words *out)
{
	struct mem *m = NULL;
	u64 at[4];

	*out = (struct words){ 0 };
	if (!find_words(id.pid, at) || mem_open(id, &m))
		return;
	if (which & WORDS_ARGS)
		out->args = read_words(m, at[0], at[1], &out->args_len);
	if (which & WORDS_ENVIRON)
		out->environ = read_words(m, at[2], at[3], &out->environ_len);
	mem_free(m);
}

void words_fini(struct words *w)
{
	free(w->args);
	free(w->environ);
}
