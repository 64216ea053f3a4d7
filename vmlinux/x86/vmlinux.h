/* SPDX-License-Identifier: GPL-2.0 */
/* Made by vmlinux/reduce from a kernel's BTF; see vmlinux/README. Do not edit. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef signed char __s8;
typedef unsigned char __u8;
typedef short int __s16;
typedef short unsigned int __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef long long unsigned int __u64;
typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef int __kernel_pid_t;
typedef unsigned int __kernel_uid32_t;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __kernel_pid_t pid_t;
typedef _Bool bool;
typedef __kernel_uid32_t uid_t;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	uid_t val;
} kuid_t;
typedef struct pt_regs bpf_user_pt_regs_t;

enum {
	false,
	true,
};

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_CURRENT_CPU = 4294967295ULL,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_F_INNER_MAP = 4096,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_F_USER_STACK = 256,
};

struct seq_file;

struct pt_regs {
	long unsigned int r15;
	long unsigned int r14;
	long unsigned int r13;
	long unsigned int r12;
	long unsigned int bp;
	long unsigned int bx;
	long unsigned int r11;
	long unsigned int r10;
	long unsigned int r9;
	long unsigned int r8;
	long unsigned int ax;
	long unsigned int cx;
	long unsigned int dx;
	long unsigned int si;
	long unsigned int di;
	long unsigned int orig_ax;
	long unsigned int ip;
	u16 cs;
	long unsigned int flags;
	long unsigned int sp;
	u16 ss;
};

struct task_struct {
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	char comm[16];
	struct task_struct *group_leader;
	u64 start_boottime;
	unsigned int flags;
	unsigned int __state;
	int on_cpu;
	int exit_state;
	int exit_code;
	unsigned int in_iowait: 1;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct signal_struct *signal;
};

struct cred {
	kuid_t euid;
};

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	struct task_struct *group_exec_task;
	unsigned int flags;
};

struct css_set {
	struct cgroup_subsys_state *subsys[12];
	struct cgroup *dfl_cgrp;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct kernfs_node {
	u64 id;
};

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
