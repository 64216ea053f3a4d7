// Most nodes are leaves.
const NO_CHILDREN = { list: [], rest: { weight: 0, nodes: 0, ranges: [] } };

// The stacks from the root to the leaves, with the weights of the chosen type and threads. A node is a
// number; its subtree is [node, end[node]).
class Tree {
	constructor(profile) {
		this.profile = profile;
		this.names = profile.names;
		Object.assign(this, profile.nodes);
		this.root = 0;
		this.isFoldable = true;
		this.expanded = new Set(); // nodes whose chains are drawn frame by frame
		this.select({ type: 0, sets: null, mode: 0, versus: null });
	}

	// `choice`: type (index), sets (the part of each label set that counts, null for all). For a
	// comparison also mode, isNormalised, isAbsolute, and versus: the label sets of "before".
	select(choice) {
		const { type, sets } = choice;
		this.choice = choice;
		this.unit = this.profile.meta.types[type].unit;
		this.methods = null;
		this.diff = HAS_DIFF ? makeDiff(this, choice) : null;
		this.self = HAS_DIFF && this.diff ? this.diff.selfOf(choice.mode) : this.weigh(type, sets);
		// Children are sorted by the totals of the first type.
		this.isSorted = this.self === this.profile.selfs[0];
		this.total = this.isSorted ? this.profile.nodes.total : sumUp(this, this.self);
		if (HAS_DIFF && this.diff && !DIFF_MODES[choice.mode].isColoured)
			this.diff = null;
	}

	// The self weights of a type in the chosen label sets.
	weigh(type, sets) {
		const { selfs, labels } = this.profile, own = labels && labels.ofType[type];
		if (!HAS_LABELS || !sets || !own)
			return selfs[type];
		const isWhole = sets.every((part) => part === 0 || part === 1);
		const self = new (isWhole ? selfs[type].constructor : Float64Array)(this.nr);
		for (let i = 0; i < own.node.length; i++)
			self[own.node[i]] += own.weight[i] * sets[own.set[i]];
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

	// Whether a node is the caller of its parent.
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

	// The child that is drawn in place of its parent, or -1. It has the parent's whole weight and a
	// colour of the same group.
	chainChild(node) {
		const { total, end } = this, weight = total[node];
		if (node === 0 || this.self[node] || !weight)
			return -1;
		let child = node + 1;
		if (!this.isSorted)
			while (child < end[node] && total[child] !== weight)
				child = end[child];
		return child < end[node] && total[child] === weight && sameGroup(this.kindOf(node), this.kindOf(child)) && (!HAS_DIFF || !this.diff || this.diff.isAlike(node, child)) ? child : -1;
	}

	// The children of at least `min`, heaviest first. The others are one item: their weight, the number
	// of nodes in their subtrees, and the ranges of these nodes.
	children(node, min) {
		const { total, end } = this, stop = end[node];
		if (stop === node + 1)
			return NO_CHILDREN;
		const list = [], rest = { weight: 0, nodes: 0, ranges: [] };
		let left = total[node] - this.self[node];
		for (let child = node + 1; child < stop; child = end[child]) {
			if (total[child] >= min && total[child] > 0) {
				list.push(child);
				left -= total[child];
			} else if (this.isSorted) {
				rest.weight = left;
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

	// The weight and the outermost nodes below `top` with a name in `marks` (a byte per name). Nested
	// matches count once.
	match(marks, top) {
		const { total, end, frame } = this, isMarked = this.markedFrames(marks), hits = [];
		let weight = 0;
		for (let i = top || 1; i < end[top];) {
			if (isMarked[frame[i]] && total[i] > 0) {
				weight += total[i];
				hits.push(i);
				i = end[i];
			} else {
				i++;
			}
		}
		return { weight, hits };
	}

	// A byte per frame: whether its name is in `marks`. Nodes are many and frames are few.
	markedFrames(marks) {
		if (this.marks === marks)
			return this.isMarked;
		const { nr, name } = this.profile.frames;
		this.marks = marks;
		this.isMarked = new Uint8Array(nr);
		for (let f = 0; f < nr; f++)
			this.isMarked[f] = marks[name[f]];
		return this.isMarked;
	}

	// The outermost nodes whose frame is wanted. In a comparison this includes nodes of one side only,
	// whichever side gives the widths.
	outermost(isWanted) {
		const { before, after } = HAS_DIFF && this.diff ? this.diff.totals : { before: this.total, after: this.total }, found = [], wanted = new Uint8Array(this.profile.frames.nr);
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

	// Self and total by method, and self by kind of frame. With recursion a stack counts once: `until` is
	// the end of a method's outermost open node.
	hotMethods() {
		if (this.methods)
			return this.methods;
		const { total, self, end, frame, nr } = this, { nr: nrFrames, method, kind, nrMethods } = this.profile.frames;
		const m = { self: new Float64Array(nrMethods), total: new Float64Array(nrMethods), kinds: new Float64Array(KINDS.length), isUsed: new Uint8Array(KINDS.length) };
		const until = new Int32Array(nrMethods), totals = m.total, ofFrame = new Float64Array(nrFrames), isUsed = new Uint8Array(nrFrames);
		for (let i = 1; i < nr; i++) {
			const f = frame[i], k = method[f], weight = total[i];
			if (!weight)
				continue;
			isUsed[f] = 1;
			if (self[i])
				ofFrame[f] += self[i];
			if (i >= until[k]) {
				totals[k] += weight;
				until[k] = end[i];
			}
		}
		for (let f = 0; f < nrFrames; f++) {
			m.self[method[f]] += ofFrame[f];
			m.kinds[kind[f]] += ofFrame[f];
			m.isUsed[kind[f]] |= isUsed[f];
		}
		if (self === this.profile.selfs[this.choice.type]) // all stacks as they were recorded
			for (const hidden of this.profile.hidden[this.choice.type])
				totals[hidden.method] += hidden.value;
		return this.methods = m;
	}

	// A byte per method: whether its frames have several kinds.
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

	// The parts of a node's total by kind; empty unless the method has several tiers. Only known for the
	// whole profile.
	tiersOf(node) {
		const parts = HAS_JVM && this.isSorted && this.profile.tiers.get(node);
		return parts ? tiersIn(this.total[node], parts) : [];
	}

	// Identifies a node in a link: its number. The link also has its name, because numbers differ between
	// profiles.
	linkOf(node) {
		return node ? String(node) : '';
	}

	nodeOf(link) {
		const node = /^\d{0,10}$/.test(link) ? Number(link) : -1;
		return node >= 0 && node < this.nr ? node : -1;
	}

	moduleOf(node) {
		const module = node ? this.profile.frames.module[this.frame[node]] : 0;
		return module ? this.names[module - 1] : '';
	}

	sourceOf(node) {
		return (HAS_LINES && node && this.profile.frames.sources.get(this.frame[node])) || '';
	}
}

const tiersIn = (total, parts) => [[6, total - parts[4] - parts[5] - parts[7]], [7, parts[7]], [5, parts[5]], [4, parts[4]]].filter((p) => p[1] > 0);

// Groups (processes, threads) are never merged with frames.
function sameGroup(a, b) {
	return KINDS[a].group === KINDS[b].group && KINDS[a].group !== 0;
}
