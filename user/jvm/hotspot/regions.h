/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of its address space that a JVM reserves for itself. */
#pragma once

#include "jvm/hotspot/hotspot.h"

enum jvm_region {
	JVM_REGION_UNKNOWN, /* the JVM has not reserved its Java heap yet */
	JVM_REGION_JAVA_HEAP,
	JVM_REGION_CODE_CACHE,
	JVM_REGION_OTHER,
};

/*
 * The region of `addr`. A JVM's regions never move, so the answer also holds after the JVM's end if
 * it was requested before. ZGC's tables do not contain its Java heap: OTHER.
 */
enum jvm_region hotspot_region(struct hotspot *h, u64 addr);
