/* SPDX-License-Identifier: Apache-2.0 */
/* A child that does nothing and ends with the test. */
#pragma once

#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static inline pid_t start_sleeper(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return child;
}
