/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a fleet's keys and of NATS's configuration. */
#include "cmd/fleet_layout.h"

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
#include "base/log.h"
#include "base/outfile.h"
#include "cmd/cmd.h"
#include "fleet/certificate.h"
#include "fleet/nkey.h"
#include "fleet/selector.h"

#define NODES_BYTES (16u << 20)
#define USERS_BYTES (256u << 20)
#define INBOX_TEXT  64

static const char *const folders[NR_RIGHTS] = {
	[RIGHTS_NODE] = "nodes",
	[RIGHTS_PERSON] = "people",
	[RIGHTS_OPERATOR] = "people",
};

static int failed(const char *path, int err)
{
	log_error("fleet: %s: %s", path, strerror(-err));
	return EXIT_FAILED;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_twins(const char *path, char **all, size_t nr)
{
	if (nr)
		qsort(all, nr, sizeof(*all), by_text);
	for (size_t i = 1; i < nr; i++)
		if (!strcmp(all[i - 1], all[i])) {
			log_error("fleet: %s: the name %s is there twice", path, all[i]);
			return EXIT_USAGE;
		}
	return 0;
}

int layout_read_nodes(const char *path, struct str *names, size_t *nr)
{
	auto_free char *text = NULL;
	VEC(char *) all = { 0 };
	char *rest, *line;
	size_t len, number = 0;
	int err = file_read(path, NODES_BYTES, &text, &len), status = 0;

	if (err)
		return failed(path, err);
	for (rest = text; (line = strsep(&rest, "\n")) && !status;) {
		number++;
		line[strcspn(line, "# \t\r")] = '\0';
		if (!*line)
			continue;
		vec_push(&all, line);
		str_addf(names, "%s\n", line);
		if (node_name_is_valid(line))
			continue;
		log_error("fleet: %s: line %zu: a name has 1 to 63 letters, digits, - and _", path,
			  number);
		status = EXIT_USAGE;
	}
	status = status ?: check_twins(path, all.at, all.nr);
	*nr = all.nr;
	vec_fini(&all);
	return status;
}

static int make_folder(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

int layout_write_file(const char *path, bool is_private, const void *bytes, size_t len)
{
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_private ? 0600 : 0644);

	if (fd < 0)
		return -errno;
	return write(fd, bytes, len) == (ssize_t)len ? 0 : -EIO;
}

static int write_in(const char *dir, const char *name, bool is_private, const struct str *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);

	return layout_write_file(path, is_private, text->at, text->len);
}

/* A file that all clients have: changes of the first reach the others. */
static int share(const char *dir, const char *name, const char *client)
{
	auto_free char *from = xasprintf("%s/%s", dir, name),
		       *to = xasprintf("%s/%s", client, name);
	auto_free char *text = NULL;
	size_t len;

	unlink(to); /* of a client of that name that was revoked */
	if (!link(from, to))
		return 0;
	if (errno != EMLINK && errno != EPERM)
		return -errno;
	return file_read(from, NODES_BYTES, &text, &len) ?: layout_write_file(to, false, text, len);
}

/* Makes the folder of a client with its key, and appends its line. */
static int add_client(const char *dir, enum rights_kind kind, const char *name,
		      const u8 *public_key, struct str *users)
{
	auto_free char *folder = xasprintf("%s/%s/%s", dir, folders[kind], name);
	char seed[NKEY_SEED_TEXT + 1], nkey[NKEY_TEXT], inbox[INBOX_TEXT];
	int err = make_folder(folder) ?: nkey_new(seed, nkey);

	copy_text(inbox, sizeof(inbox), name);
	if (public_key)
		hex_print(public_key, INBOX_OWNER, inbox);
	auto_free char *path = xasprintf("%s/nats.nk", folder);
	if (err)
		return err;
	strcat(seed, "\n");
	err = layout_write_file(path, true, seed, strlen(seed));
	explicit_bzero(seed, sizeof(seed));
	if (err)
		return err;
	err = share(dir, "ca.pem", folder);
	if (!public_key)
		err = err ?: share(dir, "keys", folder);
	if (err)
		unlink(path); /* no server knows it */
	else
		rights_add(users, kind, name, inbox, nkey);
	return err;
}

/* Files that somebody else has put there stay, and so does the folder then. */
static int remove_client(const char *dir, enum rights_kind kind, const char *name)
{
	static const char *const files[] = { "nats.nk", "ca.pem", "keys", "key", "person" };
	auto_free char *folder = xasprintf("%s/%s/%s", dir, folders[kind], name);

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *path = xasprintf("%s/%s", folder, files[i]);
		if (unlink(path) && errno != ENOENT)
			return failed(path, -errno);
	}
	if (rmdir(folder) && errno != ENOENT && errno != ENOTEMPTY)
		return failed(folder, -errno);
	return 0;
}

static int write_certificates(const struct layout_options *o, const char *server)
{
	struct certificate authority = { 0 }, own = { 0 };
	int err =
		certificate_authority(&authority) ?: certificate_server(&authority, o->hosts, &own);

	err = err ?: write_in(o->dir, "ca.pem", false, &authority.pem)
			    ?: write_in(o->dir, "ca.key", true, &authority.key)
				       ?: write_in(server, "ca.pem", false, &authority.pem)
						  ?: write_in(server, "server.pem", false, &own.pem)
							     ?: write_in(server, "server.key", true,
									 &own.key);
	certificate_fini(&authority);
	certificate_fini(&own);
	return err;
}

