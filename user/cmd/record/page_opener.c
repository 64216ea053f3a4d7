/* SPDX-License-Identifier: Apache-2.0 */
/* A process that opens the page in a browser, as the user who called sudo. */
#include "cmd/record/page_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/vec.h"
#include "sandbox/rights.h"

/* A decimal id other than root's; 0 if the variable has none. */
static u32 id_in(const char *variable)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return 0;
	errno = 0;
	unsigned long long id = strtoull(text, &end, 10);
	return errno || id >= UINT32_MAX ? 0 : (u32)id;
}

int page_user_find(struct page_user *out, struct str *why)
{
	*out = (struct page_user){ .uid = getuid(), .gid = getgid() };
	if (geteuid() && getuid())
		return 0;
	out->uid = id_in("SUDO_UID");
	out->gid = id_in("SUDO_GID");
	const struct passwd *p = out->uid && out->gid ? getpwuid(out->uid) : NULL;
	if (!p) {
		str_addf(why, "sysflame runs as root and not by sudo, and root's browser is not "
			      "used");
		return -EPERM;
	}
	out->name = xstrdup(p->pw_name);
	out->home = xstrdup(p->pw_dir);
	return 0;
}

void page_user_fini(struct page_user *u)
{
	free(u->name);
	free(u->home);
	*u = (struct page_user){ 0 };
}

typedef VEC(char *) words;

static void keep(words *w, const char *variable)
{
	const char *value = getenv(variable);

	if (value)
		vec_push(w, xasprintf("%s=%s", variable, value));
}

/* Adds the address of the user's session bus, if there is one: sudo does not pass it on. */
static void add_session(words *w, uid_t uid)
{
	auto_free char *dir = xasprintf("/run/user/%u", uid);
	auto_free char *bus = xasprintf("%s/bus", dir);
	struct stat st;

	if (lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != uid)
		return;
	vec_push(w, xasprintf("XDG_RUNTIME_DIR=%s", dir));
	if (!lstat(bus, &st) && S_ISSOCK(st.st_mode))
		vec_push(w, xasprintf("DBUS_SESSION_BUS_ADDRESS=unix:path=%s", bus));
}

char **page_user_environment(const struct page_user *u)
{
	static const char *const kept[] = {
		"DISPLAY",       "WAYLAND_DISPLAY", "XAUTHORITY",       "LANG",
		"LC_ALL",        "LC_MESSAGES",     "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP",
		"XDG_DATA_DIRS", "DESKTOP_SESSION",
	};
	words w = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		keep(&w, kept[i]);
	vec_push(&w, xstrdup("PATH=/usr/local/bin:/usr/bin:/bin"));
	if (u->name) {
		vec_push(&w, xasprintf("HOME=%s", u->home));
		vec_push(&w, xasprintf("USER=%s", u->name));
		vec_push(&w, xasprintf("LOGNAME=%s", u->name));
		add_session(&w, u->uid);
	} else {
		static const char *const own[] = { "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR",
						   "DBUS_SESSION_BUS_ADDRESS" };
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			keep(&w, own[i]);
	}
	vec_push(&w, NULL);
	return w.at;
}

/* Whether the process has no id, group or capability of another user left. */
static bool is_only(const struct page_user *u)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	return !getresuid(&real, &effective, &saved) && real == u->uid && effective == u->uid &&
	       saved == u->uid && !getresgid(&real_group, &effective_group, &saved_group) &&
	       real_group == u->gid && effective_group == u->gid && saved_group == u->gid &&
	       !capabilities_read() && setuid(0) && seteuid(0);
}

int page_user_become(const struct page_user *u)
{
	if (u->name && (initgroups(u->name, u->gid) || setresgid(u->gid, u->gid, u->gid) ||
			setresuid(u->uid, u->uid, u->uid)))
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	int err = capabilities_keep(0);
	return err ?: is_only(u) ? 0 : -EPERM;
}

#define PROGRAM      "xdg-open"
#define EARLY_END_MS 2000 /* an xdg-open that fails ends sooner */
#define NAME_MAX_LEN 255

struct reply {
	int err;
	char why[512];
};

