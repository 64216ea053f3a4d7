/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -Wl,--no-as-needed -lbpf */
/*
 * A process under whom the kernel runs no program of a perf event for much of the time:
 *   maps        it changes a BPF map all the time, by the bpf() system call
 *   tracepoint  a BPF program of its own on task:task_rename takes some 40 us of each call; the
 *               process spends as much in own_work
 * Ends after that much CPU time and prints it in ms.
 * usage: other_bpf maps|tracepoint CPU_SECONDS
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 100000 /* of the program's loop */
#define KEYS  100000

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

static int load_program(void)
{
	const struct bpf_insn slow[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = TURNS },
		{ .code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "other_slow", "GPL", slow,
			     sizeof(slow) / sizeof(slow[0]), NULL);
}

static int attach(int program)
{
	FILE *f = fopen("/sys/kernel/tracing/events/task/task_rename/id", "r");
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
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	return fd; /* the program runs for all processes while it is open */
}

static int rename_often(double end)
{
	int program = load_program();

	if (program < 0 || attach(program) < 0) {
		fprintf(stderr, "other_bpf: the program cannot be attached: %s\n", strerror(errno));
		return 1;
	}
	puts("attached");
	fflush(stdout);
	while (cpu_seconds() < end) {
		prctl(PR_SET_NAME, "other_bpf");
		own_work();
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double end = atof(argv[2]);
	int status = strcmp(argv[1], "maps") ? rename_often(end) : change_maps(end);
	printf("%.0f\n", cpu_seconds() * 1000);
	return status;
}
