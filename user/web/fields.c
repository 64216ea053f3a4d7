/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a JSON object in a request. */
#include "web/fields.h"

#include <string.h>

#include "base/utf8.h"

bool field_text(struct request *q, const json_t *o, const char *name, size_t max, const char **out)
{
	const json_t *v = json_object_get(o, name);

	if (!v)
		return true;
	if (!json_is_string(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be a text.", name);
		return false;
	}
	if (json_string_length(v) != strlen(json_string_value(v)) ||
	    !utf8_is_clean(json_string_value(v), max)) {
		reply_error(q, ERROR_OUT_OF_RANGE, name,
			    "\"%s\" must have at most %zu bytes and no control characters.", name,
			    max);
		return false;
	}
	*out = json_string_value(v);
	return true;
}

bool field_u64(struct request *q, const json_t *o, const char *name, u64 min, u64 max, u64 *out)
{
	const json_t *v = json_object_get(o, name);

	if (!v)
		return true;
	if (!json_is_integer(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be a whole number.", name);
		return false;
	}
	json_int_t value = json_integer_value(v);
	if (value < 0 || (u64)value < min || (u64)value > max) {
		reply_error(q, ERROR_OUT_OF_RANGE, name, "\"%s\" must be between %llu and %llu.",
			    name, (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = (u64)value;
	return true;
}

bool field_bool(struct request *q, const json_t *o, const char *name, bool *out)
{
	const json_t *v = json_object_get(o, name);

	if (v && !json_is_boolean(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be true or false.", name);
		return false;
	}
	if (v)
		*out = json_is_true(v);
	return true;
}

static bool is_in(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

bool fields_are_known(struct request *q, const json_t *o, const char *const *names)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		if (is_in(names, name))
			continue;
		reply_error(q, ERROR_BAD_REQUEST, NULL, "There is no field \"%.64s\" here.", name);
		return false;
	}
	return true;
}
