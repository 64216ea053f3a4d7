/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a fleet's keys and of NATS's configuration. */
#include "fleet/cli/layout.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "fleet/wire/key.h"
#include "fleet/wire/link.h"
#include "fleet/wire/selector.h"

#define NODES_BYTES    (16u << 20)
#define USERS_BYTES    (256u << 20)
#define INBOX_TEXT     64
#define AUTHORITY_DAYS 3650
#define SERVER_DAYS    730
#define SERIAL_BYTES   16
#define HOST_BYTES     254

struct certificate {
	struct str pem, key; /* the certificate, and its private key */
};

AUTO_DEFINE(pkey, EVP_PKEY *, EVP_PKEY_free)
AUTO_DEFINE(x509, X509 *, X509_free)
AUTO_DEFINE(bio, BIO *, BIO_free_all)
#define auto_pkey __attribute__((cleanup(auto_pkey_run)))
#define auto_x509 __attribute__((cleanup(auto_x509_run)))
#define auto_bio  __attribute__((cleanup(auto_bio_run)))

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool is_added = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return is_added;
}

static bool set_serial(X509 *x)
{
	u8 bytes[SERIAL_BYTES];

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] &= 0x7f; /* positive */
	BIGNUM *n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	bool is_set = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return is_set;
}

static X509 *begin(EVP_PKEY *key, const char *name, int days)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, 2) && set_serial(x) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
	    X509_time_adj_ex(X509_getm_notAfter(x), days, 0, NULL) && X509_set_pubkey(x, key) &&
	    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
				       (const u8 *)name, -1, -1, 0))
		return x;
	X509_free(x);
	return NULL;
}

static int print(BIO *from, struct str *out)
{
	char *at = NULL;
	long nr = BIO_get_mem_data(from, &at);

	if (nr <= 0)
		return -EIO;
	str_add_bytes(out, at, (size_t)nr);
	return 0;
}

static int finish(X509 *x, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key,
		  struct certificate *out)
{
	auto_bio BIO *pem = BIO_new(BIO_s_mem());
	auto_bio BIO *private = BIO_new(BIO_s_mem());

	if (!pem || !private || !X509_set_issuer_name(x, X509_get_subject_name(issuer)) ||
	    !X509_sign(x, issuer_key, EVP_sha256()) || !PEM_write_bio_X509(pem, x) ||
	    !PEM_write_bio_PrivateKey(private, key, NULL, NULL, 0, NULL, NULL))
		return -EIO;
	return print(pem, &out->pem) ?: print(private, &out->key);
}

/* A new authority of ten years. Negative errno. */
static int certificate_authority(struct certificate *out)
{
	auto_pkey EVP_PKEY *key = EVP_EC_gen("P-256");
	auto_x509 X509 *x = key ? begin(key, "sysflame fleet", AUTHORITY_DAYS) : NULL;

	if (!x || !add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !add_extension(x, x, NID_subject_key_identifier, "hash"))
		return -EIO;
	return finish(x, key, x, key, out);
}

