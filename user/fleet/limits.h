/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes on the wire of the fleet. */
#pragma once

#define FLEET_VERSION     1
#define FLEET_ID_LEN      16
#define FLEET_KEY_LEN     32
#define FLEET_SIGN_LEN    64
#define FLEET_HASH_LEN    32
#define FLEET_CHUNK_MAX   (128u << 10) /* of a profile; one packet of fleet/link.h holds it */
#define FLEET_MESSAGE_MAX (FLEET_CHUNK_MAX + 1024)
#define FLEET_SERVICES    16 /* names in an answer */
#define FLEET_RUNS        4
#define FLEET_RUN_TEXT    400
#define FLEET_URL_TEXT    128
#define FLEET_WEIGHT_MAX  1000000000ull
#define FLEET_BLOB_MAX    (4u << 20)
#define FLEET_PPB         1000000000u
#define FLEET_CPUS_MAX    8192 /* of a node; Linux has no more */
