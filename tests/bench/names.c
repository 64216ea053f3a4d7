/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of names of the kernel and of a module. usage: names FILE */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/time.h"
#include "elf/symbols.h"
#include "sym/files/demangle.h"
#include "sym/kernel.h"

#define ROUNDS   5
#define LOOK_UPS 1000000

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void kernel(void)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		auto_kernel_syms struct kernel_syms *ks = NULL;
		double start = cpu_ms();
		if (kernel_syms_read(&ks)) {
			printf("kernel names        not readable\n");
			return;
		}
		double took = cpu_ms() - start;
		best = took < best ? took : best;
	}
	printf("kernel names        %6.1f ms\n", best);
}

static void look_ups(const struct elf *e, const struct symbols *s)
{
	const struct elf_section *text = elf_section_find(e, ".text");
	auto_str struct str name = { 0 };
	size_t hits = 0;
	u64 at;

	if (!text || !text->size)
		return;
	double start = cpu_ms();
	for (u64 i = 0; i < LOOK_UPS; i++)
		hits += symbols_find(s, text->vaddr + i * 2654435761 % text->size, &at) != NULL;
	double took = cpu_ms() - start;
	printf("look-up             %6.0f ns  %6.1f %% of .text known\n", took * 1e6 / LOOK_UPS,
	       (double)hits * 100 / LOOK_UPS);

	start = cpu_ms();
	for (u64 i = 0; i < LOOK_UPS / 10; i++) {
		const char *symbol =
			symbols_find(s, text->vaddr + i * 2654435761 % text->size, &at);
		demangle(&name, symbol ? symbol : "");
	}
	printf("look-up, demangled  %6.0f ns\n", (cpu_ms() - start) * 1e7 / LOOK_UPS);
}

int main(int argc, char **argv)
{
	kernel();
	for (int i = 1; i < argc; i++) {
		double best = 1e9;
		for (int round = 0; round < ROUNDS; round++) {
			auto_close int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
			auto_elf struct elf *e = NULL;
			double start = cpu_ms();
			if (elf_open_fd(fd, &e))
				return 1;
			auto_symbols struct symbols *s = symbols_read(e, NULL, 0, 256u << 20);
			double took = cpu_ms() - start;
			best = took < best ? took : best;
			if (round < ROUNDS - 1)
				continue;
			printf("%s\nnames               %6.1f ms  %6.2f MB\n", argv[i], best,
			       (double)symbols_bytes(s) / 1e6);
			look_ups(e, s);
		}
	}
	return 0;
}
