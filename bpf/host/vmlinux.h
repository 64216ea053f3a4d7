/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces vmlinux.h where BPF sources are compiled for the host: in unit tests and in
 * user/capture/unwind/walker.c. The folder must come first on the include path.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#endif
