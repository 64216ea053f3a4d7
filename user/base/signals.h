/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of a child that must end when its parent does, and not before. */
#pragma once

/*
 * Ignores the signals that a terminal or a service manager sends to the whole group. All others get
 * their default action, and none stays blocked.
 */
void signals_leave_to_parent(void);
