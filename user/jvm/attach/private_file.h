/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file in a file system of its own, in memory, that can be mounted elsewhere. Whoever may write
 * to it changes no file of the host and no file of another container.
 */
#pragma once

#include "base/types.h"

/*
 * Makes the file, checks it, and returns a descriptor of a read-only mount of it that is not yet
 * attached anywhere; or a negative errno. Locks the file (flock) for as long as the caller lives.
 * Leaves the caller in another mount namespace: it runs in a child without threads. Needs
 * CAP_SYS_ADMIN and Linux 5.12.
 */
int private_file_mount(const char *bytes, size_t len);
