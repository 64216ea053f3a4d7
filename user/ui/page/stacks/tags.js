// Labels of requests and of other tools. A file has those of a sample as one text, "route=/cart, size:7 bytes"; here
// each name becomes a dimension like those of the file (user/export/interchange/tags.h, named_label.h).
const TAGS_MOST = 32; // names
const SPLIT_TAGS = 8, SPLIT_LETTERS = 60; // names in the menu of levels; their length in addresses

// Labels that the page treats in a way of their own. Other labels of these names, and of those that the file has, get a
// prefix. A node's `version` has none unless processes have published theirs.
const OWN_LABELS = ['process', 'thread', 'state', 'leaf', 'stack', 'jvm', 'trace_id', 'span_id', 'tags', 'time', SPLIT_TIER];

const unescaped = (text) => text.replace(/%([2-7][0-9A-F])/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));

// The [name, value] pairs of a text.
function tagsOf(text) {
	return text.split(', ').flatMap((tag) => {
		const sign = tag.search(/[=:]/), value = tag.slice(sign + 1);
		return sign > 0 ? [[unescaped(tag.slice(0, sign)), tag[sign] === ':' ? value.replace(/ .*/, '') : unescaped(value)]] : [];
	});
}

// Of several values of one name, the first one counts.
function addTags({ dims }) {
	const tags = dims.find((dim) => dim.name === 'tags'), byName = new Map();
	if (!tags)
		return;
	tags.values.forEach((text, v) => {
		for (const [name, value] of tagsOf(text)) {
			if (!byName.has(name) && byName.size < TAGS_MOST)
				byName.set(name, { places: new Map(), ofText: new Int32Array(tags.values.length).fill(-1) });
			const { places, ofText } = byName.get(name) || {};
			if (!places || ofText[v] >= 0)
				continue;
			if (!places.has(value))
				places.set(value, places.size);
			ofText[v] = places.get(value);
		}
	});
	const own = new Set([...dims.map((dim) => dim.name), ...OWN_LABELS]);
	for (const [name, { places, ofText }] of byName) {
		const values = [...places.keys()], ofSet = tags.ofSet.map((v) => ofText[v]);
		if (ofSet.includes(-1))
			values.push('');
		dims.push({ name: own.has(name) ? `label:${name}` : name, isTag: true, isNumeric: false, widthNs: 0, values, ends: null, ofSet: ofSet.map((v) => (v < 0 ? values.length - 1 : v)) });
	}
}

// Without the labels of requests that are too many for the menu of levels, or whose names are too long for an address.
function withFewTags(dims, chosen) {
	const tags = dims.filter(({ name, isTag }) => isTag && name.length <= SPLIT_LETTERS).filter((dim, i) => i < SPLIT_TAGS || dim.name === chosen);
	return dims.filter((dim) => !dim.isTag || tags.includes(dim));
}
