/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in files named on the command line. */
#include "cmd/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/progress_line.h"
#include "export/read.h"
#include "sandbox/rights.h"

/* Raw data of perf, which only perf itself can decode. */
struct perf_script {
	FILE *out; /* what `perf script` prints */
	int pid;
};

extern char **environ;

/* Whether it is a regular file that begins like perf.data. Reading continues at its start. */
static bool perf_data_is(FILE *f)
{
	struct stat st;
	char head[8];

	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
		return false;
	size_t len = fread(head, 1, sizeof(head), f);
	rewind(f);
	return len == sizeof(head) &&
	       (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8));
}

static int spawn(const char *path, int out, pid_t *pid)
{
	/*
	 * perf asks addr2line for each inlined frame, which can take minutes. By default it prints
	 * no PID.
	 */
	const char *const args[] = { "perf", "script", "--no-inline", "--show-mmap-events",
				     "-F",   "+pid",   "-i",          path,
				     NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t pipe;

	/*
	 * We ignore SIGPIPE, and perf would inherit that. It must end when we refuse the file and
	 * stop reading.
	 */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	int err = posix_spawnp(pid, "perf", &actions, &attr, (char *const *)args, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/*
 * Starts `perf script` on the file. -ENOENT if perf is not installed, else a negative errno.
 * perf_script_end waits for its end and frees it: -EINVAL if it failed; it has then printed why.
 */
static int perf_script_begin(const char *path, struct perf_script *s)
{
	int ends[2];
	/* perf would take a path that begins with '-' for an option. */
	auto_free char *full = realpath(path, NULL);

	if (!full || pipe2(ends, O_CLOEXEC))
		return -errno;
	int err = spawn(full, ends[1], &s->pid);
	close(ends[1]);
	s->out = err ? NULL : fdopen(ends[0], "r");
	if (!s->out)
		close(ends[0]);
	return err;
}

static int perf_script_end(struct perf_script *s)
{
	int status;

	fclose(s->out);
	while (waitpid(s->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EINVAL;
}

typedef int read_fn(FILE *f, struct profile *p, struct str *why);

static int read_perf_data(const char *path, struct profile *p, read_fn *read)
{
	auto_str struct str why = { 0 };
	struct perf_script script;
	int err = perf_script_begin(path, &script);

	if (err) {
		log_error("%s: this is raw data of perf, and `perf script` cannot be run: %s; "
			  "give its output",
			  path, strerror(-err));
		return err;
	}
	err = read(script.out, p, &why);
	int ended = perf_script_end(&script);
	if (err)
		log_error("%s: the output of `perf script`: %s", path, why.at);
	else if (ended)
		log_error("%s: `perf script` failed", path);
	return err ?: ended;
}

static int read_file(const char *path, struct profile *p, read_fn *read)
{
	auto_str struct str why = { 0 };
	bool is_stdin = !strcmp(path, "-");

	progress_line_step("reading", path, -1);
	auto_fclose FILE *opened = is_stdin ? NULL : fopen(path, "re");
	struct stat st;
	if (!opened && !is_stdin) {
		log_error("%s: %s", path, strerror(errno));
		return -errno;
	}
	if (opened && !fstat(fileno(opened), &st) && S_ISDIR(st.st_mode)) {
		log_error("%s: %s", path, strerror(EISDIR));
		return -EISDIR;
	}
	if (is_stdin && feof(stdin)) {
		log_error("-: standard input is one file, and was read already");
		return -EINVAL;
	}

	if (opened && perf_data_is(opened))
		return read_perf_data(path, p, read);
	progress_line_step("reading", path, fileno(opened ?: stdin));
	int err = read(opened ?: stdin, p, &why);
	progress_line_step("merging", path, -1);
	const char *name = is_stdin ? "standard input" : path;
	if (err)
		log_error("%s: %s", name, why.at);
	else if (why.len)
		log_warn("%s: %s", name, why.at);
	return err;
}

int profile_file_read(const char *path, struct profile *p)
{
	return read_file(path, p, profile_read);
}

int profile_file_read_diff(const char *path, struct profile *p)
{
	return read_file(path, p, profile_read_diff);
}

bool profile_file_is_folder(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	log_error("-o %s: it is a folder; name a file in it, such as %s%sflame.html", path, path,
		  path[strlen(path) - 1] == '/' ? "" : "/");
	return true;
}

const struct format *profile_file_format(const char *name, const char *path)
{
	const struct format *f = name ? format_by_name(name) : format_by_path(path);

	if (profile_file_is_folder(path))
		return NULL;
	if (!f && name)
		log_error("%s: unknown format; report --help lists them", name);
	else if (!f)
		log_error("%s: no format has this extension; add --format", path);
	return f;
}

int profile_file_check_output(const char *output, const char *format, const char *title, bool force)
{
	const char *option = format ? "--format" : title ? "--title" : force ? "--force" : NULL;

	if (output || !option)
		return 0;
	log_error("%s: it is an option of -o; add -o FILE", option);
	return -EINVAL;
}

static int say_why(int err, const char *path)
{
	const char *name = strcmp(path, "-") ? path : "standard output";

	if (err == -EOVERFLOW)
		log_error("cannot write %s: the weights add up to more than 2^53 - 1", name);
	else if (err == -E2BIG)
		log_error("cannot write %s: JFR has an event for each sample, at most 64 million",
			  name);
	else if (err == -EDOM)
		log_error("cannot write %s: this format holds no comparison; use html, svg, "
			  "collapsed, pprof or otlp",
			  name);
	else if (err)
		log_error("cannot write %s: %s", name, outfile_why(err));
	return err;
}

static int write_profile(const struct profile *p, const struct format *f, struct outfile *out)
{
	int err = f->write(p, out->f);

	if (err)
		outfile_abort(out);
	return err;
}

int profile_file_try(const char *path, bool force)
{
	return say_why(outfile_try(path, force), path);
}

int profile_file_write(const struct profile *p, const char *path, const struct format *f,
		       bool force, u64 *size_bytes)
{
	struct outfile *out;

	progress_line_step("writing", path, -1);
	if (!strcmp(path, "-"))
		progress_line_end();
	int err = outfile_open(path, force, &out) ?: write_profile(p, f, out);

	return say_why(err ?: outfile_commit(out, size_bytes), path);
}

static int write_new(const struct profile *p, const char *path, const struct format *f,
		     char **written, u64 *size_bytes)
{
	struct outfile *out;
	int err = outfile_open_new(path, &out) ?: write_profile(p, f, out);

	return err ?: outfile_commit_new(out, written, size_bytes);
}

int profile_file_write_new(const struct profile *p, const char *path, const struct format *f,
			   char **written, u64 *size_bytes)
{
	return say_why(write_new(p, path, f, written, size_bytes), path);
}

/* Whether the path names a place, a descriptor or device, instead of a file. */
static bool is_device(const char *path)
{
	return !strcmp(path, "-") || !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

int profile_file_rescue(const struct profile *p, const char *path, const struct format *f,
			char **written, u64 *size_bytes)
{
	static const char *const folders[] = { ".", "/var/tmp", "/tmp", "/dev/shm" };
	const char *slash = strrchr(path, '/');
	auto_free char *name = is_device(path) ? xasprintf("flame.%s", f->extensions[0] ?: f->name)
					       : xstrdup(slash ? slash + 1 : path);
	int err = is_device(path) ? -EEXIST : write_new(p, path, f, written, size_bytes);

	for (size_t i = 0; err && i < ARRAY_SIZE(folders); i++) {
		auto_free char *elsewhere = xasprintf("%s/%s", folders[i], name);
		err = write_new(p, elsewhere, f, written, size_bytes);
	}
	if (err)
		log_error("the profile is lost: no folder of this node can hold it");
	else
		log_error("the profile is in %s instead", *written);
	return err;
}

static bool is_anothers_in_sticky_folder(const char *path)
{
	auto_free char *copy = xstrdup(path);
	struct stat st, folder;

	return lstat(path, &st) == 0 && stat(dirname(copy), &folder) == 0 &&
	       folder.st_mode & S_ISVTX && st.st_uid != geteuid() && folder.st_uid != geteuid();
}

bool output_needs_rights(const char *path, bool force)
{
	u64 own = capabilities_read();

	capabilities_set(own & ~(CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_FOWNER)));
	int err = outfile_try(path, force);
	capabilities_set(own);
	return err || is_anothers_in_sticky_folder(path);
}
