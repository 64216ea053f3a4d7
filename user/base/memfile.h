/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory: memfd_create(2). */
#pragma once

/* Returns a descriptor of an empty file that can be sealed, or a negative errno. */
int memfile_new(const char *name);
