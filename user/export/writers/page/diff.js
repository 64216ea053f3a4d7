// A comparison: weights before and after. The stacks come from two value types of a file (sysflame diff) or
// from two time ranges of a recording.
const DIFF_MODES = [
	{ name: 'Change', long: 'Width: how much changed', isColoured: true },
	{ name: 'Before', long: 'Width: before; colour: the change', isColoured: true },
	{ name: 'After', long: 'Width: after; colour: the change', isColoured: true },
	{ name: 'only before', long: 'Before alone, in the usual colours', isColoured: false },
	{ name: 'only after', long: 'After alone, in the usual colours', isColoured: false },
];

// Buttons and chips of a comparison.
function showDiffControls({ profile, tree, state }, chip) {
	const isDiff = isComparison(profile) || Boolean(tree.choice.versus);
	document.body.classList.toggle('compared', isDiff);
	$('modes').hidden = !isDiff;
	$('norm').hidden = $('abs').hidden = !tree.diff;
	for (const b of document.querySelectorAll('[data-mode]'))
		press(b, Number(b.dataset.mode) === (state.mode > 2 ? state.mode - 2 : state.mode));
	chip('norm', state.isNormalised ? 'shares' : 'counts');
	chip('abs', state.isAbsolute ? 'the whole' : 'each frame');
}

function listenDiff(app, on) {
	for (const b of document.querySelectorAll('[data-mode]'))
		b.addEventListener('click', () => app.change({ mode: Number(b.dataset.mode) }, true));
	on('norm', () => app.change({ isNormalised: !app.state.isNormalised }));
	on('abs', () => app.change({ isAbsolute: !app.state.isAbsolute }));
}

// How frames of a comparison look: coloured by the change, outlined if gone, hatched if new.
function diffColour(painter, diff, node) {
	const change = diff.isChance(node) ? 0 : diff.change(node);
	return mix(painter.same, change < 0 ? painter.less : painter.more, Math.abs(change));
}

function outlineGone({ context: c, less }, x, y, w) {
	c.lineWidth = 1.5;
	c.strokeStyle = less;
	c.strokeRect(x + 1, y + 1, w - 2, ROW - 3);
}

function hatch({ context: c, width, bg }, x, y, w) {
	const from = Math.max(x, 0), to = Math.min(x + w, width);
	c.save();
	c.beginPath();
	c.rect(x, y, w, ROW - 1);
	c.clip();
	c.globalAlpha *= 0.35;
	c.lineWidth = 1.5;
	c.strokeStyle = bg;
	c.beginPath();
	for (let at = from - (from - x) % 8 - ROW; at < to; at += 8) {
		c.moveTo(at, y + ROW);
		c.lineTo(at + ROW, y);
	}
	c.stroke();
	c.restore();
}

// Drawings outline gone frames and hatch new ones, too. Adds the pattern of the hatching to `parts`. Returns a
// function that gives the SVG for the box at `place`, to lie over it.
function diffMarker({ bg, less }, parts) {
	parts.push(`<pattern id="new" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 2 2-2M0 8 8 0M6 10 10 6" stroke="${bg}" stroke-width="1.5" opacity=".35"/></pattern>`);
	return (place, isGone, isNew) => (isGone ? `<rect ${place} fill="${bg}" stroke="${less}" stroke-width="1.5"/>` : isNew ? `<rect ${place} fill="url(#new)"/>` : '');
}

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

	// The change of the share of the whole.
	points(node) {
		const { whole } = this, { before, after } = this.weigh(node);
		return (after / (whole.after || 1) - before / (whole.before || 1)) * 100;
	}

	rows(node) {
		const { scale, unit, whole } = this, { before: b, after: a } = this.weigh(node), points = this.points(node);
		const ratio = this.isNew(node) ? 'new' : this.isGone(node) ? 'gone' : `${(a / (scale * b)).toFixed(2)} \u00d7`;
		return [['Before', amount(b, unit), percent(b, whole.before)], ['After', amount(a, unit), percent(a, whole.after)],
			['Change', `${a < b ? '\u2212' : '+'}${amount(Math.abs(a - b), unit)}`, `${signed(points)} points`],
			[scale === 1 ? 'Ratio' : 'Ratio of shares', this.hasCounts && this.isChance(node) ? 'within chance' : '', ratio]];
	}
}

