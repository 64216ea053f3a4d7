// Makes a profile from transformed stacks, with nodes in the decoder's order.
function profileOf(stacks) {
	const { profile, where, nr, parent, frame } = stacks;
	const moved = profile.selfs.map((self) => moveWeights(self, where, nr));
	const total = Float64Array.from(moved[0]), isLive = new Uint8Array(nr);
	for (let i = nr - 1; i > 0; i--) {
		for (let type = 0; type < moved.length && !isLive[i]; type++)
			isLive[i] = moved[type][i] > 0;
		isLive[parent[i]] |= isLive[i];
		total[parent[i]] += total[i];
	}
	const order = preOrder(nr, childLists(nr, parent, total, frame, isLive)), place = new Int32Array(nr).fill(-1);
	for (let i = 0; i < order.length; i++)
		place[order[i]] = i;
	const nodes = { nr: order.length, parent: new Int32Array(order.length), frame: new Int32Array(order.length),
		end: new Int32Array(order.length), depth: new Uint16Array(order.length), total: new profile.nodes.total.constructor(order.length) };
	for (let i = 0; i < nodes.nr; i++) {
		const node = order[i];
		nodes.total[i] = total[node];
		nodes.frame[i] = frame[node];
		nodes.end[i] = i + 1;
		if (i > 0) {
			nodes.parent[i] = place[parent[node]];
			nodes.depth[i] = nodes.depth[nodes.parent[i]] + 1;
		}
	}
	for (let i = nodes.nr - 1; i > 0; i--)
		nodes.end[nodes.parent[i]] = Math.max(nodes.end[nodes.parent[i]], nodes.end[i]);
	const selfs = moved.map((self) => inOrder(self, order));
	return { ...profile, names: stacks.frames.names, frames: stacks.frames.result(), nodes, selfs, tiers: new Map(), hidden: selfs.map(() => []),
		labels: HAS_LABELS && profile.labels && moveLabels(profile.labels, where, place) };
}

function inOrder(self, order) {
	const out = new self.constructor(order.length);
	for (let i = 0; i < order.length; i++)
		out[i] = self[order[i]];
	return out;
}

function moveWeights(self, where, nr) {
	const moved = new self.constructor(nr);
	for (let i = 0; i < where.length; i++)
		if (where[i] >= 0)
			moved[where[i]] += self[i];
	return moved;
}

// The children of node i are nodes[start[i]] to nodes[start[i + 1]], heaviest first.
function childLists(nr, parent, total, frame, isLive) {
	const start = new Int32Array(nr + 1), nodes = new Int32Array(nr), fill = new Int32Array(nr);
	for (let i = 1; i < nr; i++)
		start[parent[i] + 1] += isLive[i];
	for (let i = 0; i < nr; i++)
		fill[i] = start[i + 1] += start[i];
	for (let i = nr - 1; i > 0; i--)
		if (isLive[i])
			nodes[--fill[parent[i]]] = i;
	for (let i = 0; i < nr; i++)
		if (start[i + 1] - start[i] > 1)
			sortSiblings(nodes, start[i], start[i + 1], total, frame);
	return { start, nodes };
}

// Nearly all lists are short and almost sorted.
const SHORT_LIST = 12;

function sortSiblings(nodes, from, to, total, frame) {
	const compare = (a, b) => total[b] - total[a] || frame[a] - frame[b];
	if (to - from > SHORT_LIST) {
		nodes.subarray(from, to).sort(compare);
		return;
	}
	for (let i = from + 1; i < to; i++) {
		const node = nodes[i];
		let k = i;
		for (; k > from && compare(nodes[k - 1], node) > 0; k--)
			nodes[k] = nodes[k - 1];
		nodes[k] = node;
	}
}

function preOrder(nr, { start, nodes }) {
	const order = new Int32Array(nr), stack = new Int32Array(nr);
	let n = 0;
	for (let top = 1; top > 0;) {
		const node = stack[--top];
		order[n++] = node;
		for (let k = start[node + 1] - 1; k >= start[node]; k--)
			stack[top++] = nodes[k];
	}
	return order.slice(0, n);
}

function moveLabels(labels, where, place) {
	return { ...labels, ofType: labels.ofType.map((own) => own && moveEntries(own, where, place)) };
}

function moveEntries(entries, where, place) {
	const node = [], set = [], weight = [];
	for (let i = 0; i < entries.node.length; i++) {
		const to = where[entries.node[i]];
		if (to < 0)
			continue;
		node.push(place[to]);
		set.push(entries.set[i]);
		weight.push(entries.weight[i]);
	}
	return { node: Int32Array.from(node), set: Int32Array.from(set), weight: Float64Array.from(weight) };
}
