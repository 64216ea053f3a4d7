/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs generated code in memory of a kind, with a perf map. Each SIGUSR1 writes the map anew, with
 * the next name for the same code. SIGUSR2 executes the program again, which then writes no map.
 *
 * usage: jits KIND [NAME..]
 * KIND: anonymous, named, zero, sysv, memfd, huge, unlinked, file
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#define AT    ((void *)0x500000000000) /* the same after exec */
#define BYTES (2l << 20)               /* a huge page */
#define RWX   (PROT_READ | PROT_WRITE | PROT_EXEC)

extern char __start_generated[], __stop_generated[];
static volatile sig_atomic_t usr1, usr2;

__attribute__((noinline, used, section("generated"))) static void loop(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static void note_usr1(int signal)
{
	usr1 = 1;
}

static void note_usr2(int signal)
{
	usr2 = 1;
}

static void *map(int flags, int fd)
{
	if (fd >= 0 && ftruncate(fd, BYTES))
		return MAP_FAILED;
	return mmap(AT, BYTES, RWX, flags | MAP_FIXED, fd, 0);
}

static void *map_file(int is_unlinked)
{
	char path[] = "codeXXXXXX";
	int fd = mkstemp(path);

	if (is_unlinked)
		unlink(path);
	return map(MAP_SHARED, fd);
}

static void *map_named(void)
{
	void *at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	prctl(0x53564d41 /* PR_SET_VMA */, 0, at, BYTES, "jit");
	return at;
}

static void *map_sysv(void)
{
	int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0700);
	void *at = shmat(id, AT, SHM_EXEC);

	shmctl(id, IPC_RMID, NULL);
	return at;
}

static void *map_kind(const char *kind)
{
	if (!strcmp(kind, "anonymous"))
		return map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!strcmp(kind, "named"))
		return map_named();
	if (!strcmp(kind, "zero"))
		return map(MAP_SHARED | MAP_ANONYMOUS, -1);
	if (!strcmp(kind, "sysv"))
		return map_sysv();
	if (!strcmp(kind, "memfd"))
		return map(MAP_SHARED, memfd_create("code", MFD_CLOEXEC));
	if (!strcmp(kind, "huge"))
		return map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (!strcmp(kind, "unlinked") || !strcmp(kind, "file"))
		return map_file(!strcmp(kind, "unlinked"));
	return MAP_FAILED;
}

static void write_map(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "we");
	if (f) {
		fprintf(f, "%lx 1000 %s\n", (long)AT, name);
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || map_kind(argv[1]) != AT) {
		perror("no such memory");
		return 1;
	}
	memcpy(AT, __start_generated, (size_t)(__stop_generated - __start_generated));
	__builtin___clear_cache(AT, (char *)AT + 4096);
	signal(SIGUSR1, note_usr1);
	signal(SIGUSR2, note_usr2);
	for (usr1 = argc > 2;; ((void (*)(void))AT)()) {
		if (usr1 && argc > 2) {
			write_map(argv[2]);
			argc--;
			argv++;
			puts("ready");
			fflush(stdout);
		}
		usr1 = 0;
		if (usr2)
			execl("/proc/self/exe", "jits", "anonymous", NULL);
	}
}
