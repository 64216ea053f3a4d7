/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of a NATS server. */
#include "fleet/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define AUTHORITY_DAYS 3650
#define SERVER_DAYS    730
#define SERIAL_BYTES   16
#define HOST_BYTES     254

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

int certificate_authority(struct certificate *out)
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

bool certificate_takes(const char *hosts)
{
	auto_str struct str names = { 0 };

	return !list_hosts(hosts, &names);
}

int certificate_server(const struct certificate *authority, const char *hosts,
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

void certificate_fini(struct certificate *c)
{
	if (c->key.len)
		explicit_bzero(c->key.at, c->key.len);
	str_fini(&c->pem);
	str_fini(&c->key);
}
