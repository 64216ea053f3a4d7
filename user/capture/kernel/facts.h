/* SPDX-License-Identifier: Apache-2.0 */
/* Provides jvm/attach/task_facts.h with iterators over all threads. */
#pragma once

/*
 * From now on attaches read facts of the kernel. The program for it is loaded at the first attach,
 * if the rights suffice, and kept.
 */
void facts_provide(void);
