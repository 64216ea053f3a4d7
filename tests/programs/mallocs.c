/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocs SECONDS RATE: allocates and frees blocks of 16 to 4096 bytes, RATE of them per second,
 * and computes in between. With RATE 0 it allocates as fast as it can. Prints the rounds of
 * computing per second (RATE 0: the blocks per second).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void allocate(unsigned long seed)
{
	void *volatile p = malloc(16 + seed % 4081);

	*(volatile char *)p = 1;
	free(p);
}

static void compute(void)
{
	unsigned long x = sink;

	for (int i = 0; i < 1000; i++)
		x = (x * 6364136223846793005ul + 1442695040888963407ul) ^ x >> 29;
	sink = x;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, rate = argc > 2 ? atof(argv[2]) : 0;
	double start = now(), end = start + seconds;
	unsigned long rounds = 0, blocks = 0;

	for (double t = start; t < end; t = now()) {
		for (int i = 0; !rate && i < 100; i++)
			allocate(blocks++ * 7919);
		for (; rate && (double)blocks < (t - start) * rate; blocks++)
			allocate(blocks * 7919);
		if (rate)
			compute();
		rounds++;
	}
	printf("%.0f\n", (double)(rate ? rounds : blocks) / seconds);
	return 0;
}
