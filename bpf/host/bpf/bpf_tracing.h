/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Stands in for libbpf's header: what runs on the host reads no kernel structs. */
#pragma once
