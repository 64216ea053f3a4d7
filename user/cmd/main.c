/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(int argc, char **argv)
{
	puts("sysflame " SYSFLAME_VERSION);
	return 0;
}
