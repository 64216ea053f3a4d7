/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fomit-frame-pointer -fcf-protection=none -fno-stack-protector */
/*
 * Replaces its own hot text by anonymous memory at the same addresses, as iodlr and Node.js do to
 * have it on huge pages. "text" copies it, "generated" puts another program's code there, "mixed"
 * both.
 *
 * usage: moves_text text|generated|mixed
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOT  __attribute__((noinline, section("hot_text")))
#define PAGE 4096l

extern char __start_hot_text[], __stop_hot_text[];
extern char __start_other_text[], __stop_other_text[];
static volatile long sink;

/* Runs without symbols, where the file has serve. */
__attribute__((noinline, used, section("other_text"))) static void spin(void)
{
	for (volatile long i = 0; i < 1000000; i++)
		;
}

HOT static void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += i ^ (sink >> 3);
}

HOT static void order(long n)
{
	work(n);
	sink++;
}

HOT static void serve(long n)
{
	order(n);
	sink++;
}

/* A page of its own for the code, and pages for "mixed". */
__attribute__((used, aligned(4096), section("hot_text"))) static void begin(void)
{
	__asm__ volatile(".fill 20000, 1, 0x90");
}

static void *copy_of(char *from, long bytes)
{
	char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, from, bytes);
	return copy;
}

int main(int argc, char **argv)
{
	char *from = (char *)((long)__start_hot_text & -PAGE);
	long bytes = (__stop_hot_text - from + PAGE - 1) & -PAGE;
	long spin_bytes = __stop_other_text - __start_other_text;
	char *copy = copy_of(from, bytes);

	if (argc < 2)
		return 1;
	if (!strcmp(argv[1], "generated"))
		for (long at = 0; at + spin_bytes < bytes; at += spin_bytes)
			memcpy(copy + at, __start_other_text, spin_bytes);
	if (!strcmp(argv[1], "mixed"))
		memcpy((char *)copy + ((char *)serve - from), __start_other_text, spin_bytes);
	mprotect(copy, bytes, PROT_READ | PROT_EXEC);
	if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, from) == MAP_FAILED)
		return 2;
	puts("ready");
	fflush(stdout);
	for (;;)
		if (!strcmp(argv[1], "generated"))
			((void (*)(void))from)();
		else
			serve(1000000);
}
