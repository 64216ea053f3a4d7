// Nodes of the tree that are merged by method, only as far as someone looks. A merged node keeps the
// list of the tree's nodes that it stands for. Same interface as Tree.
class Merged {
	constructor(tree) {
		this.tree = tree;
		this.profile = tree.profile;
		this.names = tree.names;
		this.unit = tree.unit;
		this.root = 0;
		this.isUp = true;
		this.slot = new Int32Array(tree.profile.frames.nrMethods);
		this.diff = tree.diff && tree.diff.of((id) => this.compared(id));
	}

	isEmpty() {
		return this.tree.isEmpty();
	}

	// Groups what comes next after a node by method, heaviest first; what nothing comes after is its
	// self weight.
	expand(id) {
		const node = this.nodes[id];
		if (node.next)
			return node.next;
		const groups = this.group(this.follow(id, node));
		groups.sort((a, b) => b.total - a.total || a.method - b.method);
		node.self = this.hasSelf(id) ? groups.reduce((rest, g) => rest - g.total, node.total) : 0;
		return node.next = groups.map((g) => this.addNode(id, g));
	}

	// Counts first, so that each group's lists are made in their size. The scratch array by method
	// is clean again afterwards.
	group({ at, from }) {
		const { frame } = this.tree, { method } = this.profile.frames, { slot } = this, groups = [];
		for (let i = 0; i < at.length; i++) {
			if (at[i] === 0)
				continue;
			const m = method[frame[at[i]]];
			if (slot[m] === 0) {
				groups.push({ method: m, nr: 0, total: 0, at: null, from: null });
				slot[m] = groups.length;
			}
			const g = groups[slot[m] - 1];
			g.nr++;
			g.total += this.weightOf(at[i], from && from[i]);
		}
		for (const g of groups) {
			g.at = new Int32Array(g.nr);
			g.from = from && new Int32Array(g.nr);
			g.nr = 0;
		}
		for (let i = 0; i < at.length; i++) {
			if (at[i] === 0)
				continue;
			const g = groups[slot[method[frame[at[i]]]] - 1];
			if (from)
				g.from[g.nr] = from[i];
			g.at[g.nr++] = at[i];
		}
		for (const g of groups)
			slot[g.method] = 0;
		return groups;
	}

	addNode(parent, group) {
		const { frames } = this.profile, frame = this.tree.frame[group.at[0]];
		this.nodes.push({ parent, method: group.method, kind: -1, name: frames.name[frame], module: frames.module[frame],
			total: group.total, self: -1, at: group.at, from: group.from, next: null });
		return this.nodes.length - 1;
	}

	// The frame of most weight gives a merged method its kind.
	mainKind(node) {
		const { kind } = this.profile.frames, { frame } = this.tree, kinds = new Float64Array(KINDS.length);
		for (let i = 0; i < node.at.length; i++)
			kinds[kind[frame[node.at[i]]]] += this.weightOf(node.at[i], node.from && node.from[i]);
		return kinds.indexOf(Math.max(...kinds));
	}

	totalOf(id) {
		return this.nodes[id].total;
	}

	selfOf(id) {
		this.expand(id);
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
		const node = this.nodes[id];
		if (id === 0)
			return -1;
		const first = this.expand(id)[0];
		return first !== undefined && this.nodes[first].total === node.total && sameGroup(this.kindOf(id), this.kindOf(first)) ? first : -1;
	}

	children(id, min) {
		const all = this.expand(id), rest = { weight: 0, nodes: 0, ranges: [] };
		let n = all.length;
		while (n > 0 && (this.nodes[all[n - 1]].total < min || this.nodes[all[n - 1]].total === 0)) {
			rest.weight += this.nodes[all[--n]].total;
			rest.nodes++;
		}
		rest.merged = all.slice(n);
		return { list: all.slice(0, n), rest };
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
			path.unshift(this.nodes[id].method);
		return path.join('.');
	}

	nodeOf(link) {
		let id = 0;
		if (link === '')
			return 0;
		for (const method of link.split('.').slice(0, 500)) {
			id = this.expand(id).find((c) => String(this.nodes[c].method) === method);
			if (id === undefined)
				return -1;
		}
		return id;
	}
}

// From some nodes of the tree towards the root. What comes through a caller is what was given for the
// node where its stacks begin: `from` says which one.
class Callers extends Merged {
	// `start`: nodes of the tree; `weights`: an array by node that has what they weigh.
	constructor(tree, start, weights, compared, root) {
		super(tree);
		this.weights = weights;
		this.comparedWeights = compared;
		this.nodes = [{ parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, self: 0, at: start, from: start, next: null, ...root }];
		if (this.nodes[0].total === undefined)
			this.nodes[0].total = start.reduce((sum, node) => sum + weights[node], 0);
	}

	weightOf(node, from) {
		return this.weights[from];
	}

	follow(id, { at, from }) {
		if (id === 0 && this.nodes[0].method < 0)
			return { at, from };
		const { parent } = this.tree, above = new Int32Array(at.length);
		for (let i = 0; i < at.length; i++)
			above[i] = parent[at[i]];
		return { at: above, from };
	}

	hasSelf(id) {
		return id !== 0;
	}

	compared(id) {
		const { before, after } = this.comparedWeights, { from } = this.nodes[id];
		let b = 0, a = 0;
		for (let i = 0; i < from.length; i++) {
			b += before[from[i]];
			a += after[from[i]];
		}
		return { before: b, after: a };
	}

	// A stack counts if one of its frames from the node on towards the root is named by `marks`.
	match(marks, top) {
		const { tree } = this, node = this.nodes[top], { name } = this.profile.frames;
		const above = new Uint8Array(tree.nr);
		let weight = 0;
		for (let i = 1; i < tree.nr; i++)
			above[i] = above[tree.parent[i]] | marks[name[tree.frame[i]]];
		for (let i = 0; i < node.at.length; i++)
			if (above[node.at[i]])
				weight += this.weights[node.from[i]];
		return { weight, hits: [] };
	}
}

// The stacks from the leaves to the root.
function bottomUp(tree) {
	const { self, nr } = tree, both = tree.diff && tree.diff.selfs;
	let n = 0;
	const has = (i) => self[i] > 0;
	for (let i = 0; i < nr; i++)
		n += has(i);
	const start = new Int32Array(n);
	for (let i = 0, k = 0; i < nr; i++)
		if (has(i))
			start[k++] = i;
	return new Callers(tree, start, self, both, { total: tree.total[0] });
}

// From some nodes of the tree towards the leaves.
class Callees extends Merged {
	constructor(tree, start, root) {
		super(tree);
		this.isUp = false;
		this.nodes = [{ parent: -1, self: -1, at: start, from: null, next: null, ...root }];
	}

	weightOf(node) {
		return this.tree.total[node];
	}

	follow(id, { at }) {
		const { end } = this.tree, below = [];
		for (let i = 0; i < at.length; i++)
			for (let child = at[i] + 1; child < end[at[i]]; child = end[child])
				below.push(child);
		return { at: Int32Array.from(below), from: null };
	}

	hasSelf() {
		return true;
	}

	compared(id) {
		const { before, after } = this.tree.diff.totals, { at } = this.nodes[id];
		return { before: at.reduce((sum, node) => sum + before[node], 0), after: at.reduce((sum, node) => sum + after[node], 0) };
	}

	match(marks, top) {
		let weight = 0;
		for (const node of this.nodes[top].at)
			weight += this.tree.match(marks, node).weight;
		return { weight, hits: [] };
	}
}
