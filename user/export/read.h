/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a profile in any known format. A file is added to the given profile; several files are
 * merged by reading one after another. export/merge combines their notes.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "profile/profile.h"

/*
 * Prepares the JSON library for a process that may open no file: it would read /dev/urandom. Call
 * it before such processes are forked. Negative errno.
 */
int profile_read_prepare(void);

/* Reads `f` in whatever format it has. Fails like reader.read. */
int profile_read(FILE *f, struct profile *p, struct str *why);

/*
 * Reads a comparison from one file. It may have any format that keeps both sides, or be collapsed
 * lines with two counts, "a;b BEFORE AFTER". The caller must know that it is a comparison, because
 * such lines look like lines with one count. Fails like profile_read.
 */
int profile_read_diff(FILE *f, struct profile *p, struct str *why);
