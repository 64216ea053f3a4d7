/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a profile can be read from. */
#include "export/read.h"

#include <errno.h>
#include <string.h>

#include "export/container.h"

/* Text that is nothing else: the last entry of the table. */
static bool is_anything(const u8 *head, size_t len)
{
	return true;
}

static const struct reader readers[] = {
	{ "html", html_is, html_read },
	{ "collapsed", is_anything, collapsed_read },
};

void input_init(struct input *in, FILE *f)
{
	*in = (struct input){ .f = f };
	in->nr_head = fread(in->head, 1, sizeof(in->head), f);
}

size_t input_read(struct input *in, void *buf, size_t len)
{
	size_t left = in->nr_head - in->used;

	if (!left)
		return fread(buf, 1, len, in->f);
	if (len > left)
		len = left;
	memcpy(buf, in->head + in->used, len);
	in->used += len;
	return len;
}

int profile_read(FILE *f, struct profile *p, struct str *why)
{
	struct input in;
	const struct reader *r = readers;

	input_init(&in, f);
	while (!r->is(in.head, in.nr_head))
		r++;

	int err = r->read(&in, p, why);
	if (!err && ferror(f))
		err = -EIO;
	if (err == -EIO)
		str_add(why, "it cannot be read");
	return err;
}
