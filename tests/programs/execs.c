/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fomit-frame-pointer */
/*
 * Maps a file with code and a library's name, spins, unmaps it, and executes itself again. Anything
 * read from this process is outdated at once. usage: execs FILE
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void spin(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	void *code = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	spin();
	munmap(code, st.st_size);
	spin();
	execv(argv[0], argv);
	return 1;
}
