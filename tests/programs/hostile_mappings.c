/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: hostile_mappings FOLDER MAPPINGS FORKS [map|names]. Maps a file with a path of 3.7 KB that
 * often as executable memory, waits for SIGUSR1, and forks 15 children a second, each of which uses
 * the CPU for 0.3 s. With "map" each child maps the file once more. With "names" each mapping has a
 * path of its own. Prints "mapped" and at the end "done".
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int deep_file(const char *folder)
{
	char name[250];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (chdir(folder))
		return -1;
	for (int i = 0; i < 15; i++)
		if (mkdir(name, 0755) || chdir(name))
			return -1;
	int fd = open("file", O_RDWR | O_CREAT, 0755);
	return fd < 0 || ftruncate(fd, 8192) ? -1 : fd;
}

/* Neighbours that map the same page are not merged. */
static int map_once(int fd)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

/* The page again, by another path. */
static int map_named(int i)
{
	char name[32];

	snprintf(name, sizeof(name), "file-%d", i);
	int fd = link("file", name) ? -1 : open(name, O_RDONLY);
	int err = fd < 0 || map_once(fd);
	close(fd);
	return err;
}

static void use_cpu(double seconds)
{
	for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;)
		;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	sigset_t go;
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	int fd = deep_file(argv[1]);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	const char *mode = argc > 4 ? argv[4] : "";
	for (int i = 0; i < atoi(argv[2]); i++)
		if (!strcmp(mode, "names") ? map_named(i) : map_once(fd)) {
			perror("mmap");
			return 1;
		}
	puts("mapped");
	fflush(stdout);
	sigwait(&go, &(int){ 0 });
	for (int i = 0; i < atoi(argv[3]); i++) {
		if (!fork()) {
			if (!strcmp(mode, "map"))
				map_once(fd);
			use_cpu(0.3);
			_exit(0);
		}
		usleep(66000);
	}
	while (wait(NULL) > 0)
		;
	puts("done");
	return 0;
}
