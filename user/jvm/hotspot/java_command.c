/* SPDX-License-Identifier: Apache-2.0 */
/* The command that a JVM was started with. */
#include "jvm/hotspot/java_command.h"

#include <errno.h>

#include "jvm/hotspot/hotspot_private.h"

/* Arguments::_java_command; the launcher's option -Dsun.java.command is parsed before the VM
 * starts. */
int hotspot_java_command(const struct hotspot *h, char *out, size_t max)
{
	u64 at;
	int err = vm_read_static(&h->jvm, JAVA_COMMAND, &at);

	if (err)
		return err;
	*out = '\0';
	if (!at)
		return 0;
	err = mem_read_string(h->jvm.mem, at, out, max);
	if (err == -ENAMETOOLONG)
		out[max - 1] = '\0';
	return err == -ENAMETOOLONG ? 0 : err;
}
