// A comparison: what weighs how much before and after. The stacks come from two value types of a file
// (sysflame diff) or from two ranges of time of a recording.
const DIFF_MODES = [
	{ name: 'A|B', long: 'Width: how much changed', isColoured: true },
	{ name: 'A\u1d2e', long: 'Width: before; colour: the change', isColoured: true },
	{ name: '\u1d2cB', long: 'Width: after; colour: the change', isColoured: true },
	{ name: 'A', long: 'Before alone', isColoured: false },
	{ name: 'B', long: 'After alone', isColoured: false },
];

class Diff {
	// `selfs`: { before, after }, arrays of self weights by node of the tree.
	constructor(tree, selfs, choice) {
		this.selfs = selfs;
		this.tree = tree;
		this.unit = tree.unit;
		this.isAbsolute = choice.isAbsolute;
		this.totals = { before: sumUp(tree, selfs.before), after: sumUp(tree, selfs.after) };
		this.whole = { before: this.totals.before[0], after: this.totals.after[0] };
		this.scale = choice.isNormalised && this.whole.before && this.whole.after ? this.whole.after / this.whole.before : 1;
		this.weigh = (node) => ({ before: this.totals.before[node], after: this.totals.after[node] });
		this.findMost();
	}

	// The same comparison of a view that weighs its nodes by a function of its own.
	of(weigh) {
		const known = new Map(), diff = Object.create(this);
		diff.weigh = (node) => {
			if (!known.has(node))
				known.set(node, weigh(node));
			return known.get(node);
		};
		return diff;
	}

	// The same of self weights by method.
	ofMethods() {
		if (this.methods)
			return this.methods;
		const { method, nrMethods } = this.tree.profile.frames, { frame } = this.tree, { before, after } = this.selfs;
		const b = new Float64Array(nrMethods), a = new Float64Array(nrMethods);
		for (let i = 1; i < after.length; i++) {
			b[method[frame[i]]] += before[i];
			a[method[frame[i]]] += after[i];
		}
		return this.methods = this.of((m) => ({ before: b[m], after: a[m] }));
	}

	// What widths mean: how much changed (each stack by itself, so that moves do not cancel out), the
	// weights before, or those after.
	selfOf(mode) {
		const { before, after } = this.selfs;
		if (mode === 1 || mode === 3)
			return before;
		if (mode === 2 || mode === 4)
			return after;
		const { scale } = this, changed = new Float64Array(after.length);
		for (let i = 0; i < after.length; i++)
			changed[i] = Math.abs(after[i] - scale * before[i]);
		return changed;
	}

	// The largest change of any frame below the root is what absolute colours are measured by.
	findMost() {
		const { before, after } = this.totals;
		this.most = 1e-9;
		for (let i = 1; i < after.length; i++)
			this.most = Math.max(this.most, Math.abs(after[i] - this.scale * before[i]));
	}

	isNew(node) {
		return this.weigh(node).before === 0;
	}

	isGone(node) {
		return this.weigh(node).after === 0;
	}

	// Frames that are drawn as one must have one colour.
	isAlike(node, child) {
		const x = this.weigh(node), y = this.weigh(child);
		return x.after === y.after && x.before === y.before;
	}

	// Poisson counts: less than two standard deviations may be chance; user/profile/diff.c has the same.
	isChance(node) {
		const { before, after } = this.weigh(node), { scale } = this;
		return Math.abs(after - scale * before) < 2 * Math.sqrt(after + scale * scale * before);
	}

	// How much more, -1 to 1: of what was there before, or of the largest change.
	change(node) {
		const { before, after } = this.weigh(node), from = this.scale * before;
		if (this.isAbsolute)
			return clamp((after - from) / this.most, -1, 1);
		return from ? clamp((after - from) / from, -1, 1) : after ? 1 : 0;
	}

	rows(node) {
		const { scale, unit, whole } = this, { before: b, after: a } = this.weigh(node), points = (a / (whole.after || 1) - b / (whole.before || 1)) * 100;
		const ratio = this.isNew(node) ? 'new' : this.isGone(node) ? 'gone' : `${(a / (scale * b)).toFixed(2)} \u00d7`;
		return [['Before', amount(b, unit), percent(b, whole.before)], ['After', amount(a, unit), percent(a, whole.after)],
			['Change', `${a < b ? '\u2212' : '+'}${amount(Math.abs(a - b), unit)}`, `${points < 0 ? '\u2212' : '+'}${Math.abs(points).toFixed(2)} points`],
			[scale === 1 ? 'Ratio' : 'Ratio of shares', this.isChance(node) ? 'within chance' : '', ratio]];
	}
}

function sumUp({ nr, parent }, self) {
	const total = self.slice();
	for (let i = nr - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

const roleOf = (profile, role) => profile.meta.types.findIndex((t) => t.role === role);
const isComparison = (profile) => roleOf(profile, 'after') >= 0 && roleOf(profile, 'before') >= 0;

// null unless two things are to be compared. Of two ranges of time the first is "before".
function makeDiff(tree, choice) {
	const { profile } = tree;
	if (choice.versus)
		return new Diff(tree, { before: tree.weigh(choice.type, choice.sets), after: tree.weigh(choice.type, choice.versus) }, choice);
	if (!isComparison(profile))
		return null;
	const self = (role) => tree.weigh(roleOf(profile, role), choice.sets);
	return new Diff(tree, { before: self('before'), after: self('after') }, choice);
}

// Colours between two as "#rrggbb".
function mix(from, to, part) {
	const at = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
	return `#${[0, 1, 2].map((i) => Math.round(at(from, i) + (at(to, i) - at(from, i)) * part).toString(16).padStart(2, '0')).join('')}`;
}
