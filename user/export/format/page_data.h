/* SPDX-License-Identifier: Apache-2.0 */
/* How a page holds its profile: one block of text that is never executed. */
#pragma once

/* The block begins after this text and ends at the next "<". */
#define PAGE_DATA_START "<script type=\"text/plain\" id=\"profile\">"
