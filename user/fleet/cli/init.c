/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet init`: makes a person's key, and the keys and configuration of NATS. `add` and
 * `revoke` change them.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "fleet/cli/layout.h"
#include "fleet/cli/request.h"
#include "fleet/wire/selector.h"

#define NODES_BYTES (16u << 20)

struct options {
	const char *dir, *person, *role, *namespaces, *nodes, *hosts;
	bool help;
};

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

/* Reads the names in a file, each once. Returns an exit status. */
static int read_names(const char *path, struct str *names, size_t *nr)
{
	auto_free char *text = NULL;
	VEC(char *) all = { 0 };
	char *rest, *line;
	size_t len, number = 0;
	int err = file_read(path, NODES_BYTES, &text, &len), status = 0;

	if (err) {
		log_error("fleet: %s: %s", path, strerror(-err));
		return EXIT_FAILED;
	}
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

/* Writes the person's name beside the key, for the policies that the owner of the key signs. */
static int write_person(const char *dir, const char *person)
{
	auto_free char *path = xasprintf("%s/person", dir), *text = xasprintf("%s\n", person);
	int err;

	unlink(path);
	err = layout_write_file(path, false, text, strlen(text));
	if (err)
		log_error("fleet: %s: %s", path, strerror(-err));
	return err;
}

/* Fails if a key exists already: nodes know the old key. */
static int write_key(const char *dir, const u8 *private_key)
{
	auto_free char *path = xasprintf("%s/key", dir);
	char text[2 * FLEET_KEY_LEN + 2];

	hex_print(private_key, FLEET_KEY_LEN, text);
	strcat(text, "\n");
	int err = layout_write_file(path, true, text, strlen(text));
	explicit_bzero(text, sizeof(text));
	if (err)
		log_error("fleet: %s: %s", path, strerror(-err));
	return err;
}

/* Removes the files of a key that is of no use. If they stayed, the next try would fail. */
static void remove_key(const char *folder)
{
	auto_free char *key = xasprintf("%s/key", folder), *person = xasprintf("%s/person", folder);

	unlink(key);
	unlink(person);
}

/* The line by which nodes know the key. Returns an exit status. */
static int make_line(const struct options *o, const u8 *public_key, struct str *line)
{
	struct fleet_keys checked = { 0 };
	auto_str struct str why = { 0 };
	char hex[2 * FLEET_KEY_LEN + 1];

	hex_print(public_key, FLEET_KEY_LEN, hex);
	str_addf(line, "%s %s %s%s%s\n", hex, o->role, o->person, o->namespaces ? " " : "",
		 o->namespaces ?: "");
	int err = keys_parse(line->at, &checked, &why);
	keys_fini(&checked);
	if (err)
		log_error("fleet: %s", strchr(why.at, ':') + 2);
	return err ? EXIT_USAGE : 0;
}

/* Makes the key and its line. Returns an exit status; if it fails, there is no new key. */
static int make_key(const struct options *o, const char *folder, u8 *public_key, struct str *line)
{
	u8 private_key[FLEET_KEY_LEN];

	if (key_new(private_key, public_key)) {
		log_error("fleet: a key cannot be made");
		return EXIT_FAILED;
	}
	int status = make_line(o, public_key, line);
	if (!status && mkdir(folder, 0755) && errno != EEXIST) {
		log_error("fleet: %s: %s", folder, strerror(errno));
		status = EXIT_FAILED;
	}
	if (!status && write_key(folder, private_key))
		status = EXIT_FAILED;
	else if (!status && write_person(folder, o->person)) {
		remove_key(folder);
		status = EXIT_FAILED;
	}
	explicit_bzero(private_key, sizeof(private_key));
	return status;
}

/* Nodes know the key from here on. Returns an exit status. */
static int announce(const char *dir, const struct str *line)
{
	if (layout_change_keys(dir, NULL, line->at))
		return EXIT_FAILED;
	printf("%s", line->at);
	return 0;
}

static enum rights_kind person_kind(const char *role)
{
	return strcmp(role, "operator") != 0 ? RIGHTS_PERSON : RIGHTS_OPERATOR;
}

static int init(const struct options *o)
{
	const struct layout_options layout = { .dir = o->dir,
					       .hosts = o->hosts ?: "localhost,127.0.0.1",
					       .person = o->person,
					       .person_kind = person_kind(o->role) };
	auto_str struct str names = { 0 }, line = { 0 };
	u8 public_key[FLEET_KEY_LEN];
	bool has_server = o->nodes || o->hosts;
	size_t nr = 0;
	int status = o->nodes ? read_names(o->nodes, &names, &nr) : 0;

	if (!status && has_server)
		status = layout_check_hosts(layout.hosts);
	status = status ?: make_key(o, o->dir, public_key, &line);
	if (!status && announce(o->dir, &line)) {
		remove_key(o->dir);
		status = EXIT_FAILED;
	}
	if (!status && !has_server)
		log_info("%s/key is private; copy the line above into the file `keys` of every "
			 "node's --fleet-dir",
			 o->dir);
	if (status || !has_server)
		return status;
	str_add(&names, "");
	status = layout_write(&layout, names.at, public_key);
	if (status)
		return status;
	if (nr)
		log_info("%zu nodes have keys of their own, in %s/nodes", nr, o->dir);
	log_info("copy %s/join to the --fleet-dir of all other nodes, and %s/server to the NATS "
		 "server, which starts by: nats-server -c hub.conf",
		 o->dir, o->dir);
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
		{ 0, "nodes", OPT_STRING, &o.nodes, "FILE",
		  "a name on each line: as --hosts, and each gets a key of its own" },
		{ 0, "hosts", OPT_STRING, &o.hosts, "HOST,..",
		  "also make keys and configuration of a NATS server of these names and "
		  "addresses (localhost,127.0.0.1), and the secret by which nodes join" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"init", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet init --dir DIR [OPTION..]\n\n"
		"Makes a key, and prints the line by which nodes know it. With --hosts it also\n"
		"makes configuration for nats-server, and one folder by which any number of\n"
		"nodes join.\n");

	if (status >= 0)
		return status;
	if (!o.dir)
		return requests_usage_error("init", "needs --dir DIR");
	if (!node_name_is_valid(o.person))
		return requests_usage_error("init",
					    "a person's name has 1 to 63 letters, digits, - and _");
	return init(&o);
}

struct change {
	const char *dir, *name, *role, *namespaces;
	bool is_person, is_join, help;
};

static int parse_change(struct change *c, int argc, char **argv, bool adds)
{
	const struct opt all[] = {
		/* `add` has the first two, `revoke` the last one. */
		{ 0, "role", OPT_STRING, &c->role, "ROLE",
		  "of a person: viewer, profiler or operator (viewer)" },
		{ 0, "namespaces", OPT_STRING, &c->namespaces, "NAME,..",
		  "what a profiler may record" },
		{ 0, "dir", OPT_STRING, &c->dir, "DIR", "the folder of fleet init" },
		{ 0, "person", OPT_BOOL, &c->is_person, NULL, "NAME is a person" },
		{ 'h', "help", OPT_BOOL, &c->help, NULL, "show this help" },
		{ 0, "join", OPT_BOOL, &c->is_join, NULL,
		  "instead of NAME: the secret by which nodes join; there is a new one then" },
	};
	const struct opt *opts = adds ? all : all + 2;
	size_t nr = ARRAY_SIZE(all) - (adds ? 1 : 2);
	int words = opt_parse_mixed(opts, nr, argc, argv);

	if (words < 0)
		return EXIT_USAGE;
	if (c->help) {
		printf("usage: sysflame fleet %s NAME --dir DIR [OPTION..]\n\n%s\n\n",
		       adds ? "add" : "revoke",
		       adds ? "Makes the key of a node or a person."
			    : "Removes the rights of a node or a person.");
		opt_help(opts, nr);
		return 0;
	}
	if (!c->is_person && (c->role || c->namespaces)) {
		log_error("fleet add: --role and --namespaces need --person");
		return EXIT_USAGE;
	}
	c->role = c->role ?: "viewer";
	c->name = words == 1 ? argv[0] : "";
	if (c->dir && (c->is_join ? !words && !c->is_person : node_name_is_valid(c->name)))
		return 0;
	log_error("fleet: takes --dir DIR and a name of 1 to 63 letters, digits, - and _");
	return EXIT_USAGE;
}

static enum rights_kind kind_of(const struct change *c)
{
	return c->is_person ? person_kind(c->role) : RIGHTS_NODE;
}

static int say_next(const struct change *c, bool adds, int status)
{
	if (status)
		return status;
	if (!adds)
		log_info("copy server/account.conf to the NATS servers, and reload them: "
			 "nats-server --signal reload");
	if (c->is_person)
		log_info("copy nodes/NAME/keys to the --fleet-dir of each node, and join/keys to "
			 "those that joined");
	if (c->is_join)
		log_info("copy join/join to the --fleet-dir of each node that joins");
	return 0;
}

/*
 * Makes a person's key, adds its rights for NATS, and then its line in the file `keys`: nodes that
 * read the file trust the key within seconds. Returns an exit status.
 */
static int add_person(const struct change *c)
{
	const struct options o = {
		.dir = c->dir, .person = c->name, .role = c->role, .namespaces = c->namespaces
	};
	auto_free char *folder = xasprintf("%s/people/%s", c->dir, c->name);
	auto_str struct str line = { 0 };
	u8 public_key[FLEET_KEY_LEN];
	int status = layout_check_new(c->dir, kind_of(c), c->name);

	status = status ?: make_key(&o, folder, public_key, &line);
	if (status)
		return status;
	status = layout_add(c->dir, kind_of(c), c->name, public_key);
	if (status)
		remove_key(folder);
	else if (announce(c->dir, &line)) {
		layout_revoke(c->dir, kind_of(c), c->name);
		status = EXIT_FAILED;
	}
	return status;
}

int fleet_add_main(int argc, char **argv)
{
	struct change c = { 0 };
	int status = parse_change(&c, argc, argv, true);

	if (status || c.help)
		return status;
	return say_next(&c, true,
			c.is_person ? add_person(&c)
				    : layout_add(c.dir, kind_of(&c), c.name, NULL));
}

int fleet_revoke_main(int argc, char **argv)
{
	struct change c = { 0 };
	int status = parse_change(&c, argc, argv, false);

	if (status || c.help)
		return status;
	if (c.is_person) /* first: nodes trust it */
		status = layout_change_keys(c.dir, c.name, "");
	status = status
			 ?: c.is_join ? layout_revoke_join(c.dir)
				      : layout_revoke(c.dir, kind_of(&c), c.name);
	return say_next(&c, false, status);
}
