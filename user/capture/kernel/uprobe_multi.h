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

/* `out` receives a link without libbpf's struct. Returns 0 or a negative errno. */
int uprobe_multi_attach(int program_fd, const struct programs_uprobe *at, struct bpf_link **out);

/* Ends such a link. Returns false for another one, or NULL. */
bool uprobe_multi_detach(struct bpf_link *link);
