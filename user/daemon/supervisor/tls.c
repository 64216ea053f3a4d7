/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the certificate and the key of the daemon. */
#include "daemon/supervisor/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define PEM_MAX (256u << 10)
/* forbidden bits of a key's mode: the group may read it, as Debian's ssl-cert does */
#define KEY_MODES 037

static int fail(struct str *why, const char *path, int err)
{
	str_addf(why, "%s: %s", path, strerror(-err));
	return err;
}

static int check_key(int fd, const char *path, struct str *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(why, path, -errno);
	if (!(st.st_mode & KEY_MODES) && (!st.st_uid || st.st_uid == geteuid()))
		return 0;
	str_addf(why,
		 "%s: others may read or change the key; make it this user's, with mode 0600 or "
		 "0640",
		 path);
	return -EPERM;
}

/* Reads a file that contains `mark`. */
static int read_pem(int fd, const char *path, const char *mark, char **out, struct str *why)
{
	auto_free char *text = xcalloc(1, PEM_MAX + 1);
	size_t len = 0;
	ssize_t got;

	while (len < PEM_MAX && (got = read(fd, text + len, PEM_MAX - len)) > 0)
		len += (size_t)got;
	if (len && len < PEM_MAX && strstr(text, mark)) {
		*out = xstrdup(text);
		explicit_bzero(text, len);
		return 0;
	}
	explicit_bzero(text, len);
	str_addf(why, "%s: it has no line with \"%s\", or more than %u bytes", path, mark, PEM_MAX);
	return -EINVAL;
}

static int read_file(const char *path, bool is_key, char **out, struct str *why)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return fail(why, path, -errno);
	int err = is_key ? check_key(fd, path, why) : 0;
	return err
		       ?: read_pem(fd, path, is_key ? "PRIVATE KEY-----" : "CERTIFICATE-----", out,
				   why);
}

int tls_read(const char *cert_path, const char *key_path, struct tls *out, struct str *why)
{
	struct tls t = { 0 };
	int err =
		read_file(cert_path, false, &t.cert, why) ?: read_file(key_path, true, &t.key, why);

	if (err)
		tls_fini(&t);
	else
		*out = t;
	return err;
}

void tls_fini(struct tls *t)
{
	if (t->key)
		explicit_bzero(t->key, strlen(t->key));
	free(t->key);
	free(t->cert);
	*t = (struct tls){ 0 };
}
