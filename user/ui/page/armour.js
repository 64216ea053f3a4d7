// Decodes text of user/export/format/base91.c to bytes: two characters hold 13 bits.
function armourBytes(text) {
	// The bytes replace the text, which is longer.
	const value = new Uint8Array(256).fill(255), bytes = new TextEncoder().encode(text), { length } = bytes;
	// The digits are the printable characters without " < \.
	for (let c = 33, digit = 0; c < 127; c++)
		if (c !== 34 && c !== 60 && c !== 92)
			value[c] = digit++;
	let bits = 0, nrBits = 0, at = 0, i = 0;
	for (; i + 1 < length; i += 2) {
		const first = value[bytes[i]], second = value[bytes[i + 1]];
		if (first > 90 || second > 90)
			break;
		bits |= (first + second * 91 & 8191) << nrBits;
		bytes[at++] = bits;
		bits >>>= 8;
		nrBits += 5;
		if (nrBits > 7) {
			bytes[at++] = bits;
			bits >>>= 8;
			nrBits -= 8;
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

// The bytes that gzip packed, as a response. Without a Blob, whose bytes would go through another process.
function unpacked(bytes) {
	const stream = new DecompressionStream('gzip'), writer = stream.writable.getWriter(), ignore = () => {}; // the reader fails, too
	writer.write(bytes).catch(ignore);
	writer.close().catch(ignore);
	return new Response(stream.readable);
}
