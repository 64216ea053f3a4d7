/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener: a process that opens files, and asks container runtimes, for the recorder
 * (proc/open_request.h).
 */
#pragma once

/*
 * Answers the orders that come through the socket until the recorder closes its end. `root` is the
 * prefix of /run, /etc and /proc for container runtimes; "" except in tests.
 */
void opener_serve(int sock, const char *root);
