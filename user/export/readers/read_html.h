/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of other tools that hold a profile. Part of export/readers/reader.h. */
#pragma once

#include "export/readers/reader.h"

#define ASYNC_HTML_NAMES "const cpool = ["

/* A flame graph of async-profiler. `read` fails like reader.read. */
bool async_html_is(const struct str *page);
int async_html_read(const struct str *page, struct profile *p, struct str *why);
