/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of NATS without their secrets. */
#include "fleet/link_url.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"

char *link_url_shown(const char *urls)
{
	auto_free char *copy = xstrdup(urls);
	struct str out = { 0 };
	char *rest = copy, *url;

	while ((url = strsep(&rest, ","))) {
		char *host = strstr(url, "://"), *at;
		host = host ? host + 3 : url;
		at = strrchr(host, '@');
		str_addf(&out, "%s%.*s%s", out.len ? "," : "", (int)(host - url), url,
			 at ? at + 1 : host);
	}
	return str_take(&out);
}
