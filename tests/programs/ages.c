/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ages a recorder: ages NR_PROCESSES NR_FILES NR_GROUPS DIR GROUP. Starts short processes in
 * sequence, which use some CPU time each. Every few run a new file of their own in DIR, a copy of
 * this program, and every few are in a new control group below GROUP that looks like a container.
 * Prints "half" after half of them. Without arguments: such a process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

#define BURN_NS 2000000

static void burn(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

/* Files of different sizes are different modules. */
static void copy_self(const char *path, int nr)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(path, O_CREAT | O_WRONLY, 0755);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, (size_t)st.st_size) < 0 || ftruncate(out, st.st_size + nr)) {
		perror(path);
		exit(1);
	}
	close(in);
	close(out);
}

static void enter_group(const char *group)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	int fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(path);
		_exit(1);
	}
	close(fd);
}

static void run(const char *path, const char *group)
{
	pid_t pid = fork();

	if (!pid) {
		if (group)
			enter_group(group);
		execl(path, "ages", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void run_one(int i, int per_file, int per_group, const char *dir, const char *parent)
{
	char file[512] = "/proc/self/exe", group[512] = "";

	if (per_file && i % per_file == 0) {
		snprintf(file, sizeof(file), "%s/program-%d", dir, i);
		copy_self(file, i + 1);
	}
	if (per_group && i % per_group == 0) {
		snprintf(group, sizeof(group), "%s/docker-%064x.scope", parent, i + 1);
		if (mkdir(group, 0755))
			perror(group);
	}
	run(file, *group ? group : NULL);
	if (per_file && i % per_file == 0)
		unlink(file);
	if (*group)
		rmdir(group);
}

int main(int argc, char **argv)
{
	if (argc < 6) {
		while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < BURN_NS)
			burn();
		return 0;
	}

	int nr = atoi(argv[1]), files = atoi(argv[2]), groups = atoi(argv[3]);
	for (int i = 0; i < nr; i++) {
		if (i == nr / 2) {
			puts("half");
			fflush(stdout);
		}
		run_one(i, files ? nr / files : 0, groups ? nr / groups : 0, argv[4], argv[5]);
	}
	puts("done");
	return 0;
}
