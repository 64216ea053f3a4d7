// Lists stand one after the other in long arrays: most are short, and making an array takes longer than
// filling it.
const ROOM_LEAST = 1 << 14;

// Nodes of the tree that are merged by method, only as far as someone looks. A merged node keeps the
// list of the tree's nodes that it stands for: `at` from `start` to `end`, and in `from` those whose
// weights they have. Same interface as Tree.
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
		this.isTiered = tree.tieredMethods();
		this.diff = tree.diff && tree.diff.of((id) => this.compared(id));
		this.room = { at: new Int32Array(0), from: new Int32Array(0), used: 0 };
	}

	// What all hangs from: some nodes of the tree.
	plant(start, root) {
		this.nodes = [{ parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, self: -1, at: start, from: start, start: 0, end: start.length, groups: null, ...root }];
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
			const { total } = node.groups = this.group(id, node);
			node.self = 0;
			if (this.hasSelf(id)) {
				node.self = node.total;
				for (let i = 0; i < total.length; i++)
					node.self -= total[i];
			}
		}
		return node.groups;
	}

	// By group a frame of its method, its total, and where its list starts; `next` are the nodes that are
	// made of it. Each of the given ones stands for its parent if `parent` is given. The scratch arrays
	// by method are clean again afterwards.
	groupByMethod({ at, from, start, end }, parent) {
		if (end - start === 1)
			return this.groupOfOne(parent ? parent[at[start]] : at[start], from[start]);
		const { frame } = this.tree, { method } = this.profile.frames, { nr, sum, weights } = this, frames = [], total = [], first = [];
		for (let i = start; i < end; i++) {
			const node = parent ? parent[at[i]] : at[i];
			if (node === 0)
				continue;
			const f = frame[node], m = method[f];
			if (nr[m]++ === 0)
				frames.push(f);
			sum[m] += weights[from[i]];
		}
		if (frames.length > 1)
			frames.sort((a, b) => sum[method[b]] - sum[method[a]] || method[a] - method[b]);
		const to = this.roomFor(end - start);
		let used = to.used;
		for (let i = 0; i < frames.length; i++) {
			const m = method[frames[i]];
			first.push(used);
			total.push(sum[m]);
			used += nr[m];
			nr[m] = first[i];
			sum[m] = 0;
		}
		first.push(used);
		for (let i = start; i < end; i++) {
			const node = parent ? parent[at[i]] : at[i];
			if (node === 0)
				continue;
			const place = nr[method[frame[node]]]++;
			to.at[place] = node;
			to.from[place] = from[i];
		}
		for (let i = 0; i < frames.length; i++)
			nr[method[frames[i]]] = 0;
		to.used = used;
		return { frames, total, first, at: to.at, from: to.from, next: [] };
	}

	groupOfOne(node, from) {
		const to = this.roomFor(1), place = to.used;
		if (node === 0)
			return { frames: [], total: [], first: [], at: to.at, from: to.from, next: [] };
		to.at[place] = node;
		to.from[place] = from;
		to.used++;
		return { frames: [this.tree.frame[node]], total: [this.weights[from]], first: [place, place + 1], at: to.at, from: to.from, next: [] };
	}

	roomFor(nr) {
		const { room } = this, size = Math.max(nr, ROOM_LEAST);
		if (room.at.length - room.used < nr)
			this.room = { at: new Int32Array(size), from: new Int32Array(size), used: 0 };
		return this.room;
	}

	// The i-th heaviest child. Most are too thin to be looked at: nodes are made of those that are.
	child(id, i) {
		const { groups } = this.nodes[id], { next } = groups;
		if (next[i] === undefined)
			next[i] = this.nodes.push(this.makeNode(id, groups, i)) - 1;
		return next[i];
	}

	makeNode(parent, { frames, total, first, at, from }, i) {
		const { method, name, module } = this.profile.frames, frame = frames[i];
		return { parent, method: method[frame], kind: -1, name: name[frame], module: module[frame], self: -1, at, from,
			start: first[i], end: first[i + 1], groups: null, total: total[i] };
	}

	// The frame of most weight gives a merged method its kind.
	mainKind({ at, from, start, end, method }) {
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
		this.plant(start, { self: 0, ...root });
	}

	group(id, node) {
		return this.groupByMethod(node, id === 0 && node.method < 0 ? null : this.tree.parent);
	}

	hasSelf(id) {
		return id !== 0;
	}

	isCaller() {
		return true;
	}

	compared(id) {
		const { from, start, end } = this.nodes[id];
		return sidesOf(this.comparedWeights, from, start, end);
	}

	// A stack counts if one of its frames from the node on towards the root is named by `marks`.
	match(marks, top) {
		const { at, from, start, end } = this.nodes[top], above = markedPaths(this.tree, marks);
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
		this.plant(start, root);
	}

	group(id, { at, start, end: stop }) {
		const { end } = this.tree, below = [];
		for (let i = start; i < stop; i++)
			for (let child = at[i] + 1; child < end[at[i]]; child = end[child])
				below.push(child);
		const nodes = new Int32Array(below);
		return this.groupByMethod({ at: nodes, from: nodes, start: 0, end: nodes.length }, null);
	}

	hasSelf() {
		return true;
	}

	compared(id) {
		const { at, start, end } = this.nodes[id];
		return sidesOf(this.tree.diff.totals, at, start, end);
	}

	match(marks, top) {
		const { at, start, end } = this.nodes[top];
		let weight = 0;
		for (let i = start; i < end; i++)
			weight += this.tree.match(marks, at[i]).weight;
		return { weight, hits: [] };
	}
}
