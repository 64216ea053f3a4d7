/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that must not leave the recorder: those in which a pattern matches
 * (profile/frames/pattern.h) are replaced as a whole by "[redacted]". A name for which this cannot
 * be decided in time is replaced, too.
 */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

#define REDACTED      "[redacted]"
#define REDACTION_MAX 64 /* patterns */

struct redaction;

/* Without patterns. */
struct redaction *redaction_new(void);
void redaction_free(struct redaction *r);

/* Replaces all patterns; they are in the texts, one a line. -EINVAL and a sentence, and no change.
 */
int redaction_set(struct redaction *r, const char *const *texts, size_t nr, struct str *why);

/* Whether a line is a valid pattern; -EINVAL and a sentence. */
int redaction_check(const char *pattern, struct str *why);

/* Replaces the text of a field of `size` bytes if a pattern matches in it. */
void redaction_field(const struct redaction *r, char *field, size_t size);

/* REDACTED, or `text`. */
const char *redaction_text(const struct redaction *r, const char *text);

/*
 * Redacts frames with module and file, labels, notes, title and target. Call it after the frames
 * got their names.
 */
void redaction_profile(const struct redaction *r, struct profile *p);
