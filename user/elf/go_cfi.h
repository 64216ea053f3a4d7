/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information of a Go program whose .debug_frame was stripped, made from the frame sizes
 * in its .gopclntab. Go's linker makes .debug_frame from the same numbers
 * (src/cmd/link/internal/ld/ dwarf.go, writeframes).
 */
#pragma once

#include "elf/elf.h"

/*
 * *out gets the bytes of a .debug_frame, which the caller frees. Functions whose frame sizes are
 * damaged are left out. Errors are those of gopclntab_read; -EFBIG also for more than
 * CFI_SECTION_MAX bytes.
 */
int go_cfi_make(const struct elf *e, void **out, size_t *len);
