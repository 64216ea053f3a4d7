// Lists are stored one after another in long arrays: most are short, and creating an array takes longer than
// filling it.
const ROOM_LEAST = 1 << 14;

// The groups of all expanded nodes. Each has a frame of the group's method, its total, the start of its list
// (the next group's start is its end), and the node made from it, or 0.
class Groups {
	constructor() {
		this.nr = 0;
		this.frame = new Int32Array(1024);
		this.total = new Float64Array(1024);
		this.start = new Int32Array(1024);
		this.node = new Int32Array(1024);
	}

	add(frame, total, start) {
		if (this.nr === this.frame.length)
			for (const key of ['frame', 'total', 'start', 'node'])
				this[key] = widened(this[key], 2 * this.nr);
		this.frame[this.nr] = frame;
		this.total[this.nr] = total;
		this.start[this.nr++] = start;
	}
}

// Nodes of the tree merged by method, only as far as they are needed. A merged node keeps the list of the
// tree's nodes that it stands for: `at` from `start` to `end`. `from` holds the nodes that give their
// weights. Same interface as Tree.
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
		this.kinds = new Float64Array(KINDS.length);
		this.isTiered = tree.tieredMethods();
		this.diff = HAS_DIFF && tree.diff && tree.diff.of((id) => this.compared(id));
		this.room = { at: new Int32Array(0), from: new Int32Array(0), used: 0 };
		this.groups = new Groups();
	}

	// Sets the root, which stands for some nodes of the tree.
	plant(start, root) {
		this.nodes = [{ parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, self: -1, at: start, from: start, start: 0, end: start.length, first: -1, last: -1, below: null, ...root }];
	}

	isCaller() {
		return false;
	}

	// Expands a node: its next nodes by method are the groups from `first` to `last`, heaviest first,
	// with their lists in `below`. The weight without a next node is its self weight.
	grouped(id) {
		const node = this.nodes[id];
		if (node.first >= 0)
			return node;
		const { groups } = this, first = groups.nr;
		node.below = this.group(id, node);
		node.first = first;
		node.last = groups.nr;
		groups.add(-1, 0, node.below.used);
		node.self = 0;
		if (this.hasSelf(id)) {
			node.self = node.total;
			for (let g = first; g < node.last; g++)
				node.self -= groups.total[g];
		}
		return node;
	}

	// Adds the groups of a list. Returns the array that holds their lists. If `parent` is given, each
	// node is replaced by its parent.
	groupByMethod(list, parent) {
		const to = this.roomFor(list.end - list.start);
		if (!parent || list.start === list.end || !this.groupAsOne(list, parent, to))
			this.groupAsMany(list, parent, to);
		return to;
	}

	// Most lists have one caller. Trying that takes less time than counting callers.
	groupAsOne({ at, from, start, end, total }, parent, to) {
		const { frame } = this.tree, { method } = this.profile.frames, first = parent[at[start]];
		let used = to.used;
		for (let i = start; i < end; i++, used++) {
			const node = parent[at[i]];
			if (node === 0 || method[frame[node]] !== method[frame[first]])
				return false;
			to.at[used] = node;
			to.from[used] = from[i];
		}
		this.groups.add(frame[first], total, to.used);
		to.used = used;
		return true;
	}

	// Leaves the scratch arrays by method cleared.
	groupAsMany({ at, from, start, end }, parent, to) {
		const { frame } = this.tree, { method } = this.profile.frames, { nr, sum, weights } = this, frames = [];
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
		let { used } = to;
		for (const f of frames) {
			const m = method[f], first = used;
			this.groups.add(f, sum[m], first);
			used += nr[m];
			nr[m] = first;
			sum[m] = 0;
		}
		for (let i = start; i < end; i++) {
			const node = parent ? parent[at[i]] : at[i];
			if (node === 0)
				continue;
			const place = nr[method[frame[node]]]++;
			to.at[place] = node;
			to.from[place] = from[i];
		}
		for (const f of frames)
			nr[method[f]] = 0;
		to.used = used;
	}

	roomFor(nr) {
		const { room } = this, size = Math.max(nr, ROOM_LEAST);
		if (room.at.length - room.used < nr)
			this.room = { at: new Int32Array(size), from: new Int32Array(size), used: 0 };
		return this.room;
	}

	// The node of a group. Most groups are too thin to be visible, so nodes are made on demand.
	child(id, group) {
		const { node } = this.groups;
		if (!node[group])
			node[group] = this.nodes.push(this.makeNode(id, group)) - 1;
		return node[group];
	}

	makeNode(parent, group) {
		const { method, name, module } = this.profile.frames, { groups } = this, { at, from } = this.nodes[parent].below, frame = groups.frame[group];
		return { parent, method: method[frame], kind: -1, name: name[frame], module: module[frame], self: -1, at, from,
			start: groups.start[group], end: groups.start[group + 1], first: -1, last: -1, below: null, total: groups.total[group] };
	}

	// The kind of a merged method is that of the frame with the most weight.
	mainKind({ at, from, start, end, method }) {
		const { kind } = this.profile.frames, { frame } = this.tree, { kinds } = this;
		if (end - start < 2 || !this.isTiered[method])
			return start === end ? 0 : kind[frame[at[start]]];
		kinds.fill(0);
		for (let i = start; i < end; i++)
			kinds[kind[frame[at[i]]]] += this.weights[from[i]];
		return kinds.indexOf(Math.max(...kinds));
	}

	totalOf(id) {
		return this.nodes[id].total;
	}

	selfOf(id) {
		return this.grouped(id).self;
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

	moduleOf(id) {
		const { module } = this.nodes[id];
		return module ? this.names[module - 1] : '';
	}

	// The children of at least `min`. `merged` and `groups` describe the thinner ones.
	children(id, min) {
		const { first, last } = this.grouped(id), { total } = this.groups, list = [], rest = { weight: 0, nodes: 0, merged: this, groups: [0, 0] };
		let g = first;
		for (; g < last && total[g] > 0 && total[g] >= min; g++)
			list.push(this.child(id, g));
		rest.groups[0] = g;
		for (; g < last && total[g] > 0; g++)
			rest.weight += total[g];
		rest.groups[1] = g;
		rest.nodes = g - rest.groups[0];
		return { list, rest };
	}

	// Whether one of the groups from `first` to `last` has a name in `marks`.
	isMarked([first, last], marks) {
		const { name } = this.profile.frames;
		for (let g = first; g < last; g++)
			if (marks[name[this.groups.frame[g]]])
				return true;
		return false;
	}

	tiersOf() {
		return [];
	}

	// A link is the path of methods, because the numbers of nodes depend on the order in which they were
	// made.
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
			const { first, last } = this.grouped(id);
			let g = first;
			while (g < last && String(this.profile.frames.method[this.groups.frame[g]]) !== method)
				g++;
			if (g === last)
				return -1;
			id = this.child(id, g);
		}
		return id;
	}
}

