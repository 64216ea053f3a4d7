/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that a profile can be written in. */
#pragma once

#include "export/writers/writer.h"

/* All formats; the last entry has no name. */
extern const struct format formats[];

const struct format *format_by_name(const char *name);

/* The format of `path` by its extension, or NULL. */
const struct format *format_by_path(const char *path);
