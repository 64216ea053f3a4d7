/* SPDX-License-Identifier: Apache-2.0 */
/* How this program was linked: `make static` compiles this file again. */
#include "base/build.h"

#include <nss.h>

bool build_is_static(void)
{
#ifdef SYSFLAME_STATIC
	return true;
#else
	return false;
#endif
}

const char *build_limitation(void)
{
#ifdef __aarch64__
	return "arm64: experimental, shown under emulation";
#else
	return NULL;
#endif
}

void build_limit_nss(void)
{
	if (!build_is_static())
		return;
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("hosts", "files dns");
}
