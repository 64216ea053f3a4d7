/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-omit-frame-pointer -fno-inline */
/* Spends 70, 20 and 10 percent of its time in three functions; runs until it is killed. */
#include <stdio.h>

static volatile unsigned long sink;

static unsigned long work(unsigned long x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = (x * 6364136223846793005ul + 1442695040888963407ul) ^ x >> 29;
	return x;
}

static void seventy(void)
{
	sink += work(sink, 700000);
}

static void twenty(void)
{
	sink += work(sink, 200000);
}

static void ten(void)
{
	sink += work(sink, 100000);
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		seventy();
		twenty();
		ten();
	}
}
