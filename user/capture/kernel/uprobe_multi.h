/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes attached with BPF links, from Linux 6.6 on. Unlike perf's uprobes they need no
 * CAP_SYS_ADMIN. libbpf supports them only from 1.3 on.
 */
#pragma once

#include "base/types.h"
#include "capture/kernel/programs.h"

/* For bpf_program__set_expected_attach_type, before loading. */
#define UPROBE_MULTI_ATTACH_TYPE 48

/* Returns the link's descriptor or a negative errno. */
int uprobe_multi_attach(int program_fd, const struct programs_uprobe *at);
