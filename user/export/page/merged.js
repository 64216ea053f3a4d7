// A byte per method: whether its frames are of several kinds.
function tieredMethods({ nr, nrMethods, method, kind }) {
	const first = new Int8Array(nrMethods).fill(-1), isTiered = new Uint8Array(nrMethods);
	for (let f = 0; f < nr; f++) {
		const m = method[f];
		if (first[m] < 0)
			first[m] = kind[f];
		isTiered[m] |= first[m] !== kind[f];
	}
	return isTiered;
}

// Nodes of the tree that are merged by method, only as far as someone looks. A merged node keeps the
// list of the tree's nodes that it stands for. Same interface as Tree.
class Merged {
	// `weights`: an array by node of the tree.
	constructor(tree, weights) {
		this.tree = tree;
		this.profile = tree.profile;
		this.names = tree.names;
		this.unit = tree.unit;
		this.root = 0;
		this.weights = weights;
		this.nr = new Int32Array(tree.profile.frames.nrMethods);
		this.sum = new Float64Array(tree.profile.frames.nrMethods);
		this.isTiered = tieredMethods(tree.profile.frames);
		this.diff = tree.diff && tree.diff.of((id) => this.compared(id));
	}

	isEmpty() {
		return this.tree.isEmpty();
	}

	isCaller() {
		return false;
	}

	// What comes next after a node by method, heaviest first; what nothing comes after is its self weight.
	groupsOf(id) {
		const node = this.nodes[id];
		if (!node.groups) {
			node.groups = this.group(id, node);
			node.self = this.hasSelf(id) ? node.groups.total.reduce((rest, total) => rest - total, node.total) : 0;
		}
		return node.groups;
	}

	group(id, node) {
		return this.groupByMethod(this.follow(id, node));
	}

	// By group a frame of its method, its total, and where its lists start: they stand one after the other
	// in one array, `at` the tree's nodes and `from` those whose weights they have. The scratch arrays by
	// method are clean again afterwards.
	groupByMethod({ at, from, start, end }) {
		const { frame } = this.tree, { method } = this.profile.frames, { nr, sum, weights } = this, frames = [];
		let all = 0;
		for (let i = start; i < end; i++) {
			if (at[i] === 0)
				continue;
			const f = frame[at[i]], m = method[f];
			if (nr[m]++ === 0)
				frames.push(f);
			sum[m] += weights[from[i]];
			all++;
		}
		frames.sort((a, b) => sum[method[b]] - sum[method[a]] || method[a] - method[b]);
		const total = Float64Array.from(frames, (f) => sum[method[f]]), first = new Int32Array(frames.length + 1);
		frames.forEach((f, i) => {
			const m = method[f];
			first[i + 1] = first[i] + nr[m];
			nr[m] = first[i];
		});
		const list = { at: new Int32Array(all), from: new Int32Array(all), isLine: false };
		for (let i = start; i < end; i++) {
			if (at[i] === 0)
				continue;
			const to = nr[method[frame[at[i]]]]++;
			list.at[to] = at[i];
			list.from[to] = from[i];
		}
		for (const f of frames)
			nr[method[f]] = sum[method[f]] = 0;
		return { frames, total, first, list };
	}

	// The i-th heaviest child. Most are too thin to be looked at: nodes are made of those that are.
	child(id, i) {
		const { next, groups } = this.nodes[id];
		if (next[i] === undefined)
			next[i] = this.nodes.push(this.makeNode(id, groups, i)) - 1;
		return next[i];
	}

	makeNode(parent, { frames, total, first, list }, i) {
		const { method, name, module } = this.profile.frames, frame = frames[i];
		return { parent, method: method[frame], kind: -1, name: name[frame], module: module[frame], total: total[i],
			self: -1, list, start: first[i], end: first[i + 1], groups: null, next: [] };
	}

	// The frame of most weight gives a merged method its kind.
	mainKind({ list: { at, from }, start, end, method }) {
		const { kind } = this.profile.frames, { frame } = this.tree;
		if (start === end || !this.isTiered[method])
			return start === end ? 0 : kind[frame[at[start]]];
		const kinds = new Float64Array(KINDS.length);
		for (let i = start; i < end; i++)
			kinds[kind[frame[at[i]]]] += this.weights[from[i]];
		return kinds.indexOf(Math.max(...kinds));
	}

	totalOf(id) {
		return this.nodes[id].total;
	}

	selfOf(id) {
		this.groupsOf(id);
		return this.nodes[id].self;
	}

	parentOf(id) {
		return this.nodes[id].parent;
	}

	nameOf(id) {
		return this.nodes[id].name;
	}

	kindOf(id) {
		const node = this.nodes[id];
		return node.kind < 0 ? node.kind = this.mainKind(node) : node.kind;
	}

	methodOf(id) {
		return this.nodes[id].method;
	}

	moduleIndexOf(id) {
		return this.nodes[id].module;
	}

	moduleOf(id) {
		const { module } = this.nodes[id];
		return module ? this.names[module - 1] : '';
	}

	chainChild(id) {
		if (id === 0 || this.groupsOf(id).total[0] !== this.nodes[id].total)
			return -1;
		const first = this.child(id, 0);
		return sameGroup(this.kindOf(id), this.kindOf(first)) && (!this.diff || this.diff.isAlike(id, first)) ? first : -1;
	}

