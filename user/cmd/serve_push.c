/* SPDX-License-Identifier: Apache-2.0 */
/* The options --push.. of sysflame serve. */
#include "cmd/serve_push.h"

#include <string.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/bytes.h"
#include "base/log.h"
#include "cmd/cmd.h"

#define SPOOL_MIN    (1u << 20)
#define PUSH_AGE_MAX (7 * 24 * 60)

static int wrong(const char *text)
{
	log_error("serve: %s", text);
	return EXIT_USAGE;
}

/* A token that goes over the network in plain text is not secret any more. */
static void warn_of_plain_text(const struct receiver *r)
{
	const char *host = r->url + 7;

	if (strncmp(r->url, "http://", 7) || !strncmp(host, "127.", 4) ||
	    !strncmp(host, "localhost", 9) || !strncmp(host, "[::1]", 5))
		return;
	log_warn("serve: --push %s: profiles and credentials go over the network in plain text; "
		 "use https",
		 r->url);
}

int push_options_check(const struct push_options *o, struct web_push *out)
{
	u64 spool_bytes;

	if (o->receivers.nr && build_is_static())
		return wrong("--push: this static binary has no libcurl; install sysflame with its "
			     "libraries");
	if (!o->receivers.nr && o->auth)
		return wrong("--push-auth needs --push KIND=URL");
	if (o->receivers.nr > RECEIVERS_MAX)
		return wrong("--push: there may be at most 4 receivers");
	if (!bytes_parse(o->spool, &spool_bytes) || spool_bytes < SPOOL_MIN)
		return wrong("--push-spool: takes 1m or more, as in 64m");
	if (o->age_min < 1 || o->age_min > PUSH_AGE_MAX)
		return wrong("--push-age: takes 1 to 10080 minutes");
	out->limits = (struct backlog_limits){ spool_bytes, (u64)o->age_min };
	for (size_t i = 0; i < o->receivers.nr; i++) {
		auto_str struct str why = { 0 };
		struct receiver *r = &out->receivers[i];
		if (receiver_parse(o->receivers.at[i], r, &why)) {
			log_error("serve: --push: %s", why.at);
			return EXIT_USAGE;
		}
		for (size_t k = 0; k < i; k++)
			if (r->kind == out->receivers[k].kind &&
			    !strcmp(r->url, out->receivers[k].url))
				return wrong("--push: a receiver is given twice");
		warn_of_plain_text(r);
		out->nr++;
	}
	return 0;
}

int push_options_read(const struct push_options *o, const struct web_push *push,
		      struct credentials *out)
{
	auto_str struct str why = { 0 };
	int err = o->auth ? credentials_read(o->auth, push->receivers, push->nr, out, &why) : 0;

	if (err)
		log_error("serve: --push-auth %s: %s", o->auth, why.at);
	return err;
}
