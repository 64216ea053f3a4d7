/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fomit-frame-pointer -fno-inline -fno-optimize-sibling-calls */
/* Spends its time below descend(), which calls itself as often as the argument says. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink;

static void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

/* Frames of different sizes: a fixed step from frame to frame would fail. */
static void descend(int depth, int width)
{
	volatile char room[width];

	room[0] = (char)depth;
	if (depth > 1)
		descend(depth - 1, 16 + (width * 7 + depth) % 97);
	else
		for (;;)
			spin();
	sink += (unsigned long)room[0];
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	descend(argc > 1 ? atoi(argv[1]) : 1, 16);
}
