/* SPDX-License-Identifier: Apache-2.0 */
/* Faster additions to a profile of very many weights. Part of profile/profile.h. */
#pragma once

struct profile;

/*
 * Promises that no weight so far gets more: profile_add does not search among them any more, which
 * makes it faster. profile_open_weights takes the promise back.
 */
void profile_seal_weights(struct profile *p);
void profile_open_weights(struct profile *p);
