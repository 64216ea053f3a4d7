/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the daemon's directory. */
#include "daemon/supervisor/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

#define TOKEN_BYTES   32
#define ADDRESS_BYTES 512
#define LOCK_TRIES    20
#define LOCK_TRY_US   10000
#define DIR_MODE      01770 /* the web process's group may add files, but replace only its own */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int fail(struct str *why, const char *what)
{
	int err = -errno;

	str_addf(why, "%s: %s", what, strerror(-err));
	return err;
}

static void encode(const u8 bytes[TOKEN_BYTES], char out[TOKEN_LEN + 1])
{
	for (size_t i = 0; i < TOKEN_LEN; i++) {
		size_t bit = i * 6, byte = bit / 8;
		u32 two = (u32)bytes[byte] | (byte + 1 < TOKEN_BYTES ? bytes[byte + 1] : 0u) << 8;
		out[i] = digits[two >> bit % 8 & 63];
	}
	out[TOKEN_LEN] = '\0';
}

static int write_new(int dir, const char *name, const char *text)
{
	auto_close int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len || fsync(fd)) {
		int err = errno ? -errno : -EIO;
		unlinkat(dir, name, 0);
		return err;
	}
	return 0;
}

/* Opens a file of the daemon. Refuses one that others could have read or written. */
static int open_own(int dir, const char *name, struct str *why)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077)) {
		str_addf(why, "%s: it is not a file that only its owner may read; remove it", name);
		return -EPERM;
	}
	return take_fd(fd);
}

static int parse_token(int fd, const char *name, char out[TOKEN_LEN + 1], struct str *why)
{
	char text[TOKEN_LEN + 2] = "";
	ssize_t len = read(fd, text, TOKEN_LEN + 1);
	if (len > TOKEN_LEN && text[TOKEN_LEN] == '\n')
		text[--len] = '\0';
	if (len != TOKEN_LEN || strspn(text, digits) != TOKEN_LEN) {
		str_addf(why, "%s: it has no token of %d characters; remove it to get another",
			 name, TOKEN_LEN);
		return -EINVAL;
	}
	memcpy(out, text, TOKEN_LEN + 1);
	return 0;
}

static int read_token(int dir, const char *name, char out[TOKEN_LEN + 1], struct str *why)
{
	auto_close int fd = open_own(dir, name, why);

	return fd < 0 ? fd : parse_token(fd, name, out, why);
}

static int get_token(int dir, const char *name, char out[TOKEN_LEN + 1], struct str *why)
{
	u8 bytes[TOKEN_BYTES];
	int err = read_token(dir, name, out, why);

	if (err != -ENOENT)
		return err;
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fail(why, "random numbers");
	encode(bytes, out);
	err = write_new(dir, name, out);
	if (err)
		str_addf(why, "%s: %s", name, strerror(-err));
	return err;
}

/* Whether a daemon of this user has had the directory. */
static bool is_home(int dir)
{
	struct stat st;

	return !fstatat(dir, "daemon.lock", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid();
}

/* The root of a file system has a folder of its own. */
static bool is_empty(int dir)
{
	auto_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!entries)
		return false;
	fd = -1; /* the stream's */
	while ((e = readdir(entries)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    strcmp(e->d_name, "lost+found"))
			return false;
	return true;
}

static int check_dir(const char *path, const struct stat *st, struct str *why)
{
	if (st->st_uid != geteuid()) {
		str_addf(why, "%s: another user owns it; name a directory of your own", path);
		return -EPERM;
	}
	if (st->st_mode & S_IWOTH) {
		str_addf(why, "%s: all users may change files in it; run chmod o-w on it", path);
		return -EPERM;
	}
	return 0;
}

/* Checks that files of an earlier web process belong to the present user, who must open them. */
static int check_owner(int dir, const char *path, uid_t user, gid_t group, struct str *why)
{
	struct stat st;

	if (fstatat(dir, "profiles", &st, AT_SYMLINK_NOFOLLOW) || st.st_uid == user)
		return 0;
	str_addf(why,
		 "%s: user %u has its profiles, and the web process is user %u; run chown -hR "
		 "--from=%u %u:%u %s",
		 path, st.st_uid, user, st.st_uid, user, group, path);
	return -EPERM;
}

/* Lets the web process write. A directory with the files of others keeps its group and mode. */
static int admit_group(int dir, const char *path, const struct stat *st, gid_t group,
		       struct str *why)
{
	if (st->st_gid == group && (st->st_mode & 07777) == DIR_MODE)
		return 0;
	if (!is_home(dir) && !is_empty(dir)) {
		str_addf(why,
			 "%s: it has files that are not the daemon's; name a new or an empty "
			 "directory with --dir",
			 path);
		return -ENOTEMPTY;
	}
	return fchown(dir, (uid_t)-1, group) || fchmod(dir, DIR_MODE) ? fail(why, path) : 0;
}

/* Refuses a directory in which others than its owner and the group may change files. */
static int open_dir(const char *path, uid_t user, gid_t group, struct str *why)
{
	auto_close int dir = -1;
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return fail(why, path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st))
		return fail(why, path);
	int err = check_dir(path, &st, why);
	if (!err && user != geteuid())
		err = check_owner(dir, path, user, group, why)
			      ?: admit_group(dir, path, &st, group, why);
	return err ?: take_fd(dir);
}

