/* SPDX-License-Identifier: Apache-2.0 */
/* How this program was linked: `make static` compiles this file again. */
#include "base/build.h"

bool build_is_static(void)
{
#ifdef SYSFLAME_STATIC
	return true;
#else
	return false;
#endif
}
