/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -Wl,--no-as-needed -lbpf */
/*
 * A process under whom the kernel runs no program of a perf event for much of the time. It ends
 * after CPU_SECONDS of CPU time, and prints its CPU time in ms.
 *
 * - maps: it changes a BPF map all the time, by the bpf() system call.
 * - tracepoint: a BPF program of its own on task:task_rename takes some 40 us of each call; the
 *   process spends as much in own_work.
 * - churn: as tracepoint, but it attaches and detaches the program some 100 times a second.
 * - pinned: as tracepoint, but only the link LINK_PATH in bpffs holds the program, and also
 *   PROGRAM_PATH if it is given. Both are removed at the end.
 * - multi: as pinned, with a kretprobe_multi link to the system call that renames.
 * - syscalls: two BPF programs of its own count the system calls of all processes by name while the
 *   command runs. Its status is the command's.
 *
 * usage: other_bpf maps|tracepoint|churn CPU_SECONDS
 *
 * usage: other_bpf pinned|multi CPU_SECONDS LINK_PATH [PROGRAM_PATH]
 *
 * usage: other_bpf syscalls COMMAND..
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 100000 /* of the program's loop */
#define KEYS  100000

#ifdef __x86_64__
#define ARCH "x64"
#else
#define ARCH "arm64"
#endif

#define SET(r, n)                                                               \
	{                                                                       \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (r), .imm = (n) \
	}
#define CALL(function)                                                 \
	{                                                              \
		.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_##function \
	}
#define ON_STACK(r, n)                                                          \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (r), .src_reg = 10 }, \
	{                                                                       \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (r), .imm = (n) \
	}
#define MAP(r, fd)                           \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, \
	  .dst_reg = (r),                    \
	  .src_reg = BPF_PSEUDO_MAP_FD,      \
	  .imm = (fd) },                     \
	{                                    \
		0                            \
	}

static volatile unsigned long sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void own_work(void)
{
	for (int i = 0; i < 10000; i++)
		sink = sink * 3 + 1;
}

static int change_maps(double end)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "other", 4, 8, KEYS, NULL);

	if (map < 0)
		return 1;
	for (unsigned n = 0; cpu_seconds() < end;)
		for (int i = 0; i < 1000; i++) {
			unsigned key = n++ * 7919 % KEYS, value[2] = { 0 };
			bpf_map_update_elem(map, &key, value, BPF_ANY);
		}
	return 0;
}

static int load_slow(enum bpf_prog_type type, enum bpf_attach_type attached)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attached);
	const struct bpf_insn slow[] = {
		SET(1, TURNS),
		{ .code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2 },
		SET(0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type, "other_slow", "GPL", slow, sizeof(slow) / sizeof(slow[0]),
			     &options);
}

/* What tracers load for "count by name". */
static int load_count(int map)
{
	const struct bpf_insn count[] = {
		ON_STACK(1, -16),
		SET(2, 16),
		CALL(get_current_comm),
		MAP(1, map),
		ON_STACK(2, -16),
		CALL(map_lookup_elem),
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 5 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 0, .src_reg = 1 },
		SET(0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -24, .imm = 1 },
		MAP(1, map),
		ON_STACK(2, -16),
		ON_STACK(3, -24),
		SET(4, BPF_ANY),
		CALL(map_update_elem),
		SET(0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "other_count", "GPL", count,
			     sizeof(count) / sizeof(count[0]), NULL);
}

static int open_tracepoint(const char *tracepoint)
{
	char path[128];
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", tracepoint);
	FILE *f = fopen(path, "r");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	unsigned id = 0;

	if (!f || fscanf(f, "%u", &id) != 1)
		return -1;
	fclose(f);
	attr.config = id;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach(int program, const char *tracepoint)
{
	int fd = open_tracepoint(tracepoint);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	return fd; /* the program runs for all processes while it is open */
}

static int refused(void)
{
	fprintf(stderr, "other_bpf: the program cannot be attached: %s\n", strerror(errno));
	return 1;
}

/* Attaches the program again after each `turns` renames; 0: never. */
static int rename_often(double end, unsigned turns)
{
	int program = load_slow(BPF_PROG_TYPE_TRACEPOINT, 0),
	    link = attach(program, "task/task_rename");

	if (program < 0 || link < 0)
		return refused();
	puts("attached");
	fflush(stdout);
	for (unsigned n = 1; cpu_seconds() < end; n++) {
		prctl(PR_SET_NAME, "other_bpf");
		own_work();
		if (!turns || n % turns)
			continue;
		close(link);
		link = attach(program, "task/task_rename");
		if (link < 0)
			return refused();
	}
	return 0;
}

/* The program runs for all processes while the link exists. */
static int link_tracepoint(int program)
{
	int event = open_tracepoint("task/task_rename");
	int link = bpf_link_create(program, event, BPF_PERF_EVENT, NULL);

	if (link >= 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	close(event);
	return link;
}

static int link_multi(int program)
{
	const char *name = "__" ARCH "_sys_prctl";
	LIBBPF_OPTS(bpf_link_create_opts, options, .kprobe_multi.syms = &name,
		    .kprobe_multi.cnt = 1, .kprobe_multi.flags = BPF_F_KPROBE_MULTI_RETURN);

	return bpf_link_create(program, 0, BPF_TRACE_KPROBE_MULTI, &options);
}

/* The link needs no descriptor any more. */
static int rename_pinned(double end, bool is_multi, const char *path, const char *program_path)
{
	int program = is_multi ? load_slow(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI)
			       : load_slow(BPF_PROG_TYPE_TRACEPOINT, 0);
	int link = is_multi ? link_multi(program) : link_tracepoint(program);

	if (program_path && bpf_obj_pin(program, program_path))
		return refused();
	if (link < 0 || bpf_obj_pin(link, path))
		return refused();
	close(link);
	close(program);
	puts("attached");
	fflush(stdout);
	while (cpu_seconds() < end) {
		prctl(PR_SET_NAME, "other_bpf");
		own_work();
	}
	if (program_path)
		unlink(program_path);
	return unlink(path) ? 1 : 0;
}

static int count_syscalls(char **command)
{
	int map = bpf_map_create(BPF_MAP_TYPE_PERCPU_HASH, "other_counts", 16, 8, 4096, NULL);
	int program = load_count(map), status;

	if (map < 0 || program < 0 || attach(program, "raw_syscalls/sys_enter") < 0 ||
	    attach(program, "raw_syscalls/sys_exit") < 0)
		return refused();
	pid_t child = fork();
	if (!child) {
		execvp(command[0], command);
		_exit(127);
	}
	return child < 0 || waitpid(child, &status, 0) < 0 || status ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "syscalls"))
		return count_syscalls(argv + 2);
	double end = atof(argv[2]);
	bool is_multi = !strcmp(argv[1], "multi"),
	     is_pinned = is_multi || !strcmp(argv[1], "pinned");
	int status = !strcmp(argv[1], "maps")    ? change_maps(end)
		     : is_pinned && argc > 3     ? rename_pinned(end, is_multi, argv[3], argv[4])
		     : !strcmp(argv[1], "churn") ? rename_often(end, 100)
						 : rename_often(end, 0);
	printf("%.0f\n", cpu_seconds() * 1000);
	return status;
}
