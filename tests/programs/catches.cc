/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for more than there is for half a second, and catches what operator new throws. */
#include <cstdio>
#include <new>
#include <unistd.h>

int main()
{
	volatile size_t size = (size_t)1 << 62;
	int caught = 0;

	for (int i = 0; i < 50; i++) {
		try {
			delete static_cast<char *>(::operator new(size));
		} catch (const std::bad_alloc &) {
			caught++;
		}
		usleep(10000);
	}
	printf("caught %d\n", caught);
	return caught != 50;
}
