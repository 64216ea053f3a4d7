/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of pages. */
#pragma once

#include "base/str.h"

/* Adds a part of an address: %XX for all but letters, digits and "-_.~". */
void address_add(struct str *address, const char *text);
