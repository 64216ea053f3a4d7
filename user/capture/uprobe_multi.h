/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uprobes as links of their own kind, from Linux 6.6 on: other than perf's they take no
 * CAP_SYS_ADMIN. libbpf has them from 1.3 on.
 */
#pragma once

#include "base/types.h"
#include "capture/bpf.h"

/* As bpf_program__set_expected_attach_type takes it; before loading. */
#define UPROBE_MULTI_ATTACH_TYPE 48

/* The link's descriptor, or negative errno. */
int uprobe_multi_attach(int program_fd, const struct bpf_uprobe *at);
