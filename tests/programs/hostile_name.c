/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a CPU busy under a name that would break a careless output format, until it is killed. */
#include <sys/prctl.h>

int main(void)
{
	prctl(PR_SET_NAME, "a;b\nc</script>");
	for (volatile unsigned long i = 0;; i++)
		;
}
