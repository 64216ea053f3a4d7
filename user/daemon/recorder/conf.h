/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the daemon's recorder: /etc/sysflame/recorder.conf. Lines are `key = value`; `#`
 * begins a comment. A web process that was taken over cannot exceed these limits.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "daemon/recorder/trigger_rule.h"

#define CONF_PATH "/etc/sysflame/recorder.conf"

/* Events that change other processes or are expensive. They need a line `allow = NAME, ..`. */
enum conf_event {
	CONF_UPROBE,
	CONF_USDT,
	CONF_JAVA,
	CONF_TRACEPOINT,
	CONF_NATIVEMEM,
	NR_CONF_EVENTS,
};

#define CONF_REDACT_BYTES 4096

struct conf {
	u32 max_hz, max_duration_s, max_recordings;
	bool allows[NR_CONF_EVENTS];
	char redact[CONF_REDACT_BYTES]; /* patterns of daemon/recorder/redaction.h, one a line */
	struct trigger_rule triggers[TRIGGERS_MAX]; /* `trigger = ..` */
	u32 nr_triggers;
};

/* The defaults: 999 Hz, one hour, 4 recordings, no expensive events. */
struct conf conf_default(void);

/*
 * Reads the file at `path`. *out is unchanged after an error. -ENOENT if it is missing, -EPERM if
 * somebody else than root or this process's user could have written it, -EINVAL if a line is wrong;
 * `why` gets a sentence.
 */
int conf_read(const char *path, struct conf *out, struct str *why);

/* As conf_read, for the text of a file. */
int conf_parse(const char *text, struct conf *out, struct str *why);

/* Whether the list of events, as in `-e`, is allowed; -EPERM and a sentence if not. */
int conf_check_events(const struct conf *c, const char *events, struct str *why);

/* As conf_check_events, for one event; `why_not` is NULL or why the configuration forbids it. */
const char *conf_why_not(const struct conf *c, const char *event);
