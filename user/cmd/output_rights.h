/* SPDX-License-Identifier: Apache-2.0 */
/* Whether writing the output takes rights over files of others. */
#pragma once

#include "base/types.h"

/*
 * Tries to create a file beside the output without CAP_DAC_OVERRIDE, for example as root in the
 * folder of a user. Also true if the output would replace a file of another user in a sticky
 * folder.
 */
bool output_needs_rights(const char *path, bool force);
