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
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "fleet/wire/jwt.h"
#include "fleet/wire/link.h"
#include "fleet/wire/selector.h"

#define NODES_BYTES    (16u << 20)
#define CLIENTS_BYTES  (64u << 20)
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

#define NO_LIMITS "\"subs\":-1,\"data\":-1,\"payload\":-1"

struct grants {
	const char *kind; /* of a line of `clients` */
	/* NAME and INBOX stand for the client's name and inbox */
	const char *publish[20], *subscribe[8];
};

/* Of every person. */
#define PERSON_PUBLISHES                                                                    \
	"sysflame.v1.req.all", "sysflame.v1.ctl", "sysflame.v1.node.*.get",                 \
		"$JS.API.STREAM.INFO.SYSFLAME_NODES", "$JS.API.STREAM.INFO.SYSFLAME_AUDIT", \
		"$JS.API.STREAM.INFO.SYSFLAME_POLICY", "$JS.API.DIRECT.GET.SYSFLAME_POLICY"

/*
 * A node's answers go to "INBOX.answer.NAME" and "INBOX.chunk.NAME.>" below an inbox of two tokens,
 * so a node needs no right to publish to arbitrary reply subjects. In the API of JetStream a node
 * may read the policy only: for the other streams it is enough to publish.
 *
 * Nobody may change, purge or delete a stream, or make a consumer, which can deliver to any
 * subject. Whoever creates a stream chooses its subjects, and could read messages for others. Only
 * operators may create streams.
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

/* Appends the rights of a client as JSON. `inbox`: the token of its inboxes; of a node its name. */
static void rights_add(struct str *out, enum rights_kind kind, const char *name, const char *inbox)
{
	const struct grants *g = &grants[kind];

	str_add(out, "\"pub\":{\"allow\":[");
	add_list(out, g->publish, ARRAY_SIZE(g->publish), name, inbox);
	str_add(out, "]},\"sub\":{\"allow\":[");
	add_list(out, g->subscribe, ARRAY_SIZE(g->subscribe), name, inbox);
	str_add(out, "]}," NO_LIMITS);
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

static const char includes[] = "include \"operator.conf\"\n"
			       "include \"account.conf\"\n";

/* Appends the configuration of the server in the middle, and of one near the nodes. */
static void rights_add_hub(struct str *out)
{
	str_add(out, "# nats-server -c hub.conf, in this folder. Made by sysflame fleet init.\n"
		     "server_name: sysflame-hub\n");
	str_addf(out, "%s%s%s", common, tls, includes);
	str_add(out, "jetstream {\n"
		     "  domain: " STREAM_DOMAIN "\n"
		     "  store_dir: \"./jetstream\"\n"
		     "  max_memory_store: 256MB\n"
		     "  max_file_store: 4GB\n"
		     "}\n");
	str_addf(out, "leafnodes {\nport: 7422\n%s}\n", tls);
}

static void rights_add_leaf(struct str *out, const char *hub_host, const char *account)
{
	str_add(out, "# nats-server -c leaf.conf near the nodes of a zone, with the other files of "
		     "this folder\n# except hub.conf. Made by sysflame fleet init.\n");
	str_addf(out, "%s%s%s", common, tls, includes);
	str_addf(out,
		 "leafnodes {\n"
		 "  remotes: [\n"
		 "    {\n"
		 "      url: \"tls://%s:7422\"\n"
		 "      account: %s\n"
		 "      credentials: \"./leaf.creds\"\n"
		 "      tls { ca_file: \"./ca.pem\" }\n"
		 "    }\n"
		 "  ]\n"
		 "}\n",
		 hub_host, account);
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

/* Replaces a file in one step. The file keeps its owner and rights. */
static int replace_file(const char *path, const void *bytes, size_t len)
{
	auto_free char *new = xasprintf("%s.new", path);
	struct stat st;
	bool is_there = !stat(path, &st);

	unlink(new); /* left by a command that was killed */
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

/* The seeds that sign, in the folder of fleet init. */
#define OPERATOR_FILE "operator.nk"
#define ACCOUNT_FILE  "account.nk"
#define SYSTEM_FILE   "system.nk"
#define NODE_FILE     "node.nk"
#define JOIN_FILE     "join/join"

/* A key of NATS in the folder. Negative errno. */
static int make_seed(const char *dir, const char *name, enum nkey_kind kind,
		     char public_key[NKEY_TEXT])
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	char seed[NKEY_SEED_TEXT + 1];
	int err = nkey_new(kind, seed, public_key);

	if (err)
		return err;
	strcat(seed, "\n");
	err = layout_write_file(path, true, seed, strlen(seed));
	explicit_bzero(seed, sizeof(seed));
	return err;
}

/* The first word of a file, a seed. Negative errno. */
static int read_seed(const char *dir, const char *name, char seed[NKEY_SEED_TEXT])
{
	auto_free char *path = xasprintf("%s/%s", dir, name), *text = NULL;
	size_t len;
	int err = file_read(path, NODES_BYTES, &text, &len);

	if (err)
		return err;
	text[strcspn(text, " \n")] = '\0';
	copy_text(seed, NKEY_SEED_TEXT, text);
	explicit_bzero(text, strlen(text));
	return 0;
}

static int read_public(const char *dir, const char *name, char public_key[NKEY_TEXT])
{
	char seed[NKEY_SEED_TEXT];
	int err = read_seed(dir, name, seed) ?: nkey_public(seed, public_key);

	explicit_bzero(seed, sizeof(seed));
	return err;
}

/* A person's rights are in the token. A node's rights are in the key that signs the token. */
static int add_token(const char *dir, enum rights_kind kind, const char *name, const char *inbox,
		     const char *public_key, struct str *out)
{
	char seed[NKEY_SEED_TEXT], account[NKEY_TEXT];
	auto_str struct str nats = { 0 };
	struct jwt_claims claims = { .issuer = seed, .subject = public_key, .name = name };
	int err = read_seed(dir, kind == RIGHTS_NODE ? NODE_FILE : ACCOUNT_FILE, seed)
			  ?: read_public(dir, ACCOUNT_FILE, account);

	if (err)
		return err;
	if (kind == RIGHTS_NODE) {
		err = jwt_user(seed, account, name, public_key, 0, out);
	} else {
		rights_add(&nats, kind, name, inbox);
		str_add(&nats, ",\"type\":\"user\"");
		claims.nats = nats.at;
		err = jwt_sign(&claims, out);
	}
	explicit_bzero(seed, sizeof(seed));
	return err;
}

/* Makes the folder of a client with its key and token, and appends its line. */
static int add_client(const char *dir, enum rights_kind kind, const char *name,
		      const u8 *public_key, struct str *clients)
{
	auto_free char *folder = xasprintf("%s/%s/%s", dir, folders[kind], name);
	auto_free char *key_path = xasprintf("%s/nats.nk", folder);
	auto_free char *token_path = xasprintf("%s/nats.jwt", folder);
	auto_str struct str token = { 0 };
	char nkey[NKEY_TEXT], inbox[INBOX_TEXT];
	int err = make_folder(folder) ?: make_seed(folder, "nats.nk", NKEY_USER, nkey);

	if (err)
		return err;
	copy_text(inbox, sizeof(inbox), name);
	if (public_key)
		hex_print(public_key, INBOX_OWNER, inbox);
	err = add_token(dir, kind, name, inbox, nkey, &token);
	str_add(&token, "\n");
	err = err ?: layout_write_file(token_path, false, token.at, token.len)
			    ?: copy_to(folder, dir, "ca.pem");
	if (!public_key)
		err = err ?: copy_to(folder, dir, "keys");
	if (err) {
		unlink(key_path);
		unlink(token_path);
	} else {
		str_addf(clients, "%s %s %s\n", grants[kind].kind, name, nkey);
	}
	return err;
}

/*
 * Removes a client's files and folder. Files that somebody else has put there stay, and the folder
 * with them.
 */
static int remove_client(const char *dir, enum rights_kind kind, const char *name)
{
	static const char *const files[] = { "nats.nk", "nats.jwt", "ca.pem",
					     "keys",    "key",      "person" };
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

/* The names in `clients` that are revoked, as members of a JSON object. */
static void add_revoked(const char *clients, struct str *out)
{
	auto_free char *copy = xstrdup(clients);
	char *rest = copy, *line, at[32], nkey[NKEY_TEXT];

	for (bool is_first = true; (line = strsep(&rest, "\n"));)
		if (sscanf(line, "revoked %31s %56s", at, nkey) == 2) {
			str_addf(out, "%s\"%s\":%s", is_first ? "" : ",", nkey, at);
			is_first = false;
		}
}

#define CONNECTION_LIMITS                                                                         \
	"\"limits\":{" NO_LIMITS ",\"imports\":-1,\"exports\":-1,\"wildcards\":true,\"conn\":-1," \
	"\"leaf\":-1"
#define ACCOUNT_END "},\"default_permissions\":{\"pub\":{},\"sub\":{}},\"type\":\"account\""

/* The system account may not have streams. */
static const char system_claims[] = CONNECTION_LIMITS ACCOUNT_END;
static const char fleet_claims[] =
	CONNECTION_LIMITS ",\"mem_storage\":-1,\"disk_storage\":-1,\"streams\":-1,"
			  "\"consumer\":-1" ACCOUNT_END;

/*
 * Adds a key that signs tokens of nodes only. The account holds the nodes' rights, which contain
 * the name in the token.
 */
static int add_scope(const char *dir, const char *file, struct str *out)
{
	char public_key[NKEY_TEXT];
	int err = read_public(dir, file, public_key);

	str_addf(out, "{\"kind\":\"user_scope\",\"key\":\"%s\",\"role\":\"node\",\"template\":{",
		 public_key);
	rights_add(out, RIGHTS_NODE, "{{name()}}", "{{name()}}");
	str_add(out, "}}");
	return err;
}

static int sign_by_operator(const char *dir, const char *subject, const char *name,
			    const char *nats, struct str *out)
{
	char seed[NKEY_SEED_TEXT];
	const struct jwt_claims claims = { seed, subject, name, 0, nats };
	int err = read_seed(dir, OPERATOR_FILE, seed) ?: jwt_sign(&claims, out);

	explicit_bzero(seed, sizeof(seed));
	return err;
}

/*
 * Writes the account for the servers: the nodes and people that may connect, and the revoked ones.
 * Negative errno.
 */
static int write_account(const char *dir, const char *clients)
{
	auto_free char *path = xasprintf("%s/server/account.conf", dir);
	char account[NKEY_TEXT] = "", system[NKEY_TEXT] = "";
	auto_str struct str nats = { 0 }, out = { 0 };
	int err = read_public(dir, ACCOUNT_FILE, account) ?: read_public(dir, SYSTEM_FILE, system);

	str_addf(&nats, "%s,\"signing_keys\":[", fleet_claims);
	err = err ?: add_scope(dir, NODE_FILE, &nats);
	str_add_char(&nats, ',');
	err = err ?: add_scope(dir, JOIN_FILE, &nats);
	str_add(&nats, "],\"revocations\":{");
	add_revoked(clients, &nats);
	str_add(&nats, "}");
	str_addf(&out, "resolver_preload: {\n  %s: \"", account);
	err = err ?: sign_by_operator(dir, account, "FLEET", nats.at, &out);
	str_addf(&out, "\"\n  %s: \"", system);
	err = err ?: sign_by_operator(dir, system, "SYS", system_claims, &out);
	str_add(&out, "\"\n}\n");
	return err ?: replace_file(path, out.at, out.len);
}

static int write_operator(const char *dir, const char *server)
{
	char operator[NKEY_TEXT], system[NKEY_TEXT];
	auto_str struct str out = { 0 };
	int err =
		read_public(dir, OPERATOR_FILE, operator) ?: read_public(dir, SYSTEM_FILE, system);
	auto_free char *nats = xasprintf("\"system_account\":\"%s\",\"type\":\"operator\"", system);

	str_add(&out, "operator: \"");
	err = err ?: sign_by_operator(dir, operator, "sysflame", nats, &out);
	str_addf(&out, "\"\nsystem_account: %s\nresolver: MEMORY\n", system);
	return err ?: write_in(server, "operator.conf", true, &out);
}

/* In the format of nsc. */
static int write_leaf_creds(const char *dir, const char *server)
{
	char signing[NKEY_SEED_TEXT], seed[NKEY_SEED_TEXT], public_key[NKEY_TEXT];
	const struct jwt_claims claims = {
		.issuer = signing,
		.subject = public_key,
		.name = "leaf",
		.nats = NO_LIMITS ",\"allowed_connection_types\":[\"LEAFNODE\"],\"type\":\"user\"",
	};
	auto_str struct str out = { 0 };
	int err = read_seed(dir, ACCOUNT_FILE, signing) ?: nkey_new(NKEY_USER, seed, public_key);

	str_add(&out, "-----BEGIN NATS USER JWT-----\n");
	err = err ?: jwt_sign(&claims, &out);
	str_addf(&out,
		 "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n"
		 "------END USER NKEY SEED------\n",
		 seed);
	err = err ?: write_in(server, "leaf.creds", true, &out);
	explicit_bzero(signing, sizeof(signing));
	explicit_bzero(seed, sizeof(seed));
	return err;
}

/* Writes the file that every node may have: the secret by which nodes join. Negative errno. */
static int write_join(const char *dir)
{
	auto_free char *path = xasprintf("%s/%s", dir, JOIN_FILE);
	char seed[NKEY_SEED_TEXT], public_key[NKEY_TEXT], account[NKEY_TEXT];
	int err =
		read_public(dir, ACCOUNT_FILE, account) ?: nkey_new(NKEY_ACCOUNT, seed, public_key);
	auto_free char *text = xasprintf("%s %s\n", seed, account);

	if (!err)
		err = access(path, F_OK) ? layout_write_file(path, true, text, strlen(text))
					 : replace_file(path, text, strlen(text));
	explicit_bzero(text, strlen(text));
	explicit_bzero(seed, sizeof(seed));
	return err;
}

static int write_configuration(const struct layout_options *o, const char *server)
{
	auto_str struct str hub = { 0 }, leaf = { 0 };
	auto_free char *host = strndup(o->hosts, strcspn(o->hosts, ","));
	char public_key[NKEY_TEXT], account[NKEY_TEXT];
	int err = make_seed(o->dir, OPERATOR_FILE, NKEY_OPERATOR, public_key)
			  ?: make_seed(o->dir, ACCOUNT_FILE, NKEY_ACCOUNT, account)
			  ?: make_seed(o->dir, SYSTEM_FILE, NKEY_ACCOUNT, public_key)
			  ?: make_seed(o->dir, NODE_FILE, NKEY_ACCOUNT, public_key);

	if (err)
		return err;
	rights_add_hub(&hub);
	rights_add_leaf(&leaf, host, account);
	return write_join(o->dir) ?: write_operator(o->dir, server)
			  ?: write_account(o->dir, "")
			  ?: write_leaf_creds(o->dir, server)
			  ?: write_in(server, "hub.conf", true, &hub)
			  ?: write_in(server, "leaf.conf", true, &leaf);
}

/* The person's own files are in the folder of fleet init, too. */
static int copy_own(const struct layout_options *o, const char *name, bool is_private)
{
	auto_free char *from = xasprintf("%s/people/%s/%s", o->dir, o->person, name);
	auto_free char *to = xasprintf("%s/%s", o->dir, name), *text = NULL;
	size_t len = 0;
	int err = file_read(from, NODES_BYTES, &text, &len)
			  ?: layout_write_file(to, is_private, text, len);

	if (text)
		explicit_bzero(text, len);
	return err;
}

static int add_clients(const struct layout_options *o, const char *names, const u8 *public_key,
		       struct str *clients)
{
	auto_free char *copy = xstrdup(names), *join = xasprintf("%s/join", o->dir);
	char *rest = copy, *name;
	int err = add_client(o->dir, o->person_kind, o->person, public_key, clients);

	err = err ?: copy_own(o, "nats.nk", true) ?: copy_own(o, "nats.jwt", false)
		  ?: copy_to(join, o->dir, "ca.pem") ?: copy_to(join, o->dir, "keys");
	while (!err && (name = strsep(&rest, "\n")))
		if (*name)
			err = add_client(o->dir, RIGHTS_NODE, name, NULL, clients);
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
	auto_free char *server = xasprintf("%s/server", o->dir),
		       *join = xasprintf("%s/join", o->dir);
	auto_str struct str clients = { 0 };
	int err = make_folder(server) ?: make_folder(join) ?: write_certificates(o, server);

	for (int i = 0; i < NR_RIGHTS && !err; i++) {
		auto_free char *folder = xasprintf("%s/%s", o->dir, folders[i]);
		err = make_folder(folder);
	}
	err = err ?: write_configuration(o, server) ?: add_clients(o, names, public_key, &clients);
	err = err ?: write_in(o->dir, "clients", true, &clients);
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
	auto_free char *join = xasprintf("%s/join", dir);
	return err ?: access(join, F_OK) ? err : copy_to(join, dir, "keys");
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
static int read_clients(const char *dir, char **text, int *lock)
{
	auto_free char *path = xasprintf("%s/clients", dir);
	size_t len;

	*lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock < 0 || flock(*lock, LOCK_EX) || file_read(path, CLIENTS_BYTES, text, &len)) {
		log_error("fleet: %s/clients cannot be read; sysflame fleet init --hosts makes it",
			  dir);
		return EXIT_FAILED;
	}
	return 0;
}

static int write_clients(const char *dir, const struct str *text)
{
	auto_free char *path = xasprintf("%s/clients", dir);
	int err = replace_file(path, text->at ?: "", text->len);

	return err ? failed(path, err) : 0;
}

/* Copies all lines except the client's line. `own` gets the client's public key. */
static bool copy_others(char *text, enum rights_kind kind, const char *name, struct str *out,
			char own[NKEY_TEXT])
{
	char *rest = text, *line, word[16], of[64], nkey[NKEY_TEXT];
	bool was_there = false;

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%15s %63s %56s", word, of, nkey) == 3 &&
		    !strcmp(word, grants[kind].kind) && !strcmp(of, name)) {
			was_there = true;
			memcpy(own, nkey, sizeof(nkey));
		} else if (*line) {
			str_addf(out, "%s\n", line);
		}
	}
	return was_there;
}

/* Reads the lines of all clients and copies those of others; the client must be new. */
static int read_others(const char *dir, enum rights_kind kind, const char *name, struct str *out,
		       int *lock)
{
	auto_free char *text = NULL;
	char own[NKEY_TEXT];
	int status = read_clients(dir, &text, lock);

	if (!status && copy_others(text, kind, name, out, own)) {
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
	status = write_clients(dir, &out);
	if (status)
		remove_client(dir, kind, name);
	return status;
}

int layout_revoke(const char *dir, enum rights_kind kind, const char *name)
{
	auto_close int lock = -1;
	auto_free char *text = NULL;
	auto_str struct str out = { 0 };
	char own[NKEY_TEXT];
	int status = read_clients(dir, &text, &lock);

	if (status)
		return status;
	if (!copy_others(text, kind, name, &out, own)) {
		log_error("fleet revoke: %s has no key", name);
		return EXIT_FAILED;
	}
	str_addf(&out, "revoked %llu %s\n", (unsigned long long)(time_wall_ns() / NS_PER_SEC), own);
	int err = write_account(dir, out.at);
	if (err)
		return failed("server/account.conf", err);
	return write_clients(dir, &out) ?: remove_client(dir, kind, name);
}

int layout_revoke_join(const char *dir)
{
	auto_close int lock = -1;
	auto_free char *text = NULL;
	int status = read_clients(dir, &text, &lock);

	if (status)
		return status;
	int err = write_join(dir) ?: write_account(dir, text);
	return err ? failed(dir, err) : 0;
}
