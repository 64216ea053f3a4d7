/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* This processor's part of bpf/host/unwinder.h. */
#pragma once

#include "hotspot.bpf.c"
#include "interpreter.bpf.c"
