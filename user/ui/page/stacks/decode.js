// Decodes the data block into typed arrays; docs/profile-format.md describes its bytes.
class DataError extends Error {}

const HEADER_BYTES = 36;
const SECTION = { META: 1, NAMES: 2, FRAMES: 3, POP: 4, CALLEE: 5, FIRST: 6, SELF: 7, TIERS: 8,
	LABELSETS: 9, NODELABELS: 10, LABELWEIGHTS: 11, MODULES: 13, LINES: 14, HIDDEN: 15 };
const NAMES_BYTES = 2 ** 28;

const CRC_TABLE = new Uint32Array(256).map((_, i) => {
	for (let bit = 0; bit < 8; bit++)
		i = i & 1 ? 0xedb88320 ^ i >>> 1 : i >>> 1;
	return i;
});

function crc32(bytes) {
	let crc = ~0;
	for (let i = 0; i < bytes.length; i++)
		crc = CRC_TABLE[(crc ^ bytes[i]) & 255] ^ crc >>> 8;
	return ~crc >>> 0;
}

// Checks the container and returns its payload. Each kind of damage has its own message.
function openContainer(bytes) {
	if (bytes.length < HEADER_BYTES)
		throw new DataError(bytes.length ? 'the file is cut off within its header' : 'it contains no data');
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const number64 = (at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
	if (view.getUint32(0) !== 0x53464c4d)
		throw new DataError('this is not a profile');
	if (view.getUint32(32, true) !== crc32(bytes.subarray(0, 32)))
		throw new DataError('damaged header: its checksum differs');
	if (bytes[4] > 1)
		throw new DataError(`format version ${bytes[4]} is newer than this page, which reads version 1`);
	const headerBytes = view.getUint16(6, true), payloadBytes = number64(8);
	if (bytes.length - headerBytes < payloadBytes)
		throw new DataError(`the file is cut off: ${count(bytes.length - headerBytes)} of ${count(payloadBytes)} data bytes are here`);
	return { payload: bytes.subarray(headerBytes, headerBytes + payloadBytes), checksum: view.getUint32(24, true),
		bodyBytes: number64(16), nodes: view.getUint32(28, true), isPacked: bytes[5] === 1 };
}

function verify({ payload, checksum }) {
	if (crc32(payload) !== checksum)
		throw new DataError('damaged data: its checksum differs');
}

async function unpack(container) {
	if (!container.isPacked) {
		verify(container);
		return container.payload;
	}
	// gzip has its own checksum, which the browser checks faster.
	try {
		const body = new Uint8Array(await unpacked(container.payload).arrayBuffer());
		if (body.length === container.bodyBytes)
			return body;
	} catch (e) {
		// The stream's own message is useless: "Failed to fetch".
	}
	verify(container);
	throw new DataError('damaged data: it cannot be decompressed');
}

class Reader {
	constructor(bytes, at, end) {
		this.bytes = bytes;
		this.at = at;
		this.end = end;
	}

	varint() {
		const byte = this.bytes[this.at++];
		return byte < 0x80 ? byte : this.rest(byte);
	}

	// Multiplies instead of shifting, because shifts have 32 bits in JavaScript.
	rest(byte) {
		let value = byte & 0x7f, factor = 128;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 0x7f) * factor;
			factor *= 128;
		} while (byte >= 0x80);
		return value;
	}

	take(length) {
		const at = this.at;
		this.at += length;
		if (!(this.at <= this.end))
			throw new DataError('damaged data: a section is too short');
		return this.bytes.subarray(at, this.at);
	}

	// A damaged stream reads into the next section, or past the body, where all numbers are NaN.
	finish(what) {
		if (this.at !== this.end)
			throw new DataError(`damaged ${what}`);
	}
}

function readSections(body) {
	const r = new Reader(body, 0, body.length), table = [], sections = new Map();
	for (let left = r.varint(); left > 0 && r.at < body.length; left--)
		table.push([r.varint(), r.varint()]);
	for (const [id, length] of table) {
		const at = r.at;
		r.take(length);
		sections.set(id, (sections.get(id) || []).concat(new Reader(body, at, r.at)));
	}
	r.finish('data: its table of sections');
	return { all: (id) => sections.get(id) || [], one: (id) => (sections.get(id) || [new Reader(body, 0, 0)])[0] };
}