static int write_configuration(const struct layout_options *o, const char *server)
{
	auto_str struct str hub = { 0 }, leaf = { 0 };
	auto_free char *host = strndup(o->hosts, strcspn(o->hosts, ","));
	char password[2 * FLEET_ID_LEN + 1];
	u8 random[FLEET_ID_LEN];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	hex_print(random, sizeof(random), password);
	rights_add_hub(&hub, password);
	rights_add_leaf(&leaf, host, password);
	return write_in(server, "hub.conf", true, &hub)
		       ?: write_in(server, "leaf.conf", true, &leaf);
}

static int add_clients(const struct layout_options *o, const char *names, const u8 *public_key,
		       struct str *users)
{
	auto_free char *copy = xstrdup(names), *people = xasprintf("%s/people", o->dir);
	auto_free char *own = xasprintf("%s/people/%s/nats.nk", o->dir, o->person);
	auto_free char *here = xasprintf("%s/nats.nk", o->dir);
	char *rest = copy, *name;
	int err = add_client(o->dir, o->person_kind, o->person, public_key, users);

	if (!err && link(own, here))
		err = -errno;
	while (!err && (name = strsep(&rest, "\n")))
		if (*name)
			err = add_client(o->dir, RIGHTS_NODE, name, NULL, users);
	return err;
}

int layout_check_hosts(const char *hosts)
{
	if (certificate_takes(hosts))
		return 0;
	log_error("fleet: --hosts takes names and IP addresses, joined by commas");
	return EXIT_USAGE;
}

int layout_write(const struct layout_options *o, const char *names, const u8 *public_key)
{
	auto_free char *server = xasprintf("%s/server", o->dir);
	auto_str struct str users = { 0 };
	int err = make_folder(server) ?: write_certificates(o, server);

	for (int i = 0; i < NR_RIGHTS && !err; i++) {
		auto_free char *folder = xasprintf("%s/%s", o->dir, folders[i]);
		err = make_folder(folder);
	}
	str_add(&users, "users: [\n");
	err = err ?: write_configuration(o, server) ?: add_clients(o, names, public_key, &users);
	str_add(&users, "]\n");
	err = err ?: write_in(server, "users.conf", true, &users);
	return err ? failed(o->dir, err) : 0;
}

/* Reads the lines of all clients, and keeps others from changing them until `lock` is closed. */
static int read_users(const char *dir, char **text, int *lock)
{
	auto_free char *server = xasprintf("%s/server", dir);
	auto_free char *path = xasprintf("%s/users.conf", server);
	size_t len;

	*lock = open(server, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock < 0 || flock(*lock, LOCK_EX) || file_read(path, USERS_BYTES, text, &len)) {
		log_error("fleet: %s/server/users.conf cannot be read; sysflame fleet init --nodes "
			  "makes it",
			  dir);
		return EXIT_FAILED;
	}
	return 0;
}

static int write_users(const char *dir, const struct str *text)
{
	auto_free char *path = xasprintf("%s/server/users.conf", dir);
	struct outfile *o = NULL;
	int err = outfile_open(path, false, &o);

	if (!err && fwrite(text->at, 1, text->len, o->f) != text->len) {
		outfile_abort(o);
		err = -EIO;
	} else if (!err) {
		err = outfile_commit(o, NULL);
	}
	if (err)
		log_error("fleet: %s: %s", path, outfile_why(err));
	return err ? EXIT_FAILED : 0;
}

/* Copies the lines but that of the client. Returns whether there was one. */
static bool copy_others(char *text, enum rights_kind kind, const char *name, struct str *out)
{
	char *rest = text, *line;
	bool was_there = false;

	while ((line = strsep(&rest, "\n"))) {
		if (rights_line_is(line, kind, name))
			was_there = true;
		else if (*line && strcmp(line, "]") != 0)
			str_addf(out, "%s\n", line);
	}
	return was_there;
}

/* Reads the lines of all clients and copies those of others; the client must be new. */
static int read_others(const char *dir, enum rights_kind kind, const char *name, struct str *out,
		       int *lock)
{
	auto_free char *text = NULL;
	int status = read_users(dir, &text, lock);

	if (!status && copy_others(text, kind, name, out)) {
		log_error("fleet add: %s has a key already; revoke it first", name);
		status = EXIT_FAILED;
	}
	return status;
}

int layout_check_new(const char *dir, enum rights_kind kind, const char *name)
{
	auto_close int lock = -1;
	auto_str struct str out = { 0 };

	return read_others(dir, kind, name, &out, &lock);
}

int layout_add(const char *dir, enum rights_kind kind, const char *name, const u8 *public_key)
{
	auto_close int lock = -1;
	auto_str struct str out = { 0 };
	int status = read_others(dir, kind, name, &out, &lock);

	if (status)
		return status;
	int err = add_client(dir, kind, name, public_key, &out);
	if (err)
		return failed(name, err);
	str_add(&out, "]\n");
	status = write_users(dir, &out);
	if (status)
		remove_client(dir, kind, name);
	return status;
}

int layout_revoke(const char *dir, enum rights_kind kind, const char *name)
{
	auto_close int lock = -1;
	auto_free char *text = NULL;
	auto_str struct str out = { 0 };
	int status = read_users(dir, &text, &lock);

	if (status)
		return status;
	if (!copy_others(text, kind, name, &out)) {
		log_error("fleet revoke: %s has no key", name);
		return EXIT_FAILED;
	}
	str_add(&out, "]\n");
	return write_users(dir, &out) ?: remove_client(dir, kind, name);
}
