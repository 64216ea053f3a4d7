// A comparison: weights before and after. The stacks come from two value types of a file (sysflame diff) or
// from two time ranges of a recording.
const DIFF_MODES = [
	{ name: 'A|B', long: 'Width: how much changed', isColoured: true },
	{ name: 'A\u1d2e', long: 'Width: before; colour: the change', isColoured: true },
	{ name: '\u1d2cB', long: 'Width: after; colour: the change', isColoured: true },
	{ name: 'A', long: 'Before alone', isColoured: false },
	{ name: 'B', long: 'After alone', isColoured: false },
];

class Diff {
	// `selfs`: { before, after, nrBefore, nrAfter }: the self weights by node of the tree, and the
	// numbers of samples behind them. Unknown numbers are zeros.
	constructor(tree, selfs, choice) {
		this.selfs = selfs;
		this.tree = tree;
		this.unit = tree.unit;
		this.isAbsolute = choice.isAbsolute;
		this.totals = sumUpSides(tree, selfs);
		this.whole = { before: this.totals.before[0], after: this.totals.after[0] };
		this.scale = choice.isNormalised && this.whole.before && this.whole.after ? this.whole.after / this.whole.before : 1;
		this.hasCounts = choice.hasCounts;
		const { before, after, nrBefore, nrAfter } = this.totals;
		this.weigh = (node) => ({ before: before[node], after: after[node], nrBefore: nrBefore[node], nrAfter: nrAfter[node] });
		this.findMost();
	}

	// The same comparison for a view with its own function for weights of nodes.
	of(weigh) {
		const known = new Map(), diff = Object.create(this);
		diff.weigh = (node) => {
			if (!known.has(node))
				known.set(node, weigh(node));
			return known.get(node);
		};
		return diff;
	}

	// The same for self weights by method.
	ofMethods() {
		if (this.methods)
			return this.methods;
		const { method, nrMethods } = this.tree.profile.frames, { frame } = this.tree;
		const sums = eachSide((side) => {
			const sum = new Float64Array(nrMethods), self = this.selfs[side];
			for (let i = 1; i < self.length; i++)
				sum[method[frame[i]]] += self[i];
			return sum;
		});
		return this.methods = this.of((m) => sidesOf(sums, [m], 0, 1));
	}

	// The meaning of widths: the change (each stack by itself, so moves do not cancel out), the weight
	// before, or the weight after.
	selfOf(mode) {
		const { before, after } = this.selfs;
		if (mode === 1 || mode === 3)
			return before;
		if (mode === 2 || mode === 4)
			return after;
		const { scale } = this, changed = new Float64Array(after.length);
		for (let i = 0; i < after.length; i++)
			changed[i] = changeOf(after[i], scale * before[i]);
		return changed;
	}

	// Absolute colours are relative to the largest change of any frame below the root.
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

	// Poisson counts of samples that weigh about the same: a difference below two standard deviations may
	// be chance. user/profile/diff.c has the same rule. Without numbers of samples only equal weights
	// count as unchanged.
	isChance(node) {
		const { before, after, nrBefore, nrAfter } = this.weigh(node), { scale } = this;
		const variance = (weight, nr) => (nr ? weight * weight / nr : 0);
		if (!this.hasCounts)
			return changeOf(after, scale * before) === 0;
		return Math.abs(after - scale * before) < 2 * Math.sqrt(variance(after, nrAfter) + scale * scale * variance(before, nrBefore));
	}

	// The change, -1 to 1, relative to the weight before or to the largest change.
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
			[scale === 1 ? 'Ratio' : 'Ratio of shares', this.hasCounts && this.isChance(node) ? 'within chance' : '', ratio]];
	}
}

// Ignores rounding: equal shares of different wholes may differ by a little.
const changeOf = (after, before) => (Math.abs(after - before) <= 1e-9 * after ? 0 : Math.abs(after - before));

function sumUp({ nr, parent }, self) {
	const total = self.slice();
	for (let i = nr - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

const SIDES = ['before', 'after', 'nrBefore', 'nrAfter'];
const eachSide = (run) => Object.fromEntries(SIDES.map((side) => [side, run(side)]));

// The sums of nodes on each side. `sides` has arrays by node.
function sidesOf(sides, nodes, start, end) {
	return eachSide((side) => {
		const weights = sides[side];
		let sum = 0;
		for (let i = start; i < end; i++)
			sum += weights[nodes[i]];
		return sum;
	});
}

// Samples count themselves: one array serves for both.
function sumUpSides(tree, { before, after, nrBefore, nrAfter }) {
	const b = sumUp(tree, before), a = sumUp(tree, after);
	return { before: b, after: a, nrBefore: nrBefore === before ? b : sumUp(tree, nrBefore), nrAfter: nrAfter === after ? a : sumUp(tree, nrAfter) };
}

const roleOf = (profile, role) => profile.meta.types.findIndex((t) => t.role === role);
const isComparison = (profile) => roleOf(profile, 'after') >= 0 && roleOf(profile, 'before') >= 0;

// Returns null unless there are two sides to compare. Of two time ranges the first is "before".
function makeDiff(tree, choice) {
	const { profile } = tree;
	const { type, sets, versus } = choice, unknown = new Float64Array(tree.nr);
	const make = (of, nr, setsOfAfter) => {
		const before = tree.weigh(of.before, sets), after = tree.weigh(of.after, setsOfAfter);
		const count = (index, own, its, chosen) => (index < 0 ? unknown : index === own ? its : tree.weigh(index, chosen));
		return new Diff(tree, { before, after, nrBefore: count(nr.before, of.before, before, sets), nrAfter: count(nr.after, of.after, after, setsOfAfter) },
			{ ...choice, hasCounts: nr.before >= 0 && nr.after >= 0 });
	};
	if (versus) {
		const nr = countOf(profile, type);
		return make({ before: type, after: type }, { before: nr, after: nr }, versus);
	}
	if (!isComparison(profile))
		return null;
	const of = { before: roleOf(profile, 'before'), after: roleOf(profile, 'after') };
	const nrOf = (role, own) => (roleOf(profile, role) < 0 ? countOf(profile, own) : roleOf(profile, role));
	return make(of, { before: nrOf('nr_before', of.before), after: nrOf('nr_after', of.after) }, sets);
}

// The type with the numbers of samples behind another type's weights, or -1. The rule is that of
// user/profile/count.h.
function countOf({ meta: { types } }, type) {
	const without = ({ name, unit }) => (name.length > unit.length + 1 && name.endsWith(`-${unit}`) ? name.slice(0, -unit.length - 1) : '');
	const of = types[type], base = without(of) || of.name;
	const find = (unit) => types.findIndex((t, i) => i !== type && t.unit === unit && (t.name === base || without(t) === base));
	if (of.unit === 'samples')
		return type;
	return find('samples') >= 0 ? find('samples') : of.unit === 'hits' ? type : find('waits');
}

// A colour between two others, as "#rrggbb".
function mix(from, to, part) {
	const at = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
	return `#${[0, 1, 2].map((i) => Math.round(at(from, i) + (at(to, i) - at(from, i)) * part).toString(16).padStart(2, '0')).join('')}`;
}