const signed = (points, digits = 2) => `${points < 0 ? '\u2212' : '+'}${Math.abs(points).toFixed(digits)}`;

const pointsText = (points) => (Math.abs(points) < 0.005 ? '0.00' : signed(points));

// The numbers of a row of the table: the method's own share before and after, and the change in points.
function comparedCells(diff, m) {
	const { before, after } = diff.weigh(m), points = diff.points(m), isSame = diff.isChance(m);
	const cell = element('div', isSame ? 'num faint' : 'num', pointsText(points));
	cell.title = diff.isNew(m) ? 'new' : diff.isGone(m) ? 'gone' : isSame ? diff.hasCounts ? 'within chance' : 'unchanged' : 'points of the whole';
	return [element('div', 'num', percent(before, diff.whole.before)), element('div', 'num', percent(after, diff.whole.after)), cell];
}

// The columns of the table: of a comparison Before, After and Change.
function showHeads(isDiff) {
	const text = isDiff ? ['Before', 'After'] : ['Self', 'Total'], title = isDiff ? ['Own share before', 'Own share after'] : ['', ''];
	['self', 'total'].forEach((sort, i) => Object.assign(document.querySelector(`[data-sort=${sort}]`), { textContent: text[i], title: title[i] }));
	document.querySelector('[data-sort=change]').parentNode.hidden = !isDiff;
	document.body.classList.toggle('deltas', isDiff);
}

const VERDICT_MOST = 3, VERDICT_LEAST = 0.1; // changes in the sentence, and the least one in points
const JVM_WORK = [['C2', /^C2Compiler::compile_method$/], ['C1', /^Compiler::compile_method$/], ['GC', /^(GangWorker|WorkerThread|WorkerTask|ConcurrentGCThread|G1\w*)::(run|work)/]];

// The largest changes, each stack charged to the innermost frame of the user's own code on it; without such a
// frame to the compiler or collector, or to the owner of the code that ran.
function largestChanges({ tree, table, profile: { frames, names }, painter: { texts } }, owners) {
	const { diff } = tree, groups = new Map(), charge = new Int32Array(tree.nr).fill(-1), of = new Int32Array(frames.nr);
	for (let f = 0; f < frames.nr; f++)
		of[f] = owners.isMine(frames.name[f], frames.kind[f]) ? frames.method[f] : -2 - JVM_WORK.findIndex(([, is]) => frames.kind[f] === 3 && is.test(names[frames.name[f]])) - 1;
	for (let i = 1; i < tree.nr; i++) {
		const f = tree.frame[i], own = of[f];
		charge[i] = own !== -2 ? own : charge[tree.parent[i]];
		const key = charge[i] !== -1 ? charge[i] : owners.packages.length ? -10 - owners.ofName(frames.name[f], frames.kind[f]) : frames.method[f];
		for (const side of SIDES) {
			const weight = diff.selfs[side][i];
			if (weight && !groups.has(key))
				groups.set(key, eachSide(() => 0));
			if (weight)
				groups.get(key)[side] += weight;
		}
	}
	const sums = diff.of((key) => groups.get(key)), nameOf = (key) => (key >= 0 ? texts.short(table.name[key]) : key > -10 ? JVM_WORK[-3 - key][0] : OWNERS[-10 - key]);
	return [...groups.keys()].filter((key) => !sums.isChance(key) && Math.abs(sums.points(key)) >= VERDICT_LEAST)
		.map((key) => ({ name: nameOf(key), points: sums.points(key) })).sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
}

function fillVerdict(app) {
	const owners = app.owners(), list = app.tree.diff ? largestChanges(app, owners) : [], more = list.length - VERDICT_MOST;
	$('verdict').hidden = !app.tree.diff;
	$('verdict').textContent = !list.length ? `${owners.packages.length ? 'Summed by own code, nothing' : 'Nothing'} differs by more than chance.`
		: `${list.slice(0, VERDICT_MOST).map(({ name, points }, i) => `${name} ${signed(points, 1)}${i ? '' : ' points'}`).join(', ')}${more > 0 ? `, and ${plural(more, 'smaller change')}` : ''}`;
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
const isComparison = (profile) => HAS_DIFF && roleOf(profile, 'after') >= 0 && roleOf(profile, 'before') >= 0;

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
