/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -ldl */
/*
 * A process that looks like a JVM, but a page of its tables never arrives. `userfaultfd`: nobody
 * serves its page fault. `fuse`: it is of a file system that never answers a read. Becomes user
 * 65534 and prints "ready", or the reason why this is impossible here. usage: never_answers LIBJVM
 * userfaultfd|fuse FOLDER
 */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE    4096
#define NOBODY  65534
#define FILE_ID 2

static void impossible(const char *what)
{
	printf("impossible: %s: %s\n", what, strerror(errno));
	exit(0);
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		err(1, "setresuid");
}

/* The page has no contents until somebody serves its fault. */
static void leave_fault_unserved(void *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { { (uintptr_t)page, PAGE },
					 UFFDIO_REGISTER_MODE_MISSING,
					 0 };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		impossible("userfaultfd");
	if (mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		impossible("UFFDIO_REGISTER");
	become_nobody();
}

static void answer(int fd, uint64_t unique, int error, const void *body, size_t len)
{
	char message[256];
	struct fuse_out_header head = { (uint32_t)(sizeof(head) + len), error, unique };

	memcpy(message, &head, sizeof(head));
	if (len)
		memcpy(message + sizeof(head), body, len);
	if (write(fd, message, head.len) < 0)
		err(1, "/dev/fuse");
}

/* A root with one file of a page; reads of it are never answered. */
static void serve(int fd)
{
	static char buf[FUSE_MIN_READ_BUFFER + (128 << 10)];
	const struct fuse_in_header *in = (const void *)buf;
	const struct fuse_attr file = {
		.ino = FILE_ID, .size = PAGE, .mode = S_IFREG | 0444, .nlink = 1
	};
	const struct fuse_attr root = { .ino = 1, .mode = S_IFDIR | 0555, .nlink = 2 };

	while (read(fd, buf, sizeof(buf)) > 0) {
		if (in->opcode == FUSE_INIT) {
			struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
						     .minor = FUSE_KERNEL_MINOR_VERSION,
						     .max_write = PAGE };
			answer(fd, in->unique, 0, &out, sizeof(out));
		} else if (in->opcode == FUSE_LOOKUP) {
			struct fuse_entry_out out = { .nodeid = FILE_ID, .attr = file };
			answer(fd, in->unique, 0, &out, sizeof(out));
		} else if (in->opcode == FUSE_GETATTR) {
			struct fuse_attr_out out = { .attr = in->nodeid == 1 ? root : file };
			answer(fd, in->unique, 0, &out, sizeof(out));
		} else if (in->opcode == FUSE_OPEN) {
			struct fuse_open_out out = { 0 };
			answer(fd, in->unique, 0, &out, sizeof(out));
		} else if (in->opcode != FUSE_READ && in->opcode != FUSE_FORGET) {
			answer(fd, in->unique, -ENOSYS, NULL, 0);
		}
	}
	_exit(0);
}

static void map_silent_file(void *page, const char *folder)
{
	char options[100], path[4096];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		impossible("unshare");
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		impossible("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	if (mount("silent", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		impossible("mount");
	if (!fork()) {
		become_nobody(); /* or the parent may not signal it when it ends */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
	}
	close(fuse); /* the server has it; with its end the file system ends */
	snprintf(path, sizeof(path), "%s/page", folder);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		impossible(path);
	become_nobody();
}

int main(int argc, char **argv)
{
	void *libjvm = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char *tables = libjvm ? dlsym(libjvm, "gHotSpotVMStructs") : NULL;

	if (!tables)
		errx(2, "usage: never_answers LIBJVM userfaultfd|fuse FOLDER");
	setvbuf(stdout, NULL, _IOLBF, 0);
	void *page = (void *)((uintptr_t)tables & ~(uintptr_t)(PAGE - 1));
	if (strcmp(argv[2], "fuse"))
		leave_fault_unserved(page);
	else
		map_silent_file(page, argv[3]);
	prctl(PR_SET_DUMPABLE, 1);
	puts("ready");
	for (volatile unsigned long spins = 0;; spins++)
		;
}
