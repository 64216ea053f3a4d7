/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a profile for the web process. */
#include "recorder/part.h"

#include "base/auto.h"
#include "control/channel.h"
#include "export/format/encode.h"
#include "export/format/envelope.h"
#include "profile/names.h"

int part_make(struct profile *p, const struct redaction *redaction, u64 *bytes)
{
	auto_str struct str body = { 0 }, file = { 0 };
	u32 nr_nodes;

	profile_name_frames(p, NAMES_SHOWN);
	redaction_profile(redaction, p);
	int err = body_encode(p, "sysflame " SYSFLAME_VERSION, &body, &nr_nodes)
			  ?: envelope_pack(&body, nr_nodes, &file);
	if (err)
		return err;
	*bytes = file.len;
	return channel_file(file.at, file.len);
}
