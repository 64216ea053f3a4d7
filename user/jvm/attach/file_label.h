/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SELinux labels of files that are made for a target. By default a file gets a label of the process
 * that makes it. The policy may hide files with that label from the target.
 */
#pragma once

#include "jvm/process/process_root.h"

/*
 * Gives files that this thread makes from now on the label that the target's own files get in its
 * /tmp. False without SELinux, or if the policy forbids it or cannot be asked.
 */
bool file_label_begin(const struct process_root *t);

/* Files get the label of this thread again. False if the label of the target stays. */
bool file_label_end(void);

/*
 * Whether the policy lets the target see the file `name` of its /tmp. True without SELinux, and
 * where SELinux enforces nothing. False if the policy cannot be asked, as without selinuxfs and
 * CAP_SYS_ADMIN.
 */
bool file_label_is_visible(const struct process_root *t, const char *name);

/* Whether the answer of /sys/fs/selinux/access permits the permission with this number, from 1 on.
 */
bool file_label_is_permitted(const char *answer, u32 number);
