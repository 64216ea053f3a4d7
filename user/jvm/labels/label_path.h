/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths to values of ThreadLocals: what --label takes. Private to jvm/labels.
 *
 * Sources of the presets: opentelemetry-java (August 2026) context/ and sdk/trace/, slf4j 1.7 and
 * October 2025, logback 1.2 and August 2026, log4j-api 2.19 and August 2026.
 */
#pragma once

#include "base/str.h"
#include "jvm/labels/thread_local.h"

#define PATH_PARTS 16 /* names and keys of a path */
#define PATH_WAYS  2  /* of one label: another version of a library may need another path */

/* A part of a path. Presets have several names in one part, with '|' between them. */
struct path_part {
	const char *text;
	bool is_key;
};

/* CLASS.FIELD.field[KEY].field, cut. `parts` point to `text`: it cannot be copied. */
struct label_path {
	char text[THREAD_LOCAL_PATH];
	struct path_part parts[PATH_PARTS];
	u32 nr_parts;
	u32 least, most; /* of the parts that may be the class's name */
};

/* -EINVAL if it is none. */
int label_path_parse(const char *text, size_t len, struct label_path *out);

/* Path `i` of a spec; -EINVAL if it has no more. */
int label_path_of(const struct thread_local_spec *spec, u32 i, struct label_path *out);

/* Takes the next of the names or keys of a part; false after the last one. *rest begins with it. */
bool path_name_next(const char **rest, char *out, size_t size);