	// `merged`: the names of those that are too thin.
	children(id, min) {
		const { frames, total } = this.groupsOf(id), { name } = this.profile.frames, list = [], rest = { weight: 0, nodes: 0, ranges: [], merged: [] };
		for (let i = 0; i < frames.length && total[i] > 0; i++) {
			if (total[i] >= min) {
				list.push(this.child(id, i));
				continue;
			}
			rest.weight += total[i];
			rest.nodes++;
			rest.merged.push(name[frames[i]]);
		}
		return { list, rest };
	}

	hotMethods() {
		return this.tree.hotMethods();
	}

	tiersOf() {
		return [];
	}

	// The path of methods, since nodes are numbered in the order in which they were looked at.
	linkOf(id) {
		const path = [];
		for (; id > 0; id = this.nodes[id].parent)
			path.push(this.nodes[id].method);
		return path.reverse().join('.');
	}

	nodeOf(link) {
		let id = 0;
		if (link === '')
			return 0;
		for (const method of link.split('.')) {
			const i = this.groupsOf(id).frames.findIndex((f) => String(this.profile.frames.method[f]) === method);
			if (i < 0)
				return -1;
			id = this.child(id, i);
		}
		return id;
	}
}

// From some nodes of the tree towards the root. What comes through a caller is what was given for the
// node where its stacks begin: `from` says which one.
class Callers extends Merged {
	// `start`: nodes of the tree; `weights`: an array by node that has what they weigh.
	constructor(tree, start, weights, compared, root) {
		super(tree, weights);
		this.comparedWeights = compared;
		this.nodes = [{ parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, self: 0, list: { at: start, from: start, isLine: false }, start: 0, end: start.length, groups: null, next: [], ...root }];
	}

	// The callers of a single node need no grouping: they are found once and stand in one list.
	group(id, node) {
		const { list, start, end, total, method } = node;
		if (end - start !== 1 || method < 0)
			return super.group(id, node);
		const line = list.isLine ? list : this.lineFrom(list.at[start], list.from[start]), next = list.isLine ? start + 1 : 1;
		return next < line.at.length ? { frames: [this.tree.frame[line.at[next]]], total: [total], first: [next, next + 1], list: line }
			: { frames: [], total: [], first: [], list: line };
	}

	lineFrom(node, from) {
		const { parent } = this.tree, at = [];
		for (; node > 0; node = parent[node])
			at.push(node);
		return { at: Int32Array.from(at), from: new Int32Array(at.length).fill(from), isLine: true };
	}

	follow(id, { list: { at, from }, start, end }) {
		if (id === 0 && this.nodes[0].method < 0)
			return { at, from, start, end };
		const { parent } = this.tree, above = new Int32Array(end - start);
		for (let i = start; i < end; i++)
			above[i - start] = parent[at[i]];
		return { at: above, from: from.subarray(start, end), start: 0, end: above.length };
	}

	hasSelf(id) {
		return id !== 0;
	}

	isCaller() {
		return true;
	}

	compared(id) {
		const { list: { from }, start, end } = this.nodes[id];
		return sidesOf(this.comparedWeights, from, start, end);
	}

	// A stack counts if one of its frames from the node on towards the root is named by `marks`.
	match(marks, top) {
		const { list: { at, from }, start, end } = this.nodes[top], above = markedPaths(this.tree, marks);
		let weight = 0;
		for (let i = start; i < end; i++)
			if (above[at[i]])
				weight += this.weights[from[i]];
		return { weight, hits: [] };
	}
}

// A byte per node: whether its frame or one above it is named by `marks`.
function markedPaths({ nr, parent, frame, profile }, marks) {
	const { name } = profile.frames, isMarked = new Uint8Array(nr);
	for (let i = 1; i < nr; i++)
		isMarked[i] = isMarked[parent[i]] | marks[name[frame[i]]];
	return isMarked;
}

// The stacks from the leaves to the root.
// Of a comparison with what one side alone has, too: it is in the sums of what it is merged with.
function bottomUp(tree) {
	const { self, nr } = tree, both = tree.diff && tree.diff.selfs, start = new Int32Array(nr);
	let n = 0;
	for (let i = 0; i < nr; i++)
		if (both ? both.before[i] || both.after[i] : self[i] > 0)
			start[n++] = i;
	return new Callers(tree, start.slice(0, n), self, both, { total: tree.total[0] });
}

// From some nodes of the tree towards the leaves.
class Callees extends Merged {
	constructor(tree, start, root) {
		super(tree, tree.total);
		this.nodes = [{ parent: -1, self: -1, list: { at: start, from: start, isLine: false }, start: 0, end: start.length, groups: null, next: [], ...root }];
	}

	follow(id, { list: { at }, start, end: stop }) {
		const { end } = this.tree, below = [];
		for (let i = start; i < stop; i++)
			for (let child = at[i] + 1; child < end[at[i]]; child = end[child])
				below.push(child);
		const nodes = Int32Array.from(below);
		return { at: nodes, from: nodes, start: 0, end: nodes.length };
	}

	hasSelf() {
		return true;
	}

	compared(id) {
		const { list: { at }, start, end } = this.nodes[id];
		return sidesOf(this.tree.diff.totals, at, start, end);
	}

	match(marks, top) {
		const { list: { at }, start, end } = this.nodes[top];
		let weight = 0;
		for (let i = start; i < end; i++)
			weight += this.tree.match(marks, at[i]).weight;
		return { weight, hits: [] };
	}
}
