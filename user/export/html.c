/* SPDX-License-Identifier: Apache-2.0 */
#include "export/export.h"

int html_write(const struct profile *p, FILE *out)
{
	return 0;
}