/* "DNS:a,IP:10.0.0.1" */
static int list_hosts(const char *hosts, struct str *out)
{
	auto_free char *copy = xstrdup(hosts);
	char *rest = copy, *host;
	u8 address[16];

	while ((host = strsep(&rest, ","))) {
		bool is_ip = inet_pton(AF_INET, host, address) == 1 ||
			     inet_pton(AF_INET6, host, address) == 1;
		size_t len = strlen(host);
		if (!is_ip && (!len || len >= HOST_BYTES ||
			       strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789.-*") != len))
			return -EINVAL;
		str_addf(out, "%s%s:%s", out->len ? "," : "", is_ip ? "IP" : "DNS", host);
	}
	return 0;
}

/* Whether these are names and IP addresses, joined by commas. */
static bool certificate_takes(const char *hosts)
{
	auto_str struct str names = { 0 };

	return !list_hosts(hosts, &names);
}

/*
 * A certificate of two years for a server: `hosts` as in certificate_takes.
 * -EINVAL if they or the authority are malformed.
 */
static int certificate_server(const struct certificate *authority, const char *hosts,
			      struct certificate *out)
{
	auto_bio BIO *pem = BIO_new_mem_buf(authority->pem.at, (int)authority->pem.len);
	auto_bio BIO *private = BIO_new_mem_buf(authority->key.at, (int)authority->key.len);
	auto_x509 X509 *issuer = pem ? PEM_read_bio_X509(pem, NULL, NULL, NULL) : NULL;
	auto_pkey EVP_PKEY *issuer_key =
		private ? PEM_read_bio_PrivateKey(private, NULL, NULL, NULL) : NULL;
	auto_pkey EVP_PKEY *key = EVP_EC_gen("P-256");
	auto_x509 X509 *x = key ? begin(key, "sysflame NATS server", SERVER_DAYS) : NULL;
	auto_str struct str names = { 0 };

	if (!issuer || !issuer_key || list_hosts(hosts, &names))
		return -EINVAL;
	if (!x || !add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
	    !add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") ||
	    !add_extension(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth") ||
	    !add_extension(x, issuer, NID_subject_alt_name, names.at))
		return -EIO;
	return finish(x, key, issuer, issuer_key, out);
}

static void certificate_fini(struct certificate *c)
{
	if (c->key.len)
		explicit_bzero(c->key.at, c->key.len);
	str_fini(&c->pem);
	str_fini(&c->key);
}

struct grants {
	const char *kind;
	const char *publish[20], *subscribe[8]; /* NAME and INBOX stand for those of the client */
};

/* Of every person. */
#define PERSON_PUBLISHES                                                                    \
	"sysflame.v1.req.all", "sysflame.v1.ctl", "sysflame.v1.node.*.get",                 \
		"$JS.API.STREAM.INFO.SYSFLAME_NODES", "$JS.API.STREAM.INFO.SYSFLAME_AUDIT", \
		"$JS.API.STREAM.INFO.SYSFLAME_POLICY", "$JS.API.DIRECT.GET.SYSFLAME_POLICY"

/*
 * A node's answers go to "INBOX.answer.NAME" and "INBOX.chunk.NAME.>" below an inbox of two tokens,
 * so it needs no right to reply to whatever it was asked. Of the API of JetStream it may read the
 * policy only: publishing is enough for what other streams keep.
 *
 * Nobody may change, purge or delete a stream, or make a consumer, which can deliver to any
 * subject. Who creates a stream chooses its subjects, and could read what others get: operators
 * only.
 */
static const struct grants grants[NR_RIGHTS] = {
	[RIGHTS_NODE] = {
		"node",
		{ "_INBOX.*.*.answer.NAME", "_INBOX.*.*.chunk.NAME.>",
		  "sysflame.v1.audit.node.NAME", "sysflame.v1.audit.trigger.NAME",
		  STREAM_SEEN "NAME", "$JS.API." STREAM_GET_POLICY,
		  STREAM_FROM_LEAF(STREAM_GET_POLICY) },
		{ "sysflame.v1.req.all", "sysflame.v1.ctl", "sysflame.v1.policy",
		  "sysflame.v1.node.NAME.>",
		  "_INBOX.INBOX.>" },
	},
	[RIGHTS_PERSON] = {
		"person",
		{ PERSON_PUBLISHES },
		{ "_INBOX.INBOX.>" },
	},
	[RIGHTS_OPERATOR] = {
		"person",
		{ PERSON_PUBLISHES, "sysflame.v1.policy",
		  "$JS.API.STREAM.CREATE.SYSFLAME_NODES",
		  "$JS.API.STREAM.CREATE.SYSFLAME_POLICY",
		  "$JS.API.STREAM.CREATE.SYSFLAME_AUDIT",
		  "$JS.API.DIRECT.GET.SYSFLAME_AUDIT" },
		{ "_INBOX.INBOX.>" },
	},
};

static void add_subject(struct str *out, const char *subject, const char *name, const char *inbox)
{
	const char *at = strstr(subject, "NAME"), *own = strstr(subject, "INBOX.INBOX");

	if (own)
		str_addf(out, "\"_INBOX.%s.>\"", inbox);
	else if (at)
		str_addf(out, "\"%.*s%s%s\"", (int)(at - subject), subject, name, at + 4);
	else
		str_addf(out, "\"%s\"", subject);
}

static void add_list(struct str *out, const char *const *subjects, size_t nr, const char *name,
		     const char *inbox)
{
	for (size_t i = 0; i < nr && subjects[i]; i++) {
		if (i)
			str_add_char(out, ',');
		add_subject(out, subjects[i], name, inbox);
	}
}

/* Appends the line of a client. `inbox`: the token of its inboxes; of a node its name. */
static void rights_add(struct str *out, enum rights_kind kind, const char *name, const char *inbox,
		       const char *public_key)
{
	const struct grants *g = &grants[kind];

	str_addf(out, "{nkey:%s,permissions:{publish:{allow:[", public_key);
	add_list(out, g->publish, ARRAY_SIZE(g->publish), name, inbox);
	str_add(out, "]},subscribe:{allow:[");
	add_list(out, g->subscribe, ARRAY_SIZE(g->subscribe), name, inbox);
	str_addf(out, "]}}} # %s %s\n", g->kind, name);
}

/* Whether a line is that of the client. */
static bool rights_line_is(const char *line, enum rights_kind kind, const char *name)
{
	auto_free char *end = xasprintf("} # %s %s", grants[kind].kind, name);
	size_t len = strlen(line), nr = strlen(end);

	return len >= nr && !strcmp(line + len - nr, end);
}

static const char common[] = "port: 4222\n"
			     "max_connections: 65536\n"
			     "max_payload: 1MB\n"
			     "ping_interval: \"30s\"\n"
			     "authorization { timeout: 10 }\n";

/* Nodes of a whole fleet connect at once after a restart: handshakes wait for the CPU. */
static const char tls[] = "tls {\n"
			  "  cert_file: \"./server.pem\"\n"
			  "  key_file: \"./server.key\"\n"
			  "  ca_file: \"./ca.pem\"\n"
			  "  timeout: 10\n"
			  "}\n";

/* Appends the configuration of the server in the middle, and of one near the nodes. */
static void rights_add_hub(struct str *out, const char *leaf_password)
{
	str_add(out, "# nats-server -c hub.conf, in this folder. Made by sysflame fleet init.\n"
		     "server_name: sysflame-hub\n");
	str_addf(out, "%s%s", common, tls);
	str_add(out, "jetstream {\n"
		     "  domain: " STREAM_DOMAIN "\n"
		     "  store_dir: \"./jetstream\"\n"
		     "  max_memory_store: 256MB\n"
		     "  max_file_store: 4GB\n"
		     "}\n");
	str_addf(out, "leafnodes {\nport: 7422\n%s", tls);
	str_addf(out, "authorization { user: leaf, password: \"%s\", account: FLEET }\n}\n",
		 leaf_password);
	str_add(out, "accounts {\n"
		     "  FLEET {\n"
		     "    jetstream: enabled\n"
		     "    include \"users.conf\"\n"
		     "  }\n"
		     "}\n");
}

static void rights_add_leaf(struct str *out, const char *hub_host, const char *leaf_password)
{
	str_add(out, "# nats-server -c leaf.conf near the nodes of a zone, with the other files of "
		     "this folder\n# except hub.conf. Made by sysflame fleet init.\n");
	str_addf(out, "%s%s", common, tls);
	str_addf(out,
		 "leafnodes {\n"
		 "  remotes: [\n"
		 "    {\n"
		 "      url: \"tls://leaf:%s@%s:7422\"\n"
		 "      account: FLEET\n"
		 "      tls { ca_file: \"./ca.pem\" }\n"
		 "    }\n"
		 "  ]\n"
		 "}\n",
		 leaf_password, hub_host);
	str_add(out, "accounts {\n"
		     "  FLEET {\n"
		     "    include \"users.conf\"\n"
		     "  }\n"
		     "}\n");
}

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

/* Replaces a file at once. Its owner and rights stay. */
static int replace_file(const char *path, const void *bytes, size_t len)
{
	auto_free char *new = xasprintf("%s.new", path);
	struct stat st;
	bool is_there = !stat(path, &st);

	unlink(new); /* of a command that was killed */
	int err = layout_write_file(new, is_there, bytes, len);
	if (!err && is_there &&
	    (chown(new, st.st_uid, st.st_gid) || chmod(new, st.st_mode & 07777)))
		err = -errno;
	if (!err && rename(new, path))
		err = -errno;
	if (err)
		unlink(new);
	return err;
}

/* A file that all clients have, each its own. */
static int copy_to(const char *client, const char *dir, const char *name)
{
	auto_free char *from = xasprintf("%s/%s", dir, name),
		       *to = xasprintf("%s/%s", client, name);
	auto_free char *text = NULL;
	size_t len;

	return file_read(from, NODES_BYTES, &text, &len) ?: replace_file(to, text, len);
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
	err = copy_to(folder, dir, "ca.pem");
	if (!public_key)
		err = err ?: copy_to(folder, dir, "keys");
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
	auto_free char *copy = xstrdup(names);
	auto_free char *own = xasprintf("%s/people/%s/nats.nk", o->dir, o->person);
	auto_free char *here = xasprintf("%s/nats.nk", o->dir);
	char *rest = copy, *name, *seed = NULL;
	size_t len = 0;
	int err = add_client(o->dir, o->person_kind, o->person, public_key, users);

	err = err ?: file_read(own, NKEY_SEED_TEXT + 1, &seed, &len)
			    ?: layout_write_file(here, true, seed, len);
	if (seed)
		explicit_bzero(seed, len);
	free(seed);
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

static bool is_line_of(const char *line, const char *person)
{
	char key[2 * FLEET_KEY_LEN + 1], role[16], name[64];

	return person && *line != '#' && sscanf(line, "%64s %15s %63s", key, role, name) == 3 &&
	       !strcmp(name, person);
}

/* The folders of nodes get the file `keys`. */
static int spread_keys(const char *dir)
{
	auto_free char *nodes = xasprintf("%s/%s", dir, folders[RIGHTS_NODE]);
	DIR *d = opendir(nodes);
	struct dirent *e;
	int err = 0;

	while (d && !err && (e = readdir(d))) {
		auto_free char *folder = xasprintf("%s/%s", nodes, e->d_name);
		if (node_name_is_valid(e->d_name))
			err = copy_to(folder, dir, "keys");
	}
	if (d)
		closedir(d);
	return err;
}

int layout_change_keys(const char *dir, const char *without, const char *line)
{
	auto_close int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *path = xasprintf("%s/keys", dir), *text = NULL;
	auto_str struct str out = { 0 };
	char *rest, *old;
	size_t len;
	int err = lock < 0 || flock(lock, LOCK_EX) ? -errno
						   : file_read(path, NODES_BYTES, &text, &len);

	if (err == -ENOENT)
		err = 0;
	for (rest = text; !err && (old = strsep(&rest, "\n"));)
		if (*old && !is_line_of(old, without))
			str_addf(&out, "%s\n", old);
	str_add(&out, line);
	err = err ?: replace_file(path, out.at, out.len) ?: spread_keys(dir);
	return err ? failed(path, err) : 0;
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
	int err = replace_file(path, text->at, text->len);

	return err ? failed(path, err) : 0;
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
