/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/* Calls hit() as often as it can, from 900 calls deep. */
static void hit(void)
{
	__asm__ volatile("");
}

static void descend(int depth)
{
	if (depth)
		descend(depth - 1);
	else
		for (;;)
			hit();
	__asm__ volatile("");
}

int main(void)
{
	descend(900);
}