function readNames(r) {
	const ends = new Int32Array(Math.min(r.varint(), r.end - r.at)), { bytes } = r;
	let all = new Uint8Array(1 << 16), at = 0;
	for (let i = 0, last = 0; i < ends.length; i++) {
		const shared = r.varint(), more = r.varint(), length = shared + more, from = r.at;
		if (!(length < 65536 && at + length < NAMES_BYTES && shared <= at - last && from + more <= r.end))
			throw new DataError('damaged names');
		if (at + length > all.length)
			all = widened(all, 2 * all.length);
		// Names are short: a loop is faster than a call.
		for (let k = 0; k < shared; k++)
			all[at + k] = all[last + k];
		for (let k = 0; k < more; k++)
			all[at + shared + k] = bytes[from + k];
		last = at;
		r.at += more;
		ends[i] = at += length;
	}
	r.finish('names');
	return cutNames(all.subarray(0, at), ends);
}

// Each call of the decoder is slow: decodes all names at once and cuts the text, if all characters are single
// bytes.
function cutNames(all, ends) {
	const decoder = new TextDecoder(), text = decoder.decode(all), names = new Array(ends.length), isPlain = text.length === all.length;
	for (let i = 0, start = 0; i < ends.length; start = ends[i++])
		names[i] = isPlain ? text.slice(start, ends[i]) : decoder.decode(all.subarray(start, ends[i]));
	return names;
}

// The source of frames by rank: "HashMap.java:629".
function readLines(r, nrFrames, names) {
	const sources = new Map();
	for (let rank = 0; r.at < r.end;) {
		rank += r.varint();
		const line = r.varint(), file = r.varint();
		if (!(rank < nrFrames && file <= names.length))
			throw new DataError('damaged lines');
		sources.set(rank, file ? `${names[file - 1]}:${line}` : `line ${line}`);
	}
	return sources;
}

// A method is a frame without its tier: its name, its library, and whether it is Java.
function readFrames(r, modules, names) {
	const nr = r.varint();
	if (!(nr <= r.end - r.at))
		throw new DataError('damaged frames');
	const f = { nr, name: new Int32Array(nr), kind: new Uint8Array(nr), module: new Int32Array(nr),
		method: new Int32Array(nr), nrMethods: 0 };
	const methods = new Map(), plain = new Int32Array(names.length * 16);
	for (let i = 0; i < nr; i++)
		f.name[i] = r.varint();
	const kinds = r.take(nr);
	r.finish('frames');
	for (let i = 0; i < nr; i++) {
		const kind = kinds[i] & 15;
		f.kind[i] = kind < KINDS.length ? kind : 2;
		f.module[i] = modules.end ? modules.varint() : 0;
		if (!(f.name[i] < names.length && f.module[i] <= names.length))
			throw new DataError('damaged frames');
		// Few frames have a module, and a lookup in an array is faster.
		const own = f.name[i] * 16 + (isJava(kind) ? 4 : kind), key = f.module[i] && `${own} ${f.module[i]}`;
		let method = key ? methods.get(key) : plain[own];
		if (!method) {
			method = ++f.nrMethods;
			if (key)
				methods.set(key, method);
			else
				plain[own] = method;
		}
		f.method[i] = method - 1;
	}
	modules.finish('frames');
	return f;
}

// The tree as arrays by node. The subtree of a node is [node, end[node]). `total` is that of the first type.
function nodeArrays(nodes, self) {
	return { nr: nodes, parent: new Int32Array(nodes), frame: new Int32Array(nodes), end: new Int32Array(nodes),
		depth: new Uint16Array(nodes), total: self.slice() };
}

function readNodes(nodes, self, nrFrames, sections) {
	const t = nodeArrays(nodes, self);
	const walk = { pop: sections.one(SECTION.POP), callee: sections.one(SECTION.CALLEE), first: sections.one(SECTION.FIRST),
		above: new Int32Array(65537), context: new Int32Array(65537), callees: new CalleeLists(nrFrames), nrFrames };
	t.frame[0] = -1;
	readPaths(t, walk, nodes);
	closeNodes(t, walk.above, walk.depth, 0, nodes);
	t.end[0] = nodes;
	for (const r of [walk.pop, walk.callee, walk.first])
		r.finish('tree');
	return t;
}

// Ends the nodes of the path that are deeper than `to`: the next node is `next`, their totals are complete.
function closeNodes(t, above, from, to, next) {
	for (let d = from; d > to; d--) {
		t.end[above[d]] = next;
		t.total[above[d - 1]] += t.total[above[d]];
	}
}

// The list of callees of each context. The first few, which nearly all lookups find, share one array: an
// array of arrays would cost three cache misses per node.
const NEAR_CALLEES = 8;

class CalleeLists {
	constructor(nrFrames) {
		this.near = new Int32Array((nrFrames + 1) * NEAR_CALLEES).fill(-1);
		this.nr = new Int32Array(nrFrames + 1);
		this.far = new Array(nrFrames + 1);
	}

	add(context, frame) {
		const i = this.nr[context]++;
		if (i < NEAR_CALLEES)
			this.near[context * NEAR_CALLEES + i] = frame;
		else if (i === NEAR_CALLEES)
			this.far[context] = [frame];
		else
			this.far[context].push(frame);
		return frame;
	}

