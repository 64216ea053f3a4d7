/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/* hot: 900 calls deep it calls hit() as often as it can. */
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
