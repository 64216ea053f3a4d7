/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a sample of nodes become estimates for all. */
#pragma once

#include "profile/profile.h"

#define SCALE_TYPES 32

/*
 * Multiplies all values but numbers of samples. The raw values are kept in a type of their own:
 * NAME-samples where the unit is samples, else NAME-raw; a type NAME-samples that exists stays as
 * it is. Rounding is carried from stack to stack, and in `carry` from profile to profile, so that
 * totals are right to one. Types beyond SCALE_TYPES begin anew with each profile.
 */
void profile_scale(struct profile *p, double factor, double carry[SCALE_TYPES]);