int home_give(const char *path, uid_t user, gid_t group, struct str *why)
{
	auto_close int dir = -1;
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return fail(why, path);
	/*
	 * An earlier start gave the directory to that user. Root without CAP_DAC_OVERRIDE could not
	 * open it.
	 */
	if (!lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == user)
		return 0;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st))
		return fail(why, path);
	if (st.st_uid != geteuid() || !is_empty(dir)) {
		str_addf(why, "%s: another user owns it, or it has files; name a new directory",
			 path);
		return -EPERM;
	}
	return fchmod(dir, 0700) || fchown(dir, user, group) ? fail(why, path) : 0;
}

static int take_lock(struct home *h, const char *path, struct str *why)
{
	h->lock = openat(h->dir, "daemon.lock", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (h->lock < 0)
		return fail(why, "daemon.lock");
	/* Try again: a process that reads the address holds the lock for a moment. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(h->lock, LOCK_EX | LOCK_NB))
			return 0;
		usleep(LOCK_TRY_US);
	}
	str_addf(why, "%s: another daemon runs on it", path);
	return -EBUSY;
}

int home_set_address(const struct home *h, const char *address)
{
	if (unlinkat(h->dir, "address", 0) && errno != ENOENT)
		return -errno;
	return *address ? write_new(h->dir, "address", address) : 0;
}

int home_open(const char *path, uid_t user, gid_t group, struct home *out, struct str *why)
{
	*out = (struct home){ .dir = -1, .lock = -1 };
	out->dir = open_dir(path, user, group, why);
	if (out->dir < 0)
		return out->dir;
	int err = take_lock(out, path, why);
	if (err)
		return err;
	err = home_set_address(out, ""); /* of an earlier daemon */
	if (err) {
		str_addf(why, "%s/address: %s", path, strerror(-err));
		return err;
	}
	return get_token(out->dir, "token", out->operator_token, why)
		       ?: get_token(out->dir, "token.viewer", out->viewer_token, why);
}

/* Reads a token. In a Kubernetes Secret its file is a symbolic link, and readable for a group. */
static int read_given_token(int folder, const char *name, char out[TOKEN_LEN + 1], struct str *why)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_str struct str fault = { 0 };

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return fail(why, name);
	int err =
		settings_check_owner(fd, 037, "others than root and its group may read it", &fault);
	if (err)
		str_addf(why, "%s: %s", name, fault.at ?: strerror(-err));
	return err ?: parse_token(fd, name, out, why);
}

int home_read_tokens(const char *folder, struct home *h, struct str *why)
{
	auto_close int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return fail(why, folder);
	struct {
		const char *name;
		char *out;
	} files[] = { { "token", h->operator_token }, { "token.viewer", h->viewer_token } };
	u32 nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int err = read_given_token(dir, files[i].name, files[i].out, why);
		if (err && err != -ENOENT)
			return err;
		nr += !err;
	}
	if (!nr)
		str_addf(why, "%s: it has neither token nor token.viewer", folder);
	return nr ? 0 : -ENOENT;
}

void home_close(struct home *h)
{
	if (h->lock >= 0)
		close(take_fd(h->lock));
	if (h->dir >= 0)
		close(take_fd(h->dir));
}

/*
 * Whether a daemon runs on the directory. A killed daemon leaves its file `address`, and another
 * process may listen there by now.
 */
static bool daemon_runs(int dir)
{
	auto_close int lock = openat(dir, "daemon.lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

static int read_address(int dir, struct str *address, struct str *why)
{
	auto_close int fd = open_own(dir, "address", why);
	char text[ADDRESS_BYTES];

	if (fd < 0)
		return fd;
	ssize_t len = read(fd, text, sizeof(text));
	if (len < 0)
		return fail(why, "address");
	str_add_bytes(address, text, (size_t)len);
	return len ? 0 : -ENOENT;
}

int home_read_link(const char *path, struct str *address, char token[TOKEN_LEN + 1],
		   struct str *why)
{
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT) {
		str_addf(why, "%s: no daemon has run here; start one: sysflame serve --dir %s",
			 path, path);
		return -ENOENT;
	}
	if (dir < 0)
		return fail(why, path);
	int err = read_token(dir, "token", token, why);
	if (err == -ENOENT || err == -EACCES)
		str_addf(why, "%s/token: %s", path, strerror(-err));
	if (err)
		return err;
	err = daemon_runs(dir) ? read_address(dir, address, why) : -ENOENT;
	if (err == -ENOENT)
		str_addf(why, "%s: no daemon runs on it; start one: sysflame serve --dir %s", path,
			 path);
	return err;
}
