// The stacks from the root to the leaves, with the weights of the chosen type and threads. A node is
// a number; its subtree is [node, end[node]).
class Tree {
	constructor(profile) {
		this.profile = profile;
		this.names = profile.names;
		Object.assign(this, profile.nodes);
		this.root = 0;
		this.expanded = new Set(); // nodes of chains that are drawn one by one
		this.select({ type: 0, sets: null, mode: 0, versus: null });
	}

	// `choice`: type (index), sets (a byte per label set that says whether it counts, null for all),
	// and for a comparison mode, isNormalised, isAbsolute, and versus: the label sets of "before".
	select(choice) {
		const { type, sets } = choice;
		this.choice = choice;
		this.unit = this.profile.meta.types[type].unit;
		this.methods = null;
		this.diff = makeDiff(this, choice);
		this.self = this.diff ? this.diff.selfOf(choice.mode) : this.weigh(type, sets);
		// Children stand in the order of the first type's totals.
		this.isSorted = this.self === this.profile.selfs[0];
		this.total = this.isSorted ? this.profile.nodes.total : sumUp(this, this.self);
		if (this.diff && !DIFF_MODES[choice.mode].isColoured)
			this.diff = null;
	}

	// The self weights of a type, of the label sets that count.
	weigh(type, sets) {
		const { selfs, labels } = this.profile, own = labels && labels.ofType[type];
		if (!sets || !own)
			return selfs[type];
		const self = new selfs[type].constructor(this.nr);
		for (let i = 0; i < own.node.length; i++)
			if (sets[own.set[i]])
				self[own.node[i]] += own.weight[i];
		return self;
	}

	isEmpty() {
		return this.total[0] === 0;
	}

	totalOf(node) {
		return this.total[node];
	}

	selfOf(node) {
		return this.self[node];
	}

	parentOf(node) {
		return node ? this.parent[node] : -1;
	}

	// Whether a node is the caller of what its parent stands for.
	isCaller() {
		return false;
	}

	// Index into names, -1 for the root.
	nameOf(node) {
		return node ? this.profile.frames.name[this.frame[node]] : -1;
	}

	kindOf(node) {
		return node ? this.profile.frames.kind[this.frame[node]] : KIND_GROUP;
	}

	methodOf(node) {
		return node ? this.profile.frames.method[this.frame[node]] : -1;
	}

	// The only child that is drawn in place of its parent: it has all of its weight, and a colour
	// of the same group; -1 if there is none.
	chainChild(node) {
		const { total, end } = this, weight = total[node];
		if (node === 0 || this.self[node] || !weight)
			return -1;
		let child = node + 1;
		if (!this.isSorted)
			while (child < end[node] && total[child] !== weight)
				child = end[child];
		return child < end[node] && total[child] === weight && sameGroup(this.kindOf(node), this.kindOf(child)) && (!this.diff || this.diff.isAlike(node, child)) ? child : -1;
	}

	// The children of at least `min`, heaviest first; those below it as one: their weight, how many
	// nodes they and their subtrees are, and the ranges of nodes that these are.
	children(node, min) {
		const { total, end } = this, list = [], rest = { weight: 0, nodes: 0, ranges: [] };
		const stop = end[node];
		for (let child = node + 1; child < stop; child = end[child]) {
			if (total[child] >= min && total[child] > 0) {
				list.push(child);
			} else if (this.isSorted) {
				rest.weight = total[node] - this.self[node] - list.reduce((sum, c) => sum + total[c], 0);
				rest.nodes = stop - child;
				rest.ranges.push(child, stop);
				break;
			} else if (total[child] > 0) {
				rest.weight += total[child];
				rest.nodes += end[child] - child;
				rest.ranges.push(child, end[child]);
			}
		}
		if (!this.isSorted)
			list.sort((a, b) => total[b] - total[a] || a - b);
		return { list, rest };
	}

	// Weight and methods of everything that `marks` (a byte per name) names below `top`, nested
	// occurrences counted once.
	match(marks, top) {
		const { total, end, frame } = this, name = this.profile.frames.name, hits = [];
		let weight = 0;
		for (let i = top || 1; i < end[top];) {
			if (marks[name[frame[i]]] && total[i] > 0) {
				weight += total[i];
				hits.push(i);
				i = end[i];
			} else {
				i++;
			}
		}
		return { weight, hits };
	}

	// The nodes whose frame is wanted, without those below another one; of a comparison what one side alone
	// has is there, too, whichever of them gives the widths.
	outermost(isWanted) {
		const { before, after } = this.diff ? this.diff.totals : { before: this.total, after: this.total }, found = [], wanted = new Uint8Array(this.profile.frames.nr);
		for (let f = 0; f < wanted.length; f++)
			wanted[f] = isWanted(f);
		for (let i = 1; i < this.nr;) {
			if (wanted[this.frame[i]] && (before[i] || after[i])) {
				found.push(i);
				i = this.end[i];
			} else {
				i++;
			}
		}
		return Int32Array.from(found);
	}

	// Self and total by method, correct under recursion: `until` is where the outermost open
	// occurrence of a method ends. Self by kind of frame.
	hotMethods() {
		if (this.methods)
			return this.methods;
		const { total, self, end, frame, nr } = this, { method, kind, nrMethods } = this.profile.frames;
		const m = { self: new Float64Array(nrMethods), total: new Float64Array(nrMethods), kinds: new Float64Array(KINDS.length) };
		const until = new Int32Array(nrMethods);
		for (let i = 1; i < nr; i++) {
			const k = method[frame[i]];
			if (self[i]) {
				m.self[k] += self[i];
				m.kinds[kind[frame[i]]] += self[i];
			}
			if (i >= until[k]) {
				m.total[k] += total[i];
				until[k] = end[i];
			}
		}
		return this.methods = m;
	}

	// A byte per method: whether its frames are of several kinds.
	tieredMethods() {
		if (this.isTiered)
			return this.isTiered;
		const { nr, nrMethods, method, kind } = this.profile.frames, first = new Int8Array(nrMethods).fill(-1);
		this.isTiered = new Uint8Array(nrMethods);
		for (let f = 0; f < nr; f++) {
			const m = method[f];
			if (first[m] < 0)
				first[m] = kind[f];
			this.isTiered[m] |= first[m] !== kind[f];
		}
		return this.isTiered;
	}

	// The parts of a node's total by kind; a single one unless the method was seen in several tiers.
	// Known for the whole profile only.
	tiersOf(node) {
		const parts = this.isSorted && this.profile.tiers.get(node);
		if (!parts)
			return [];
		const c2 = this.total[node] - parts[4] - parts[5] - parts[7];
		return [[6, c2], [7, parts[7]], [5, parts[5]], [4, parts[4]]].filter((p) => p[1] > 0);
	}

	// Identifies a node in a link: its number and its name, since numbers mean nothing elsewhere.
	linkOf(node) {
		return node ? String(node) : '';
	}

	nodeOf(link) {
		const node = /^\d{0,10}$/.test(link) ? Number(link) : -1;
		return node >= 0 && node < this.nr ? node : -1;
	}

	moduleIndexOf(node) {
		return node ? this.profile.frames.module[this.frame[node]] : 0;
	}

	moduleOf(node) {
		const module = this.moduleIndexOf(node);
		return module ? this.names[module - 1] : '';
	}

	sourceOf(node) {
		return (node && this.profile.frames.sources.get(this.frame[node])) || '';
	}
}

// Groups (processes, threads) are levels of their own.
function sameGroup(a, b) {
	return KINDS[a].group === KINDS[b].group && KINDS[a].group !== 0;
}