// Callers: from some nodes of the tree towards the root. A caller's weight is that of the nodes where its
// stacks begin; `from` holds these nodes.
class Callers extends Merged {
	// `start`: nodes of the tree. `weights`: their weights, an array by node.
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
		return HAS_DIFF && sidesOf(this.comparedWeights, from, start, end);
	}

	// A stack matches if a frame from the node towards the root is in `marks`.
	match(marks, top) {
		const { at, from, start, end } = this.nodes[top], above = markedPaths(this.tree, marks);
		let weight = 0;
		for (let i = start; i < end; i++)
			if (above[at[i]])
				weight += this.weights[from[i]];
		return { weight, hits: [] };
	}
}

// A byte per node: whether its frame or a caller's frame is in `marks`.
function markedPaths(tree, marks) {
	const { nr, parent, frame } = tree, ofFrame = tree.markedFrames(marks), isMarked = new Uint8Array(nr);
	for (let i = 1; i < nr; i++)
		isMarked[i] = isMarked[parent[i]] | ofFrame[frame[i]];
	return isMarked;
}

// The stacks from the leaves to the root. In a comparison this includes stacks of one side only, because they
// count in the sums of merged nodes.
function bottomUp(tree) {
	const { self, nr } = tree, both = HAS_DIFF && tree.diff && tree.diff.selfs, start = new Int32Array(nr);
	let n = 0;
	for (let i = 0; i < nr; i++)
		if (both ? both.before[i] || both.after[i] : self[i] > 0)
			start[n++] = i;
	return new Callers(tree, start.slice(0, n), self, both, { total: tree.total[0] });
}

// Callees: from some nodes of the tree towards the leaves.
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
		return HAS_DIFF && sidesOf(this.tree.diff.totals, at, start, end);
	}

	match(marks, top) {
		const { at, start, end } = this.nodes[top];
		let weight = 0;
		for (let i = start; i < end; i++)
			weight += this.tree.match(marks, at[i]).weight;
		return { weight, hits: [] };
	}
}

// The nearest ancestor that has weight in the chosen threads, times, ..
function weightyFrom(view, node) {
	while (view.parentOf(node) >= 0 && !view.totalOf(node))
		node = view.parentOf(node);
	return node;
}
