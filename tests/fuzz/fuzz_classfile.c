/* SPDX-License-Identifier: Apache-2.0 */
/* Any class file is changed within the allocated room, or left unchanged; any code has loops or
 * not. */
#include <stdlib.h>
#include <string.h>

#include "jvmmap/bytecode.c"
#include "jvmmap/classfile.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct class_method methods[] = {
		{ .name = "both", .len = 4, .number = 1 },
		{ .name = "<init>", .len = 6, .number = 2 },
		{ .name = "choose", .len = 6, .number = 3 },
	};
	struct class_hook hook = { "java/lang/Hook", methods, 3 };
	uint8_t *file = malloc(size ? size : 1);
	memcpy(file, data, size);
	bytecode_has_loop(file, size);
	uint32_t *places = malloc(sizeof(*places) * (class_constants(file, size) + 1));
	size_t len = class_hook(file, size, &hook, places, NULL, 0);

	if (len) {
		uint8_t *out = malloc(len);
		if (class_hook(file, size, &hook, places, out, len) != len || out[0] != 0xca)
			abort();
		free(out);
	}
	free(places);
	free(file);
	return 0;
}
