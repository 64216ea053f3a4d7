/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --loop and their names. */
#include "cmd/record/part_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"

#define DURATION_MAX_S (7 * 24 * 3600)
#define VARIABLE_MAX   128

static void add_time(struct str *out, u64 wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
	char text[32];
	struct tm t;

	localtime_r(&seconds, &t);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &t);
	str_add(out, text);
}

static void add_host(struct str *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	str_add(out, host);
}

/* "{NAME}" at `at`. Returns its length, 0 after adding a sentence. */
static size_t add_variable(const char *at, struct str *out, struct str *why)
{
	const char *end = strchr(at, '}');
	char name[VARIABLE_MAX];

	if (!end || end == at + 1 || (size_t)(end - at) >= sizeof(name)) {
		str_add(why, "%{ takes the name of a variable and }");
		return 0;
	}
	memcpy(name, at + 1, (size_t)(end - at) - 1);
	name[end - at - 1] = '\0';
	const char *value = getenv(name);
	if (!value || !*value) {
		str_addf(why, "the variable %s is not set", name);
		return 0;
	}
	str_add(out, value);
	return (size_t)(end - at) + 1;
}

int part_name(const char *pattern, u64 wall_ns, u32 number, pid_t pid, struct str *out,
	      struct str *why)
{
	for (const char *at = pattern; *at; at++) {
		size_t len = 1;
		if (*at != '%') {
			str_add_char(out, *at);
			continue;
		}
		switch (*++at) {
		case 't':
			add_time(out, wall_ns);
			break;
		case 'n':
			str_addf(out, "%u", number);
			break;
		case 'p':
			if (!pid) {
				str_add(why, "%p needs one process: -p PID or a command");
				return -EINVAL;
			}
			str_addf(out, "%d", (int)pid);
			break;
		case 'h':
			add_host(out);
			break;
		case '{':
			len = add_variable(at, out, why);
			if (!len)
				return -EINVAL;
			break;
		case '%':
			str_add_char(out, '%');
			break;
		default:
			str_add(why, "takes %t, %n, %p, %h, %{NAME} and %%");
			return -EINVAL;
		}
		at += len - 1;
	}
	return 0;
}

bool part_names_differ(const char *pattern)
{
	for (const char *at = strchr(pattern, '%'); at; at = at[1] ? strchr(at + 2, '%') : NULL)
		if (at[1] == 't' || at[1] == 'n')
			return true;
	return false;
}

bool part_duration_parse(const char *text, u64 *out_ns)
{
	static const struct {
		char letter;
		u64 seconds;
	} units[] = { { '\0', 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 24 * 3600 } };
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	unsigned long long number = strtoull(text, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (*end == units[i].letter && (!*end || !end[1]) && number &&
		    number <= DURATION_MAX_S / units[i].seconds) {
			*out_ns = number * units[i].seconds * NS_PER_SEC;
			return true;
		}
	return false;
}

/* Returns false if there is no such file. */
static bool read_state(const char *path, struct part_file *out)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	out->device = st.st_dev;
	out->inode = st.st_ino;
	out->size_bytes = (u64)st.st_size;
	out->changed_ns = (u64)st.st_mtim.tv_sec * NS_PER_SEC + (u64)st.st_mtim.tv_nsec;
	return true;
}

static void remove_file(const struct part_file *file)
{
	struct part_file now = { 0 };

	if (!read_state(file->path, &now) && access(file->path, F_OK))
		return; /* it was moved away */
	if (now.device != file->device || now.inode != file->inode ||
	    now.size_bytes != file->size_bytes || now.changed_ns != file->changed_ns)
		log_warn("--keep: %s is not removed: it was changed since it was written",
			 file->path);
	else if (unlink(file->path))
		log_warn("--keep: %s is not removed: %s", file->path, strerror(errno));
}

void part_files_add(struct part_files *files, const char *path, size_t keep)
{
	struct part_file file = { 0 };
	size_t nr_over;

	if (!read_state(path, &file))
		return;
	file.path = xstrdup(path);
	vec_push(&files->all, file);
	nr_over = keep && files->all.nr > keep ? files->all.nr - keep : 0;
	for (size_t i = 0; i < nr_over; i++) {
		remove_file(&files->all.at[i]);
		free(files->all.at[i].path);
	}
	files->all.nr -= nr_over;
	memmove(&files->all.at[0], &files->all.at[nr_over], files->all.nr * sizeof(file));
}

void part_files_fini(struct part_files *files)
{
	vec_each(file, &files->all)
		free(file->path);
	vec_fini(&files->all);
}
