/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a JSON object in a request. Each function replies with a typed error and returns
 * false if the field is not what it should be. A missing field leaves *out as it is.
 */
#pragma once

#include "web/request.h"

/* UTF-8 of at most `max` bytes without control characters; *out lives as long as the object. */
bool field_text(struct request *q, const json_t *o, const char *name, size_t max, const char **out);

/* A whole number within [min, max]. */
bool field_u64(struct request *q, const json_t *o, const char *name, u64 min, u64 max, u64 *out);
bool field_bool(struct request *q, const json_t *o, const char *name, bool *out);

/* Refuses fields that are not in the list, which ends in NULL: a typing error has no effect else.
 */
bool fields_are_known(struct request *q, const json_t *o, const char *const *names);
