/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet init`: makes a person's key.
 * Part of cmd/fleet.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "fleet/key.h"

struct options {
	const char *dir, *person, *role, *namespaces;
	bool help;
};

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);

	return write(fd, text, len) == (ssize_t)len ? 0 : -EIO;
}

/* An old key stays: nodes know it. */
static int write_key(const char *dir, const u8 *private_key)
{
	auto_free char *path = xasprintf("%s/key", dir);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char text[2 * FLEET_KEY_LEN + 2];

	if (fd < 0) {
		log_error("fleet init: %s: %s", path, strerror(errno));
		return -errno;
	}
	hex_print(private_key, FLEET_KEY_LEN, text);
	strcat(text, "\n");
	int err = write_all(fd, text);
	explicit_bzero(text, sizeof(text));
	return err;
}

static int append_line(const char *dir, const char *line)
{
	auto_free char *path = xasprintf("%s/keys", dir);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int err = fd < 0 ? -errno : write_all(fd, line);

	if (err)
		log_error("fleet init: %s: %s", path, strerror(-err));
	return err;
}

static int init(const struct options *o)
{
	u8 private_key[FLEET_KEY_LEN];
	struct fleet_key key = { 0 };
	struct fleet_keys checked = { 0 };
	auto_str struct str line = { 0 }, why = { 0 };
	char hex[2 * FLEET_KEY_LEN + 1];

	if (key_new(private_key, key.key)) {
		log_error("fleet init: a key cannot be made");
		return EXIT_FAILED;
	}
	hex_print(key.key, sizeof(key.key), hex);
	str_addf(&line, "%s %s %s%s%s\n", hex, o->role, o->person, o->namespaces ? " " : "",
		 o->namespaces ?: "");
	int err = keys_parse(line.at, &checked, &why);
	keys_fini(&checked);
	if (err) {
		log_error("fleet init: %s", strchr(why.at, ':') + 2);
		return EXIT_USAGE;
	}
	if (mkdir(o->dir, 0755) && errno != EEXIST) {
		log_error("fleet init: %s: %s", o->dir, strerror(errno));
		return EXIT_FAILED;
	}
	err = write_key(o->dir, private_key) ?: append_line(o->dir, line.at);
	explicit_bzero(private_key, sizeof(private_key));
	if (err)
		return EXIT_FAILED;
	printf("%s", line.at);
	log_info("%s/key is private; copy the line above into the file `keys` of every node's "
		 "--fleet-dir",
		 o->dir);
	return 0;
}

int fleet_init_main(int argc, char **argv)
{
	struct options o = { .role = "operator", .person = "operator" };
	const struct opt opts[] = {
		{ 0, "dir", OPT_STRING, &o.dir, "DIR", "write the files `key` and `keys` there" },
		{ 0, "person", OPT_STRING, &o.person, "NAME", "whose key it is (operator)" },
		{ 0, "role", OPT_STRING, &o.role, "ROLE",
		  "viewer, profiler or operator (operator)" },
		{ 0, "namespaces", OPT_STRING, &o.namespaces, "NAME,..",
		  "what a profiler may record" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		puts("usage: sysflame fleet init --dir DIR [OPTION..]\n\n"
		     "Makes a key, and prints the line by which nodes know it.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (!o.dir || next < argc) {
		log_error("fleet init: takes --dir DIR and no other words");
		return EXIT_USAGE;
	}
	return init(&o);
}
