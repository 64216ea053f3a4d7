// Requests: the samples of one trace with one value of a label, such as a route. The time from a trace's first sample
// to its last one is a lower bound of its duration (user/export/writers/text_requests.c has the same rules).
const REQUEST_LABELS = ['route', 'http.route', 'endpoint', 'url.path', 'operation', 'service'];

const traceDim = (labels) => labels && labels.dims.find(({ name, values }) => name === 'trace_id' && values.some(Boolean));

// The label that requests are listed by at first: its number.
function requestDim({ dims }) {
	const named = REQUEST_LABELS.map((name) => dims.findIndex((dim) => dim.name === name)).find((d) => d >= 0);
	return named ?? dims.findIndex((dim) => dim.isTag || dim.name === 'process');
}

// The label sets that a sample has, as bytes.
function usedSets({ labels }) {
	const used = new Uint8Array(labels.nr);
	for (const { set, weight } of labels.ofType)
		set.forEach((s, i) => used[s] |= weight[i] > 0 ? 1 : 0);
	return used;
}

// Of the nearest rank: of five, the third is the median.
const rankOf = (sorted, part) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];

// By value of dimension `d`: { value, nr, lasted (slots by trace, a Map), nrTimed, p50, p99 (slots), sums (by type) }.
function requestRows(profile, d) {
	const { labels } = profile, by = labels.dims[d], trace = traceDim(labels), time = labels.dims.find(isTime), used = usedSets(profile), rows = new Map();
	const rowOf = (value) => rows.get(value) || rows.set(value, { value, first: new Map(), last: new Map(), sums: labels.ofType.map(() => 0) }).get(value);
	for (let s = 0; s < labels.nr; s++) {
		const { first, last } = used[s] ? rowOf(by.ofSet[s]) : {}, t = trace.ofSet[s], slot = time && time.ofSet[s];
		if (!used[s] || !trace.values[t])
			continue;
		const isTimed = time && time.values[slot] >= 0;
		first.set(t, Math.min(first.get(t) ?? Infinity, isTimed ? time.values[slot] : Infinity));
		last.set(t, Math.max(last.get(t) ?? -1, isTimed ? time.ends[slot] - 1 : -1));
	}
	labels.ofType.forEach(({ set, weight }, type) => set.forEach((s, i) => weight[i] && (rowOf(by.ofSet[s]).sums[type] += weight[i])));
	return [...rows.values()].map(({ value, first, last, sums }) => {
		const lasted = new Map([...first].filter(([, slot]) => slot < Infinity).map(([t, slot]) => [t, last.get(t) - slot])), sorted = Float64Array.from(lasted.values()).sort();
		return { value, nr: first.size, lasted, nrTimed: sorted.length, p50: rankOf(sorted, 0.5) || 0, p99: rankOf(sorted, 0.99) || 0, sums };
	});
}

// Leaves out the label sets of requests that were faster than the slowest hundredth of theirs, in `parts`.
function keepSlow(labels, [d, value], rows, parts) {
	const trace = traceDim(labels), { lasted, p99 } = rows.find((row) => row.value === value) || {};
	for (let s = 0; s < labels.nr; s++)
		if (!lasted || labels.dims[d].ofSet[s] !== value || !(lasted.get(trace.ofSet[s]) >= Math.max(1, p99)))
			parts[s] = 0;
}

// Of a link, [number of a label, number of its value]: the slow requests, and what is compared with the chosen values.
function checkedRequests({ slow, rival, picked, except }, labels) {
	const isKnown = (pair) => pair && labels && labels.dims[pair[0]] && !labels.dims[pair[0]].isNumeric && pair[1] < labels.dims[pair[0]].values.length;
	return { slow: isKnown(slow) && traceDim(labels) && labels.dims.some(isTime) ? slow : null,
		rival: HAS_DIFF && isKnown(rival) && (picked[rival[0]] || []).length && !except.includes(rival[0]) ? rival : null };
}

// The state whose samples are "after" in a comparison of two times, or of two values of a label.
function otherSide(state) {
	const [d, value] = HAS_REQUESTS && state.rival || [-1];
	return { ...state, time: state.versus || state.time, picked: state.picked.map((values, k) => (k === d ? [value] : values)) };
}
