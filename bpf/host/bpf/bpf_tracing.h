/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Replaces libbpf's header: code on the host reads no kernel structs. */
#pragma once