	// `place` counts from 1. Returns undefined if the list is shorter.
	atFar(context, place) {
		const list = this.far[context];
		return list && list[place - 1 - NEAR_CALLEES];
	}
}

// Runs ten million times for a large profile, so it makes calls only in rare cases. `above` is the path to
// the previous node; `context` holds the lists of callees of its frames.
function readPaths(t, walk, nodes) {
	const { parent, frame, depth, end, total } = t, { pop, callee, first, above, context, callees, nrFrames } = walk;
	const { bytes } = pop, { near } = callees;
	let { at: popAt } = pop, { at: calleeAt } = callee, d = 0;
	for (let i = 1; i < nodes; i++) {
		let up = bytes[popAt++];
		if (up > 127)
			[up, popAt] = longVarint(bytes, popAt, up);
		for (let k = d; up > 0 && k > 0; up--, k = --d) {
			const closed = above[k];
			end[closed] = i;
			total[above[k - 1]] += total[closed];
		}
		let place = bytes[calleeAt++], f;
		if (place > 127)
			[place, calleeAt] = longVarint(bytes, calleeAt, place);
		if (place === 0)
			f = callees.add(context[d], first.varint());
		else if (place <= NEAR_CALLEES)
			f = near[context[d] * NEAR_CALLEES + place - 1];
		else
			f = callees.atFar(context[d], place);
		if (!(f >= 0 && f < nrFrames) || up > 0 || d >= 65535)
			throw new DataError('damaged tree');
		parent[i] = above[d];
		frame[i] = f;
		depth[i] = ++d;
		above[d] = i;
		context[d] = f + 1;
	}
	pop.at = popAt;
	callee.at = calleeAt;
	walk.depth = d;
}

function longVarint(bytes, at, byte) {
	const r = new Reader(bytes, at, bytes.length), value = r.rest(byte);
	return [value, r.at];
}

// Weights are exact up to 2^53. Weights below 2^32 take half the memory.
function readSelf(r, nodes) {
	const start = r.at, { bytes } = r, narrow = new Uint32Array(nodes);
	let sum = 0, at = start;
	for (let i = 0; i < nodes; i++) {
		let value = bytes[at++];
		if (value > 127)
			[value, at] = longVarint(bytes, at, value);
		sum += narrow[i] = value;
	}
	r.at = at;
	r.finish('weights');
	if (sum < 2 ** 32)
		return narrow;
	r.at = start;
	return Float64Array.from({ length: nodes }, () => r.varint());
}

function readTiers(r) {
	const tiers = new Map();
	for (let node = 0; r.at < r.end;) {
		node += r.varint();
		tiers.set(node, { 4: r.varint(), 5: r.varint(), 7: r.varint() });
	}
	r.finish('tiers');
	return tiers;
}

// Labels: the label sets, and per value type the entries (node, label set, weight). null if the file has
// none.
function readLabels(sections, selfs, dims) {
	const r = sections.one(SECTION.LABELSETS), text = new TextDecoder();
	if (!r.end)
		return null;
	const list = [];
	for (let left = r.varint(), d = 0; left > 0; left--, d++) {
		const dim = dims && dims[d] || {}, values = [];
		for (let n = r.varint(); n > 0 && r.at <= r.end; n--)
			values.push(text.decode(r.take(r.varint())));
		// "exec-7-0" is a thread called exec-7 whose number is unknown.
		if (dim.name === 'process' || dim.name === 'thread')
			values.forEach((value, v) => values[v] = value.replace(/-0$/, ''));
		const widthNs = dim.name === 'time' && Number(dim.width_ns) > 0 ? Number(dim.width_ns) : 0;
		const slots = widthNs ? values.map(slotsOf) : null;
		list.push({ name: String(dim.name || `label ${d}`), isNumeric: widthNs > 0, widthNs,
			values: slots ? slots.map(([first]) => first) : values, ends: slots && slots.map(([, end]) => end) });
	}
	const nr = r.varint();
	if (!(nr <= r.end - r.at))
		throw new DataError('damaged labels');
	for (const dim of list)
		dim.ofSet = Int32Array.from({ length: nr }, () => r.varint());
	nameJvms(list, nr);
	if (HAS_REQUESTS)
		addTags({ dims: list });
	r.finish('labels');
	return { dims: list, nr, ofType: readEntries(sections.one(SECTION.NODELABELS), sections.one(SECTION.LABELWEIGHTS), selfs, nr) };
}

