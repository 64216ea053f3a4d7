/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The reader of ThreadLocals as C for the host; see unwinder.h. The including file defines
 * bpf_probe_read_user.
 */
#pragma once

#include "../java_value.bpf.c"
