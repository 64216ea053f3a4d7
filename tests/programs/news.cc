/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates known sums of bytes by each of C++'s operators new, then prints them: a line
 * "SITE BYTES LEAKED" each. Waits for SIGUSR1 first, and calls started(). Built by its test.
 */
#include <cstdio>
#include <new>

extern "C" {
#include "known.h"
}

constexpr size_t BLOCK = 4032, BLOCKS = 1021; /* of BLOCK: a multiple of every alignment here */

static void *volatile kept;

struct alignas(64) line {
	char bytes[BLOCK];
};

extern "C" void by_new()
{
	for (size_t i = 0; i < BLOCKS; i++) {
		kept = ::operator new(BLOCK);
		::operator delete(kept);
	}
}

extern "C" void by_new_array()
{
	for (size_t i = 0; i < BLOCKS; i++) {
		kept = ::operator new[](BLOCK, std::nothrow);
		::operator delete[](kept, std::nothrow);
	}
}

extern "C" void by_aligned_new()
{
	for (size_t i = 0; i < BLOCKS; i++) {
		line *p = new line;
		kept = p;
		delete p;
	}
}

extern "C" void by_aligned_new_array()
{
	for (size_t i = 0; i < BLOCKS; i++) {
		kept = ::operator new[](BLOCK, std::align_val_t(64), std::nothrow);
		::operator delete[](kept, std::align_val_t(64));
	}
}

extern "C" void leaks_aligned_new()
{
	for (size_t i = 0; i < BLOCKS; i++)
		kept = new line;
}

static const struct {
	void (*run)();
	const char *name;
	bool leaks;
} sites[] = {
	{ by_new, "by_new", false },
	{ by_new_array, "by_new_array", false },
	{ by_aligned_new, "by_aligned_new", false },
	{ by_aligned_new_array, "by_aligned_new_array", false },
	{ leaks_aligned_new, "leaks_aligned_new", true },
};

int main()
{
	await_signal();
	started();
	for (const auto &site : sites) {
		site.run();
		printf("%s %zu %zu\n", site.name, BLOCK * BLOCKS, site.leaks ? BLOCK * BLOCKS : 0);
	}
}
