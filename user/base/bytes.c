/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers of bytes. */
#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (1ull << 62)

bool bytes_parse(const char *text, u64 *out)
{
	static const char units[] = "kKmMgGtT";
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	u64 number = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * ((unsigned)(unit - units) / 2 + 1) : 0;
	if (errno || (*end && (!unit || end[1])) || number > BYTES_MAX >> shift)
		return false;
	*out = number << shift;
	return true;
}
