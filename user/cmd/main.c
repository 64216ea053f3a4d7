/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd/debug_jvm.h"
#include "cmd/report.h"

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "debug") && !strcmp(argv[2], "jvm"))
		return debug_jvm_main(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "report"))
		return report_main(argc - 1, argv + 1);
	puts("sysflame " SYSFLAME_VERSION);
	return 0;
}
