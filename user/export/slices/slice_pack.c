/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses records of slices. */
#include "export/slices/slice_pack.h"

#include <errno.h>

#include <zstd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define ZSTD_LEVEL 9

int slices_pack(const char *records, size_t len, struct str *out)
{
	size_t bound = ZSTD_compressBound(len);
	auto_free char *frame = xmalloc(bound);
	ZSTD_CCtx *z = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	size_t nr = ZSTD_compress2(z, frame, bound, records, len);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(nr))
		return -EIO;
	str_add_bytes(out, frame, nr);
	return 0;
}