// A JVM has the name of its service and its main class: "tomcat - Bootstrap - 4711" instead of "java-4711".
function nameJvms(dims, nr) {
	const process = dims.find((dim) => dim.name === 'process'), jvm = dims.find((dim) => dim.name === 'jvm');
	if (!process || !jvm)
		return;
	process.isJvm = new Uint8Array(process.values.length);
	for (let s = 0; s < nr; s++) {
		const p = process.ofSet[s], name = jvm.values[jvm.ofSet[s]];
		if (name && !process.isJvm[p])
			process.values[p] = process.values[p].replace(/^.*?(-\d+)?$/, (_, pid = '') => name + pid.replace('-', ' - '));
		process.isJvm[p] |= name ? 1 : 0;
	}
}

// Slots count from the start: "7", or "7-120" for a weight spread evenly over them; returned as [first, end).
// Numbers above a year of 10 ms, from a damaged file, become slot 0. Samples without a time are in no slot.
function slotsOf(text) {
	const [, first, last = first] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(text) || [], from = Number(first), to = Number(last);
	if (text === '')
		return [-1, 0];
	return from <= to && to < 4e9 ? [from, to + 1] : [0, 1];
}

// An entry takes a byte at least.
function readEntries(sets, parts, selfs, nrSets) {
	const most = sets.end - sets.at, ofType = selfs.map(() => ({ nr: 0, node: new Int32Array(most), set: new Int32Array(most), weight: new Float64Array(most) }));
	for (let i = 0; i < selfs[0].length; i++) {
		for (let type = 0; type < selfs.length; type++) {
			if (!selfs[type][i])
				continue;
			const own = ofType[type];
			let rest = selfs[type][i], s = -1, left = sets.varint();
			if (!(left <= nrSets))
				throw new DataError('damaged labels');
			for (; left > 0; left--) {
				const part = left > 1 ? parts.varint() : rest;
				s += sets.varint() + 1;
				rest -= part;
				own.node[own.nr] = i;
				own.set[own.nr] = s;
				own.weight[own.nr++] = part;
			}
			if (!(rest === 0 && s < nrSets))
				throw new DataError('damaged labels');
		}
	}
	sets.finish('labels');
	parts.finish('labels');
	return ofType.map(({ nr, node, set, weight }) => ({ node: node.slice(0, nr), set: set.slice(0, nr), weight: weight.slice(0, nr) }));
}

async function decode(text) {
	const container = openContainer(armourBytes(text));
	const sections = readSections(await unpack(container));
	const meta = readMeta(sections.one(SECTION.META));
	const names = readNames(sections.one(SECTION.NAMES));
	const frames = readFrames(sections.one(SECTION.FRAMES), sections.one(SECTION.MODULES), names);
	if (container.nodes < 1 || container.nodes - 1 > sections.one(SECTION.POP).end)
		throw new DataError('damaged tree: impossible size');
	const selfs = sections.all(SECTION.SELF).map((r) => readSelf(r, container.nodes));
	if (selfs.length === 0 || selfs.length !== meta.types.length)
		throw new DataError('damaged weights');
	frames.sources = HAS_LINES && readLines(sections.one(SECTION.LINES), frames.nr, names);
	const nodes = readNodes(container.nodes, selfs[0], frames.nr, sections);
	return { meta, names, frames, nodes, selfs, tiers: HAS_JVM ? readTiers(sections.one(SECTION.TIERS)) : new Map(),
		hidden: readHidden(sections.one(SECTION.HIDDEN), frames, selfs.length),
		labels: HAS_LABELS ? readLabels(sections, selfs, meta.dims) : null };
}

// By type: what totals of methods have beyond the nodes, since stacks were shortened.
function readHidden(r, frames, nrTypes) {
	const ofType = Array.from({ length: nrTypes }, () => []);
	while (r.at < r.end) {
		const rank = r.varint(), type = r.varint(), value = r.varint();
		if (!(rank < frames.nr && type < nrTypes && value >= 0))
			throw new DataError('damaged totals of methods');
		ofType[type].push({ method: frames.method[rank], value });
	}
	return ofType;
}

function readMeta(r) {
	let meta;
	try {
		meta = JSON.parse(new TextDecoder().decode(r.take(r.end - r.at)));
	} catch (e) {
		throw new DataError('damaged description');
	}
	if (!meta || !Array.isArray(meta.types))
		throw new DataError('damaged description');
	meta.types = meta.types.map((t) => ({ name: String(t && t.name), unit: String(t && t.unit), role: String(t && t.role) }));
	meta.notes = (Array.isArray(meta.notes) ? meta.notes : []).map((n) => ({
		key: String(n && n.key), text: String(n && n.text), value: Number(n && n.value) || 0 }));
	for (const key of ['title', 'host', 'target'])
		meta[key] = typeof meta[key] === 'string' ? meta[key] : '';
	meta.view = typeof meta.view === 'string' ? `#${meta.view.replace(/^#/, '')}` : '';
	return meta;
}
