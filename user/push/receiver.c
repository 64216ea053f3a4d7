/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers that profiles are pushed to. */
#include "push/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/dict.h"
#include "base/log.h"

#define WORDS "otlp, pyroscope or parca"

const struct receiver_protocol receiver_protocols[NR_RECEIVERS] = {
	[RECEIVER_OTLP] = { "otlp", "/v1development/profiles", "application/x-protobuf", "gzip" },
	[RECEIVER_PYROSCOPE] = { "pyroscope", "/push.v1.PusherService/Push", "application/proto",
				 NULL },
	[RECEIVER_PARCA] = { "parca", "/profiles/writeraw", "application/json", NULL },
};

static int find_kind(const char *text, size_t len, enum receiver_kind *out)
{
	for (int i = 0; i < NR_RECEIVERS; i++)
		if (strlen(receiver_protocols[i].name) == len &&
		    !strncmp(receiver_protocols[i].name, text, len)) {
			*out = (enum receiver_kind)i;
			return 0;
		}
	return -EINVAL;
}

/* Letters, digits, and those that addresses need: the URL goes into logs, JSON and metrics. */
static bool is_plain(const char *url)
{
	return strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "-._~:/[]%+,;=") == strlen(url);
}

static int check_url(const char *url, size_t *origin_len, struct str *why)
{
	size_t scheme = !strncmp(url, "https://", 8) ? 8 : !strncmp(url, "http://", 7) ? 7 : 0;
	size_t host = scheme ? strcspn(url + scheme, "/") : 0;

	if (strchr(url, '@'))
		str_add(why, "the address must have no user or password; they belong in the file "
			     "of credentials");
	else if (!host || url[scheme] == ':' || url[scheme + host - 1] == ':')
		str_addf(why, "'%.64s' is no address as in https://host:4318", url);
	else if (!is_plain(url))
		str_addf(why, "'%.64s' has a character that addresses of receivers may not have",
			 url);
	else if (strlen(url) >= RECEIVER_URL_MAX - 40)
		str_add(why, "the address is too long");
	else {
		*origin_len = scheme + host;
		return 0;
	}
	return -EINVAL;
}

int receiver_parse(const char *text, struct receiver *out, struct str *why)
{
	const char *equals = strchr(text, '=');
	struct receiver r = { .kind = RECEIVER_OTLP };

	if (!equals || find_kind(text, (size_t)(equals - text), &r.kind)) {
		str_add(why, "takes KIND=URL, as in otlp=https://host:4318; KIND is " WORDS);
		return -EINVAL;
	}
	int err = check_url(equals + 1, &r.origin_len, why);
	if (err)
		return err;
	copy_text(r.url, sizeof(r.url), equals + 1);
	for (size_t len = strlen(r.url); len > r.origin_len && r.url[len - 1] == '/';)
		r.url[--len] = '\0';
	snprintf(r.request, sizeof(r.request), "%.200s%s", r.url, receiver_protocols[r.kind].path);
	*out = r;
	return 0;
}

void receiver_warn_of_plain_text(const struct receiver *r, const char *option)
{
	const char *host = r->url + 7;

	if (strncmp(r->url, "http://", 7) || !strncmp(host, "127.", 4) ||
	    !strncmp(host, "localhost", 9) || !strncmp(host, "[::1]", 5))
		return;
	log_warn("%s %s: profiles and credentials go over the network in plain text; use https",
		 option, r->url);
}

/* The hash needs no secret: it only gives different addresses different folders. */
void receiver_folder(const struct receiver *r, char name[RECEIVER_FOLDER_BYTES])
{
	static const u8 key[SIPHASH_KEY_LEN] = { 'p', 'u', 's', 'h' };

	snprintf(name, RECEIVER_FOLDER_BYTES, "%s-%016llx", receiver_protocols[r->kind].name,
		 (unsigned long long)siphash(key, r->url, strlen(r->url)));
}
