/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of pages. */
#include "base/address.h"

#include <string.h>

void address_add(struct str *address, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

	for (; *text; text++)
		if (strchr(plain, *text))
			str_add_char(address, *text);
		else
			str_addf(address, "%%%02X", (u8)*text);
}
