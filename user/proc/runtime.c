/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where container runtimes keep their files and sockets on this node, and asks them. */
#include "proc/runtime.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"

#define CONFIG_MAX  (1u << 20)
#define CMDLINE_MAX (64u << 10)
#define UNIX_SCHEME "unix://"

static void add_docker_root(struct runtime_config *c, const char *path)
{
	size_t i = 0;

	if (!path || *path != '/')
		return;
	for (; i < RUNTIME_PATHS_MAX - 1 && c->docker_roots[i]; i++)
		if (!strcmp(c->docker_roots[i], path))
			return;
	if (i < RUNTIME_PATHS_MAX - 1)
		c->docker_roots[i] = xstrdup(path);
}

/* "unix:///run/other.sock". TCP addresses are ignored, because they may be anywhere. */
static void set_docker_socket(struct runtime_config *c, const char *host)
{
	const char *path = host ? host + strlen(UNIX_SCHEME) : NULL;

	if (c->docker_socket || !host || strncmp(host, UNIX_SCHEME, strlen(UNIX_SCHEME)) ||
	    *path != '/' || !strcmp(path, "/run/docker.sock") ||
	    !strcmp(path, "/var/run/docker.sock"))
		return;
	c->docker_socket = xstrdup(path);
}

static void read_daemon_json(const char *path, struct runtime_config *c)
{
	auto_free char *text = NULL;
	const json_t *host;
	size_t len, i;

	if (file_read(path, CONFIG_MAX, &text, &len))
		return;
	json_t *all = json_loadb(text, len, 0, NULL);
	add_docker_root(c, json_string_value(json_object_get(all, "data-root")));
	add_docker_root(c, json_string_value(json_object_get(all, "graph")));
	json_array_foreach(json_object_get(all, "hosts"), i, host)
		set_docker_socket(c, json_string_value(host));
	json_decref(all);
}

/*
 * The value of an option written as the word `name`, "NAME=VALUE" or "-NVALUE"; NULL for other
 * words.
 */
static const char *value_of(const char *word, const char *next, const char *name)
{
	size_t len = strlen(name);
	bool is_short = name[1] != '-';

	if (strncmp(word, name, len))
		return NULL;
	if (!word[len])
		return next;
	return word[len] == '=' ? word + len + 1 : is_short ? word + len : NULL;
}

static void read_command_line(const char *root, const char *text, size_t len,
			      struct runtime_config *c)
{
	for (const char *word = text, *next; word < text + len; word = next) {
		next = word + strlen(word) + 1;
		const char *behind = next < text + len ? next : NULL;
		const char *config = value_of(word, behind, "--config-file");
		add_docker_root(c, value_of(word, behind, "--data-root"));
		add_docker_root(c, value_of(word, behind, "--graph"));
		add_docker_root(c, value_of(word, behind, "-g"));
		set_docker_socket(c, value_of(word, behind, "--host"));
		set_docker_socket(c, value_of(word, behind, "-H"));
		if (config && *config == '/') {
			auto_free char *path = xasprintf("%s%s", root, config);
			read_daemon_json(path, c);
		}
	}
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return !stat(a, &one) && !stat(b, &other) && one.st_ino == other.st_ino &&
	       one.st_dev == other.st_dev;
}

bool runtime_is_trusted(const char *folder)
{
	auto_free char *mounts = xasprintf("%s/ns/mnt", folder);
	auto_free char *users = xasprintf("%s/ns/user", folder);
	struct stat st;

	return !stat(folder, &st) && !st.st_uid && is_same_file(mounts, "/proc/self/ns/mnt") &&
	       is_same_file(users, "/proc/self/ns/user");
}

static void read_dockerd(const char *root, const char *pid, struct runtime_config *c)
{
	auto_free char *folder = xasprintf("%s/proc/%s", root, pid);
	auto_free char *comm_path = xasprintf("%s/comm", folder);
	auto_free char *cmdline_path = xasprintf("%s/cmdline", folder);
	auto_free char *comm = NULL, *cmdline = NULL;
	size_t len;

	if (file_read(comm_path, CONFIG_MAX, &comm, &len) || strcmp(comm, "dockerd\n") ||
	    !runtime_is_trusted(folder) || file_read(cmdline_path, CMDLINE_MAX, &cmdline, &len))
		return;
	read_command_line(root, cmdline, len, c);
}

static void read_dockerds(const char *root, struct runtime_config *c)
{
	auto_free char *path = xasprintf("%s/proc", root);
	auto_closedir DIR *folder = opendir(path);

	for (struct dirent *e; folder && (e = readdir(folder));)
		if (isdigit((unsigned char)e->d_name[0]))
			read_dockerd(root, e->d_name, c);
}

/* Reads `key = "value"` from a line; the first one counts. */
static void take_setting(const char *line, const char *key, char **out)
{
	size_t len = strlen(key);

	line += strspn(line, " \t");
	if (*out || strncmp(line, key, len))
		return;
	line += len;
	line += strspn(line, " \t");
	if (*line++ != '=')
		return;
	line += strspn(line, " \t");
	char quote = *line++;
	const char *end = quote == '"' || quote == '\'' ? strchr(line, quote) : NULL;
	if (end && end > line)
		*out = xstrndup(line, (size_t)(end - line));
}

