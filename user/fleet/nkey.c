/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of NATS. */
#include "fleet/nkey.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "fleet/key.h"

#define PREFIX_SEED  0x90u /* 'S' */
#define PREFIX_USER  0xa0u /* 'U' */
#define PUBLIC_BYTES (1 + FLEET_KEY_LEN + 2)
#define SEED_BYTES   (2 + FLEET_KEY_LEN + 2)

static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static u16 checksum(const u8 *bytes, size_t len)
{
	u32 crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc ^= (u32)bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return (u16)crc;
}

/* The last character is filled up with zeros. */
static void print(const u8 *bytes, size_t len, char *text)
{
	u32 held = 0, nr = 0;

	for (size_t i = 0; i < len; i++) {
		held = held << 8 | bytes[i];
		for (nr += 8; nr >= 5; nr -= 5)
			*text++ = base32[held >> (nr - 5) & 31];
	}
	if (nr)
		*text++ = base32[held << (5 - nr) & 31];
	*text = '\0';
}

static bool parse(const char *text, u8 *bytes, size_t len)
{
	u32 held = 0, nr = 0;
	size_t got = 0;

	for (; *text; text++) {
		const char *at = strchr(base32, *text);
		if (!at || got == len)
			return false;
		held = held << 5 | (u32)(at - base32);
		nr += 5;
		if (nr >= 8)
			bytes[got++] = (u8)(held >> (nr -= 8));
	}
	return got == len && !(held & ((1u << nr) - 1));
}

static void print_key(u8 *bytes, size_t len, char *text)
{
	u16 crc = checksum(bytes, len - 2);

	bytes[len - 2] = (u8)crc;
	bytes[len - 1] = (u8)(crc >> 8);
	print(bytes, len, text);
}

static int print_public(const u8 *private_key, char *text)
{
	u8 bytes[PUBLIC_BYTES] = { PREFIX_USER };
	int err = key_public(private_key, bytes + 1);

	if (!err)
		print_key(bytes, sizeof(bytes), text);
	return err;
}

static int parse_seed(const char *seed, u8 *private_key)
{
	u8 bytes[SEED_BYTES];

	if (!parse(seed, bytes, sizeof(bytes)) || bytes[0] != (PREFIX_SEED | PREFIX_USER >> 5) ||
	    bytes[1] != (u8)(PREFIX_USER << 3) ||
	    checksum(bytes, SEED_BYTES - 2) !=
		    (u16)(bytes[SEED_BYTES - 2] | bytes[SEED_BYTES - 1] << 8))
		return -EINVAL;
	memcpy(private_key, bytes + 2, FLEET_KEY_LEN);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int nkey_new(char seed[NKEY_SEED_TEXT], char public_key[NKEY_TEXT])
{
	u8 bytes[SEED_BYTES] = { PREFIX_SEED | PREFIX_USER >> 5, (u8)(PREFIX_USER << 3) };

	if (getrandom(bytes + 2, FLEET_KEY_LEN, 0) != FLEET_KEY_LEN)
		return -EIO;
	int err = print_public(bytes + 2, public_key);
	if (!err)
		print_key(bytes, sizeof(bytes), seed);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int nkey_public(const char *seed, char public_key[NKEY_TEXT])
{
	u8 private_key[FLEET_KEY_LEN];
	int err = parse_seed(seed, private_key) ?: print_public(private_key, public_key);

	explicit_bzero(private_key, sizeof(private_key));
	return err;
}

int nkey_sign(const char *seed, const void *bytes, size_t nr, u8 *signature)
{
	u8 private_key[FLEET_KEY_LEN];
	int err =
		parse_seed(seed, private_key) ?: key_sign_bytes(private_key, bytes, nr, signature);

	explicit_bzero(private_key, sizeof(private_key));
	return err;
}