/* In the process of the browser: reports an errno in `to` unless xdg-open starts. */
static void execute(const struct page_user *u, const char *path, int to)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	char *argv[] = { PROGRAM, (char *)path, NULL };
	char **environment = page_user_environment(u);
	int none_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int none_out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t none;

	dup2(none_in, STDIN_FILENO);
	dup2(none_out, STDOUT_FILENO);
	dup2(none_out, STDERR_FILENO);
	syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	umask(022);
	int err = page_user_become(u);
	if (!err && (chdir("/") || access(path, R_OK)))
		err = -EACCES;
	for (size_t i = 0; !err && i < ARRAY_SIZE(folders); i++) {
		auto_free char *program = xasprintf("%s/%s", folders[i], PROGRAM);
		execve(program, argv, environment);
		err = errno == ENOENT && i + 1 < ARRAY_SIZE(folders) ? 0 : -errno;
	}
	if (write(to, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Waits a moment whether xdg-open fails. */
static int wait_for(pid_t pid, struct str *why)
{
	auto_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status = 0;

	if (poll(&ended, 1, EARLY_END_MS) <= 0 || waitpid(pid, &status, WNOHANG) != pid || !status)
		return 0;
	if (WIFEXITED(status))
		str_addf(why, PROGRAM " ended with status %d", WEXITSTATUS(status));
	else
		str_addf(why, PROGRAM " was killed by signal %d", WTERMSIG(status));
	return -EIO;
}

static int launch(const struct page_user *u, const char *path, struct str *why)
{
	int fds[2], err = 0;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		execute(u, path, fds[1]);
	close(fds[1]);
	if (pid < 0 || read(fds[0], &err, sizeof(err)) < 0)
		err = -errno;
	close(fds[0]);
	if (err == -ENOENT)
		str_addf(why, PROGRAM " is not installed");
	else if (err == -EACCES)
		str_addf(why, "%s may not read it", u->name ?: "this user");
	else if (err)
		str_addf(why, PROGRAM " cannot be started: %s", strerror(-err));
	return err ?: wait_for(pid, why);
}

/*
 * A page that root wrote is for root only. It becomes the user's, if it is such a page and nothing
 * else: a new file of ours with one name.
 */
static int hand_over(int folder, const char *name, const struct page_user *u)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!u->name || st.st_uid == u->uid)
		return 0;
	if (st.st_uid != geteuid() || st.st_nlink != 1 || (st.st_mode & 07777) != 0600)
		return -EPERM;
	return fchown(fd, u->uid, u->gid) ? -errno : 0;
}

static int open_page(int folder, const char *name, struct str *why)
{
	struct page_user u;
	char link[64], dir[4096];

	int err = page_user_find(&u, why);
	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	ssize_t len = readlink(link, dir, sizeof(dir) - 1);
	if (len < 0) {
		err = -errno;
		str_addf(why, "its folder is unknown: %s", strerror(-err));
	} else if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
		err = -ENOTSUP;
		str_addf(why, "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set");
	} else if ((err = hand_over(folder, name, &u))) {
		str_addf(why, "it cannot be given to %s: %s", u.name ?: "this user",
			 strerror(-err));
	} else {
		auto_free char *path = xasprintf("%.*s/%s", (int)len, dir, name);
		err = launch(&u, path, why);
	}
	page_user_fini(&u);
	return err;
}

bool page_opener_is_page(const char *path)
{
	size_t len = strlen(path);

	return len > strlen(".html") && !strcmp(path + len - strlen(".html"), ".html");
}

/* Runs the process. It opens one page, or ends when the recorder closes its end of the socket. */
static void serve(int fd, int folder)
{
	char name[NAME_MAX_LEN + 1] = { 0 };
	struct reply reply = { 0 };
	auto_str struct str why = { 0 };

	/* Ctrl-C is for the recorder. */
	setsid();
	prctl(PR_SET_NAME, "sysflame-page");
	capabilities_keep(CAPABILITY_IDS | CAPABILITY(CAP_CHOWN));
	ssize_t got = read(fd, name, NAME_MAX_LEN);
	if (got <= 0)
		_exit(0);
	reply.err = page_opener_is_page(name) && !strchr(name, '/') ? open_page(folder, name, &why)
								    : -EINVAL;
	snprintf(reply.why, sizeof(reply.why), "%s", why.len ? why.at : "it is no page");
	_exit(write(fd, &reply, sizeof(reply)) != sizeof(reply));
}

int page_opener_start(const char *path, struct page_opener *out)
{
	auto_free char *copy = xstrdup(path);
	int fds[2];

	auto_close int folder = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		serve(fds[1], folder);
	}
	int err = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return err;
	}
	*out = (struct page_opener){ .fd = fds[0], .pid = pid };
	return 0;
}

int page_opener_open(struct page_opener *p, const char *path, struct str *why)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct reply reply = { .err = -EIO };

	if (write(p->fd, name, strlen(name)) < 0 ||
	    read(p->fd, &reply, sizeof(reply)) != sizeof(reply))
		str_addf(why, "the process that opens it has ended");
	else if (reply.err)
		str_addf(why, "%.*s", (int)sizeof(reply.why), reply.why);
	return reply.err;
}

void page_opener_fini(struct page_opener *p)
{
	if (p->fd <= 0)
		return;
	close(p->fd);
	waitpid(p->pid, NULL, 0);
	p->fd = 0;
}
