/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls -fomit-frame-pointer */
/*
 * A thread 20 calls of 8 KB deep, whose stack is a file. It spins while pages of its callers are
 * not in memory: it drops them again and again, which does not change the file.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#define BYTES     (1 << 20)
#define LEAF_PAGE (32 << 10) /* kept: below the frame of spin */

static char *stack;

static void spin(void)
{
	for (;;) {
		for (volatile int i = 0; i < 10000; i++)
			;
		char *here = __builtin_frame_address(0);
		madvise(stack + ((here - stack + LEAF_PAGE) & ~4095l),
			(stack + BYTES - here - 2 * LEAF_PAGE) & ~4095l, MADV_DONTNEED);
	}
}

static int descend(int depth)
{
	volatile char frame[8192];

	frame[0] = 1;
	if (!depth)
		spin();
	return descend(depth - 1) + frame[0];
}

static void *run(void *arg)
{
	return (void *)(long)descend(20);
}

int main(void)
{
	FILE *file = tmpfile();
	pthread_attr_t attr;
	pthread_t thread;

	if (!file || fallocate(fileno(file), 0, 0, BYTES))
		return 1;
	stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	pthread_attr_init(&attr);
	if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, BYTES) ||
	    pthread_create(&thread, &attr, run, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	return pthread_join(thread, NULL);
}
