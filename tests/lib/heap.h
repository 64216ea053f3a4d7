/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that a test has allocated and not freed, as AddressSanitizer counts them. */
#pragma once

#include <stddef.h>

/* gcc 12 lacks sanitizer/allocator_interface.h, which declares these. */
size_t __sanitizer_get_allocated_size(const volatile void *p);
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

static size_t heap_bytes;

static void heap_on_malloc(const volatile void *p, size_t size)
{
	heap_bytes += size;
}

static void heap_on_free(const volatile void *p)
{
	heap_bytes -= p ? __sanitizer_get_allocated_size(p) : 0;
}

/* Starts to count. Memory allocated before must not be freed while it counts. */
static inline void heap_count(void)
{
	static int is_on;

	if (!is_on++)
		__sanitizer_install_malloc_and_free_hooks(heap_on_malloc, heap_on_free);
}
