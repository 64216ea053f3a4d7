/* BUILD-FLAGS: -fno-asynchronous-unwind-tables -fno-unwind-tables -gdwarf-4 */
/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose own functions have their call frame information in .debug_frame only. */
#include <stdio.h>

__attribute__((noinline)) int debug_frame_leaf(int a, int b)
{
	return a * 31 + b;
}

__attribute__((noinline)) int debug_frame_loop(int nr)
{
	int sum = 0;

	for (int i = 0; i < nr; i++)
		sum = debug_frame_leaf(sum, i);
	return sum;
}

int main(int argc, char **argv)
{
	char text[64];

	snprintf(text, sizeof(text), "%d", debug_frame_loop(argc * 17));
	puts(text);
	return 0;
}
