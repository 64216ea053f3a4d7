/* SPDX-License-Identifier: Apache-2.0 */
/* Any class file is changed within the allocated room, or left unchanged; any code has loops or
 * not. */
#include <stdlib.h>
#include <string.h>

#include "jvmmap/bytecode.c"
#include "jvmmap/classedit.c"
#include "jvmmap/classfile.c"
#include "jvmmap/codehook.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct class_method methods[] = {
		{ .name = "both", .len = 4, .number = 1, .wants = CLASS_ENTERED },
		{ .name = "<init>", .len = 6, .number = 2, .wants = CLASS_LASTED, .min_ns = 5 },
		{ .name = "choose", .len = 6, .number = 3, .wants = CLASS_LASTED, .min_ns = 6 },
		{ .name = "caught",
		  .len = 6,
		  .number = 4,
		  .wants = CLASS_ENTERED | CLASS_LASTED,
		  .min_ns = 7 },
	};
	struct class_hook hook = { "java/lang/Hook", methods, 4 };
	uint8_t *file = malloc(size ? size : 1);
	memcpy(file, data, size);
	bytecode_has_loop(file, size);
	uint32_t *work = malloc(sizeof(*work) * (class_work(file, size) + 1));
	size_t len = class_work(file, size) ? class_hook(file, size, &hook, work, NULL, 0) : 0;

	if (len) {
		uint8_t *out = malloc(len);
		if (class_hook(file, size, &hook, work, out, len) != len || out[0] != 0xca)
			abort();
		free(out);
	}
	free(work);
	free(file);
	return 0;
}
