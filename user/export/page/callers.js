// The stacks from the leaves to the root ("bottom-up"), merged by method only as far as someone
// looks: a node keeps the list of the tree's nodes that it stands for, with what each contributes.
// Same interface as Tree.
class Callers {
	constructor(tree) {
		this.tree = tree;
		this.profile = tree.profile;
		this.names = tree.names;
		this.unit = tree.unit;
		this.root = 0;
		this.isUp = true;
		this.slot = new Int32Array(tree.profile.frames.nrMethods);
		this.nodes = [this.rootNode()];
	}

	rootNode() {
		const { self, nr } = this.tree;
		let n = 0;
		for (let i = 0; i < nr; i++)
			n += self[i] > 0;
		const at = new Int32Array(n), weight = new Float64Array(n);
		for (let i = 0, k = 0; i < nr; i++)
			if (self[i] > 0) {
				at[k] = i;
				weight[k++] = self[i];
			}
		return { parent: -1, method: -1, kind: KIND_GROUP, name: -1, module: 0, total: this.tree.total[0], self: 0, at, weight, callers: null };
	}

	isEmpty() {
		return this.tree.isEmpty();
	}

	// Groups the callers of a node by method, heaviest first. Below the root a node's callers are the
	// parents of what it stands for; what has none is its self weight: the stack began there.
	expand(id) {
		const node = this.nodes[id];
		if (node.callers)
			return node.callers;
		const groups = this.group(id === 0 ? node.at : this.above(node.at), node.weight);
		groups.sort((a, b) => b.total - a.total || a.method - b.method);
		node.self = id === 0 ? 0 : groups.reduce((rest, g) => rest - g.total, node.total);
		return node.callers = groups.map((g) => this.addNode(id, g));
	}

	above(at) {
		const { parent } = this.tree, out = new Int32Array(at.length);
		for (let i = 0; i < at.length; i++)
			out[i] = parent[at[i]];
		return out;
	}

	// Counts first, so that each group's lists are made in their size. The scratch arrays by method
	// are clean again afterwards.
	group(at, weight) {
		const { frame } = this.tree, { method } = this.profile.frames, { slot } = this, groups = [];
		for (let i = 0; i < at.length; i++) {
			if (at[i] === 0)
				continue;
			const m = method[frame[at[i]]];
			if (slot[m] === 0) {
				groups.push({ method: m, nr: 0, total: 0, at: null, weight: null });
				slot[m] = groups.length;
			}
			const g = groups[slot[m] - 1];
			g.nr++;
			g.total += weight[i];
		}
		for (const g of groups) {
			g.at = new Int32Array(g.nr);
			g.weight = new Float64Array(g.nr);
			g.nr = 0;
		}
		for (let i = 0; i < at.length; i++) {
			if (at[i] === 0)
				continue;
			const g = groups[slot[method[frame[at[i]]]] - 1];
			g.at[g.nr] = at[i];
			g.weight[g.nr++] = weight[i];
		}
		for (const g of groups)
			slot[g.method] = 0;
		return groups;
	}

	addNode(parent, group) {
		const { frames } = this.profile, frame = this.tree.frame[group.at[0]];
		this.nodes.push({ parent, method: group.method, kind: -1, name: frames.name[frame], module: frames.module[frame],
			total: group.total, self: -1, at: group.at, weight: group.weight, callers: null });
		return this.nodes.length - 1;
	}

	// The frame of most weight gives a merged method its kind.
	mainKind(node) {
		const { kind } = this.profile.frames, { frame } = this.tree, kinds = new Float64Array(KINDS.length);
		for (let i = 0; i < node.at.length; i++)
			kinds[kind[frame[node.at[i]]]] += node.weight[i];
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
		while (n > 0 && this.nodes[all[n - 1]].total < min) {
			rest.weight += this.nodes[all[--n]].total;
			rest.nodes++;
		}
		rest.callers = all.slice(n);
		return { list: all.slice(0, n), rest };
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
				weight += node.weight[i];
		return { weight, hits: node.callers ? this.expand(top).filter((id) => marks[this.nodes[id].name]) : [] };
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
