/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the store that a job asks for. */
#include "web/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "web/jobs.h"

void *input_new(const struct input *in)
{
	return xmemdup(in, sizeof(*in));
}

int input_file(const struct input *in, u32 number)
{
	switch (in->kind) {
	case INPUT_PARTS:
		return in->nr && number >= in->nr
			       ? -ENOENT
			       : store_open_part(in->store, in->id, in->first + number);
	case INPUT_FILE:
		return number ? -ENOENT : store_open_file(in->store, in->id);
	case INPUT_SLICES: /* have no numbers, because hours are removed meanwhile */
		break;
	}
	return -ENOENT;
}

int input_open(void *ctx, u32 place, const char *path)
{
	struct input *in = ctx;
	size_t digits = strspn(path, "0123456789");
	u32 right = in->kind == INPUT_SLICES ? WEB_PLACE_SLICES : WEB_PLACE_PROFILE;

	if (place != right || !digits || digits > 6 || path[digits])
		return -EINVAL;
	if (in->kind == INPUT_SLICES)
		return store_open_slices(in->store, &in->from_ns, in->to_ns);
	return input_file(in, (u32)strtoul(path, NULL, 10));
}
