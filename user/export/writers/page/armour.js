// Decodes text of user/export/format/base91.c to bytes: two characters hold 13 bits.
const DIGITS = '!#$%&\'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~';

function armourBytes(text) {
	const value = new Uint8Array(128).fill(255), bytes = new Uint8Array(Math.ceil(text.length * 13 / 16));
	for (let i = 0; i < DIGITS.length; i++)
		value[DIGITS.charCodeAt(i)] = i;
	let bits = 0, nrBits = 0, at = 0, i = 0;
	for (; i + 1 < text.length; i += 2) {
		const first = value[text.charCodeAt(i)], second = value[text.charCodeAt(i + 1)];
		if (!(first < 91 && second < 91))
			break;
		bits |= (first + second * 91 & 8191) << nrBits;
		for (nrBits += 13; nrBits > 7; nrBits -= 8) {
			bytes[at++] = bits;
			bits >>>= 8;
		}
	}
	const rest = text.slice(i);
	if (/\s/.test(rest.slice(0, 2)))
		return armourBytes(text.replace(/\s+/g, ''));
	// The text of a truncated file may end anywhere.
	const last = value[rest.charCodeAt(0)];
	if (last < 64 && nrBits + 6 > 7)
		bytes[at++] = bits | last << nrBits;
	return bytes.subarray(0, at);
}
