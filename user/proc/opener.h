/* SPDX-License-Identifier: Apache-2.0 */
/* The opener: a process that opens files for the recorder (proc/open_request.h). */
#pragma once

/* Answers the orders that come through the socket until the recorder closes its end. */
void opener_serve(int sock);
