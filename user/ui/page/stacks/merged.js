// Lists are stored one after another in long arrays: most are short, and creating an array takes longer than
// filling it.
const ROOM_LEAST = 1 << 14;

const FEW_METHODS = 99; // up to here comparing is faster

// Sorts methods by weight; of equal ones the lower number comes first. The browser sorts numbers several times
// as fast without a function that compares them, so a number holds both: the weight, and the method below it.
function heaviestFirst(methods, weights, areWhole) {
	if (areWhole && methods.length > FEW_METHODS) {
		const unit = 2 ** (32 - Math.clz32(weights.length)), keys = sortKeys(methods, weights, unit).sort();
		if (keys[keys.length - 1] <= Number.MAX_SAFE_INTEGER)
			return methodsOf(keys, unit);
	}
	return methods.sort((a, b) => weights[b] - weights[a] || a - b);
}

function sortKeys(methods, weights, unit) {
	const keys = new Float64Array(methods.length);
	for (let i = 0; i < keys.length; i++)
		keys[i] = (weights[methods[i]] + 1) * unit - 1 - methods[i];
	return keys;
}

function methodsOf(keys, unit) {
	const methods = [];
	for (let i = keys.length - 1; i >= 0; i--)
		methods.push((Math.floor(keys[i] / unit) + 1) * unit - 1 - keys[i] | 0);
	return methods;
}

function parentsOf(nodes, parent) {
	const parents = new Int32Array(nodes.length);
	for (let i = 0; i < nodes.length; i++)
		parents[i] = parent[nodes[i]];
	return parents;
}

// Copies the nodes of a list to the places of their methods, which `next` has. Returns the place behind the last
// one. Node 0 is the end of a stack and is left out.
function placeNodes(nodes, from, methodOf, next, to) {
	const { at, from: toFrom } = to;
	let { used } = to;
	for (let i = 0; i < nodes.length; i++) {
		if (nodes[i] === 0)
			continue;
		const place = next[methodOf[i]]++;
		at[place] = nodes[i];
		toFrom[place] = from[i];
		used++;
	}
	return used;
}

function sumOf(numbers, from, to) {
	let sum = 0;
	for (let i = from; i < to; i++)
		sum += numbers[i];
	return sum;
}

// The first place with a number below `least` in numbers that descend.
function firstBelow(numbers, from, to, least) {
	while (from < to) {
		const middle = from + to >> 1;
		if (numbers[middle] < least)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

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
		const { nrMethods } = tree.profile.frames;
		Object.assign(this, { tree, profile: tree.profile, names: tree.names, unit: tree.unit, root: 0, weights });
		this.nr = new Int32Array(nrMethods);
		this.sum = new Float64Array(nrMethods);
		this.frameOf = new Int32Array(nrMethods);
		this.isTiered = tree.tieredMethods();
		this.diff = HAS_DIFF && tree.diff && tree.diff.of((id) => this.compared(id));
		this.room = { at: new Int32Array(0), from: new Int32Array(0), used: 0 };
		this.groups = new Groups();
	}

	// Sets the root, which stands for some nodes of the tree.
	plant(start, root) {
		this.nodes = [{ parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, self: -1, at: start, from: start, start: 0, end: start.length, first: -1, last: -1, inGroups: 0, below: null, ...root }];
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
		node.inGroups = sumOf(groups.total, first, node.last);
		node.self = this.hasSelf(id) ? node.total - node.inGroups : 0;
		return node;
	}

	// Adds the groups of a list. Returns the array that holds their lists. If `parent` is given, each
	// node is replaced by its parent.
	groupByMethod({ at, from, start, end, total }, parent) {
		const to = this.roomFor(end - start), below = at.subarray(start, end), nodes = parent ? parentsOf(below, parent) : below, begins = from.subarray(start, end);
		if (!parent || start === end || !this.groupAsOne(nodes, begins, total, to))
			this.groupAsMany(nodes, begins, to);
		return to;
	}

	// Most lists have one caller. Trying that takes less time than counting callers.
	groupAsOne(nodes, from, total, to) {
		const { frame } = this.tree, { method } = this.profile.frames, first = frame[nodes[0]];
		for (const node of nodes)
			if (node === 0 || method[frame[node]] !== method[first])
				return false;
		this.groups.add(first, total, to.used);
		to.at.set(nodes, to.used);
		to.from.set(from, to.used);
		to.used += nodes.length;
		return true;
	}

	// Each loop has a function, because the browser compiles only the part of a function that has run, and
	// compiles it again when another part runs. `nr` and `sum`, the scratch arrays by method, are left cleared.
	groupAsMany(nodes, from, to) {
		const { nr, sum, weights } = this, methodOf = new Int32Array(nodes.length);
		const methods = heaviestFirst(this.weighMethods(nodes, from, methodOf), sum, weights instanceof Uint32Array);
		this.addGroups(methods, to.used);
		to.used = placeNodes(nodes, from, methodOf, nr, to);
		methods.forEach((m) => nr[m] = 0);
	}

	// Counts and weighs the methods of the nodes. Nodes of a list are far apart in memory, so each is looked up
	// once: `methodOf` receives its method.
	weighMethods(nodes, from, methodOf) {
		const { frame } = this.tree, { method } = this.profile.frames, { nr, sum, frameOf, weights } = this, found = [];
		for (let i = 0; i < nodes.length; i++) {
			if (nodes[i] === 0)
				continue;
			const f = frame[nodes[i]], m = methodOf[i] = method[f];
			sum[m] += weights[from[i]];
			if (nr[m]++ === 0) {
				found.push(m);
				frameOf[m] = f;
			}
		}
		return found;
	}

	// From here on `nr` has the place of a method's next node.
	addGroups(methods, used) {
		const { nr, sum, frameOf, groups } = this;
		for (const m of methods) {
			const first = used;
			groups.add(frameOf[m], sum[m], first);
			used += nr[m];
			nr[m] = first;
			sum[m] = 0;
		}
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
			start: groups.start[group], end: groups.start[group + 1], first: -1, last: -1, inGroups: 0, below: null, total: groups.total[group] };
	}

	// The kind of a merged method is that of the frame with the most weight.
	mainKind({ at, from, start, end, method }) {
		if (end - start < 2 || !this.isTiered[method])
			return start === end ? 0 : this.profile.frames.kind[this.tree.frame[at[start]]];
		const kinds = this.weighKinds(at, from, start, end);
		return kinds.indexOf(Math.max(...kinds));
	}

	weighKinds(at, from, start, end) {
		const { kind } = this.profile.frames, { frame } = this.tree, { weights } = this, kinds = new Float64Array(KINDS.length);
		for (let i = start; i < end; i++)
			kinds[kind[frame[at[i]]]] += weights[from[i]];
		return kinds;
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
		const { first, last, inGroups } = this.grouped(id), { total } = this.groups, list = [];
		const none = firstBelow(total, first, last, Number.MIN_VALUE), thin = firstBelow(total, first, none, min);
		let weight = inGroups;
		for (let g = first; g < thin; g++) {
			list.push(this.child(id, g));
			weight -= total[g];
		}
		return { list, rest: { weight, nodes: none - thin, merged: this, groups: [thin, none] } };
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