/* Reads the subset of TOML that storage.conf uses. */
static void read_storage_conf(const char *root, const char *name, struct runtime_config *c)
{
	auto_free char *path = xasprintf("%s%s", root, name);
	auto_free char *text = NULL;
	size_t len;

	if (file_read(path, CONFIG_MAX, &text, &len))
		return;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		take_setting(line, "graphroot", &c->podman_root);
		take_setting(line, "runroot", &c->podman_run);
		take_setting(line, "driver", &c->podman_driver);
	}
}

static void set_default(char **field, const char *text)
{
	if (!*field)
		*field = xstrdup(text);
}

void runtime_config_read(const char *root, struct runtime_config *out)
{
	auto_free char *daemon_json = xasprintf("%s/etc/docker/daemon.json", root);

	*out = (struct runtime_config){ 0 };
	add_docker_root(out, "/var/lib/docker");
	read_dockerds(root, out);
	read_daemon_json(daemon_json, out);
	read_storage_conf(root, "/etc/containers/storage.conf", out);
	read_storage_conf(root, "/usr/share/containers/storage.conf", out);
	set_default(&out->podman_root, "/var/lib/containers/storage");
	set_default(&out->podman_run, "/run/containers/storage");
	set_default(&out->podman_driver, "overlay");
}

void runtime_config_fini(struct runtime_config *c)
{
	for (size_t i = 0; i < RUNTIME_PATHS_MAX; i++)
		free(c->docker_roots[i]);
	free(c->docker_socket);
	free(c->podman_root);
	free(c->podman_run);
	free(c->podman_driver);
}

#define SOCKET_NS (200 * NS_PER_MS)

struct runtime {
	const char *path;   /* NULL: the configured path */
	const char *behind; /* the text after the id in the URL */
};

static const struct runtime runtimes[NR_RUNTIME_SOCKETS] = {
	[SOCKET_DOCKER] = { "/run/docker.sock", "/json" },
	[SOCKET_DOCKER_ELSEWHERE] = { NULL, "/json" },
	[SOCKET_CRIO] = { "/run/crio/crio.sock", "" },
};

int runtime_socket_find(const char *root, const struct runtime_config *config,
			enum runtime_socket which, char **path)
{
	const char *name = runtimes[which].path ?: config->docker_socket;
	auto_free char *whole = xasprintf("%s%s", root, name ?: "");
	struct stat st;

	if (!name)
		return -ENOENT;
	if (stat(whole, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || (st.st_uid && st.st_uid != geteuid()))
		return -ENOENT;
	*path = take(whole);
	return 0;
}

/* Sets the time left until `until_ns` as timeout. A timeout of 0 would mean to wait forever. */
static int set_patience(int fd, int option, u64 until_ns)
{
	u64 now = time_mono_ns();
	struct timeval left = { .tv_usec = now < until_ns ? (long)(until_ns - now) / 1000 + 1 : 0 };

	if (!left.tv_usec)
		return -EAGAIN;
	return setsockopt(fd, SOL_SOCKET, option, &left, sizeof(left)) ? -errno : 0;
}

static int connect_to(const char *path, u64 until_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	copy_text(address.sun_path, sizeof(address.sun_path), path);
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int err = set_patience(fd, SO_SNDTIMEO, until_ns);
	if (err)
		return err;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return take_fd(fd);
}

static int receive_all(int fd, u64 until_ns, struct str *out)
{
	char part[4096];

	while (out->len < RUNTIME_ANSWER_MAX) {
		int err = set_patience(fd, SO_RCVTIMEO, until_ns);
		if (err)
			return err;
		ssize_t got = recv(fd, part, sizeof(part), 0);
		if (got <= 0)
			return got ? -errno : 0;
		str_add_bytes(out, part, (size_t)got);
	}
	return 0;
}

/* Sends a request in HTTP/1.0, so that the answer is one piece and ends with the connection. */
static int exchange(int fd, const struct runtime *runtime, const char *id, u64 until_ns,
		    struct str *text)
{
	str_addf(text, "GET /containers/%s%s HTTP/1.0\r\nHost: sysflame\r\n\r\n", id,
		 runtime->behind);
	if (send(fd, text->at, text->len, MSG_NOSIGNAL) != (ssize_t)text->len)
		return -errno;
	str_clear(text);
	return receive_all(fd, until_ns, text);
}

int runtime_socket_ask(const char *root, const struct runtime_config *config,
		       enum runtime_socket which, const char *id, struct str *out)
{
	const u64 until_ns = time_mono_ns() + SOCKET_NS;
	auto_free char *path = NULL;
	auto_str struct str text = { 0 };
	int err = runtime_socket_find(root, config, which, &path);

	if (err)
		return err;
	auto_close int fd = connect_to(path, until_ns);
	err = fd < 0 ? fd : exchange(fd, &runtimes[which], id, until_ns, &text);
	const char *body = !err && text.at ? strstr(text.at, "\r\n\r\n") : NULL;
	if (body && strstr(text.at, " 200 "))
		str_add_bytes(out, body, text.len - (size_t)(body - text.at));
	return err;
}
