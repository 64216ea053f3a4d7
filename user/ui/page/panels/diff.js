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
function showDiffControls({ profile, tree, state }) {
	const isDiff = isComparison(profile) || Boolean(tree.choice.versus);
	document.body.classList.toggle('compared', isDiff);
	$('modes').hidden = !isDiff;
	for (const b of document.querySelectorAll('[data-mode]'))
		press(b, Number(b.dataset.mode) === (state.mode > 2 ? state.mode - 2 : state.mode));
}

function listenDiff(app) {
	for (const b of document.querySelectorAll('[data-mode]'))
		b.addEventListener('click', () => app.change({ mode: Number(b.dataset.mode) }, true));
}

// The items of a comparison in the menu of the view.
const diffItems = (app, item) => [item('Compare shares of the whole, not counts', '', app.state.isNormalised, () => app.change({ isNormalised: !app.state.isNormalised })),
	item('Colour by the change of the whole, not of each frame', '', app.state.isAbsolute, () => app.change({ isAbsolute: !app.state.isAbsolute }))];

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
		this.whole = eachSide((side) => this.totals[side][0]);
		this.isNormalised = choice.isNormalised;
		this.scale = choice.isNormalised && this.whole.before && this.whole.after ? this.whole.after / this.whole.before : 1;
		this.hasCounts = choice.hasCounts;
		const { before, after, nrBefore, nrAfter } = this.totals;
		this.weigh = (node) => ({ before: before[node], after: after[node], nrBefore: nrBefore[node], nrAfter: nrAfter[node] });
		this.compareAll(tree.nr - 1, (i) => i + 1);
		this.findMost();
	}

	// The same comparison for a view with its own function for weights of nodes. `all`: the nodes that are compared
	// with each other, if they are not those of the tree.
	of(weigh, all) {
		const known = new Map(), diff = Object.create(this);
		diff.weigh = (node) => {
			if (!known.has(node))
				known.set(node, weigh(node));
			return known.get(node);
		};
		if (all)
			diff.compareAll(all.length, (i) => all[i]);
		return diff;
	}

	// Sets what `limit` returns: from how many standard deviations on one of these nodes has changed. It is
	// computed when it is needed. Nodes without weight are not compared.
	compareAll(nr, nodeAt) {
		let limit;
		this.limit = () => {
			if (limit !== undefined)
				return limit;
			const sigmas = new Float64Array(nr);
			let used = 0;
			for (let i = 0; i < nr; i++) {
				const part = this.weigh(nodeAt(i));
				if (part.before || part.after)
					sigmas[used++] = this.sigmas(part);
			}
			return limit = limitOf(sigmas.subarray(0, used));
		};
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
		return this.methods = this.of((m) => sidesOf(sums, [m], 0, 1), [...sums.before.keys()]);
	}

	// The same for the totals of methods. With recursion a stack counts once.
	ofTotals() {
		if (this.methodTotals)
			return this.methodTotals;
		const { method, nrMethods } = this.tree.profile.frames, { frame, end, nr } = this.tree, until = new Int32Array(nrMethods), outermost = [];
		for (let i = 1; i < nr; i++) {
			const m = method[frame[i]];
			if (i < until[m])
				continue;
			until[m] = end[i];
			outermost.push(i);
		}
		const sums = eachSide((side) => {
			const sum = new Float64Array(nrMethods), total = this.totals[side];
			for (const i of outermost)
				sum[method[frame[i]]] += total[i];
			return sum;
		});
		return this.methodTotals = this.of((m) => sidesOf(sums, [m], 0, 1), [...sums.before.keys()]);
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

	// Without numbers of samples only equal weights count as unchanged.
	sigmas(part) {
		if (!this.hasCounts)
			return changeOf(part.after, this.scale * part.before) === 0 ? 0 : Infinity;
		return sigmasOf(part, this.isNormalised ? this.whole : null);
	}

	isChance(node) {
		return !(this.sigmas(this.weigh(node)) >= this.limit());
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

	// The change that is compared: in points, or in the unit of the weights.
	size(node) {
		const { before, after } = this.weigh(node);
		return this.isNormalised ? this.points(node) : after - before;
	}

	text(size) {
		return this.isNormalised ? pointsText(size) : `${size < 0 ? '\u2212' : '+'}${this.brief(Math.abs(size))}`;
	}

	// Of one side, for a narrow column.
	sideText(weight, whole) {
		return this.isNormalised ? percent(weight, whole) : this.brief(weight);
	}

	brief(weight) {
		return this.unit === 'samples' ? count(weight) : amount(weight, this.unit);
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

// The numbers of a row of the table: the method's own share before and after, its change, and that of the total.
function comparedCells(diff, m) {
	const own = diff.ofMethods(), totals = diff.ofTotals(), { before, after } = own.weigh(m), { whole } = diff;
	return [element('div', 'num', diff.sideText(before, whole.before)), element('div', 'num', diff.sideText(after, whole.after)), changeCell(own, m), changeCell(totals, m)];
}

// The same as lists by method, to sort by.
function comparedWeights(diff, name) {
	const own = diff.ofMethods(), totals = diff.ofTotals(), of = (weight) => Float64Array.from(name, (_, m) => weight(m));
	return { self: of((m) => own.weigh(m).before), total: of((m) => own.weigh(m).after), change: of((m) => Math.abs(own.size(m))), totalChange: of((m) => Math.abs(totals.size(m))) };
}

function changeCell(diff, m) {
	const isSame = diff.isChance(m), cell = element('div', isSame ? 'num faint' : 'num', diff.text(diff.size(m)));
	cell.title = isSame ? diff.hasCounts ? 'within chance' : 'unchanged' : diff.isNew(m) ? 'new' : diff.isGone(m) ? 'gone' : diff.isNormalised ? 'points of the whole' : '';
	return cell;
}

// The columns of the table: of a comparison Before, After and the changes.
function showHeads(isDiff) {
	const text = isDiff ? ['Before', 'After'] : ['Self', 'Total'], title = isDiff ? ['The method itself, before', 'The method itself, after'] : ['', ''];
	['self', 'total'].forEach((sort, i) => Object.assign(document.querySelector(`[data-sort=${sort}]`), { textContent: text[i], title: title[i] }));
	for (const sort of ['change', 'totalChange'])
		document.querySelector(`[data-sort=${sort}]`).parentNode.hidden = !isDiff;
	document.body.classList.toggle('deltas', isDiff);
}

const VERDICT_MOST = 3, VERDICT_LEAST = 0.001; // changes in the sentence, and the least one as a share of the whole
const JVM_WORK = [['C2', /^C2Compiler::compile_method$/], ['C1', /^Compiler::compile_method$/], ['GC', /^(GangWorker|WorkerThread|WorkerTask|ConcurrentGCThread|G1\w*)::(run|work)/]];

// Charges each stack to the innermost frame of the user's own code on it; without such a frame to the compiler or
// collector, or to the owner of the code that ran. Returns the key by node: a method, or less than 0.
function chargeNodes({ tree, profile: { frames, names } }, owners) {
	const charge = new Int32Array(tree.nr).fill(-1), of = new Int32Array(frames.nr), keys = new Int32Array(tree.nr);
	for (let f = 0; f < frames.nr; f++)
		of[f] = owners.isMine(frames.name[f], frames.kind[f]) ? frames.method[f] : -2 - JVM_WORK.findIndex(([, is]) => frames.kind[f] === 3 && is.test(names[frames.name[f]])) - 1;
	for (let i = 1; i < tree.nr; i++) {
		const f = tree.frame[i], own = of[f];
		charge[i] = own !== -2 ? own : charge[tree.parent[i]];
		keys[i] = charge[i] !== -1 ? charge[i] : owners.packages.length ? -10 - owners.ofName(frames.name[f], frames.kind[f]) : frames.method[f];
	}
	return keys;
}

// The changes beyond chance by key, the largest first.
function keyChanges({ tree: { diff, nr } }, keys) {
	const groups = new Map();
	for (let i = 1; i < nr; i++)
		for (const side of SIDES) {
			const weight = diff.selfs[side][i];
			if (weight && !groups.has(keys[i]))
				groups.set(keys[i], eachSide(() => 0));
			if (weight)
				groups.get(keys[i])[side] += weight;
		}
	const sums = diff.of((key) => groups.get(key), [...groups.keys()]);
	return [...groups.keys()].filter((key) => !sums.isChance(key)).map((key) => ({ key, size: sums.size(key), isNew: sums.isNew(key) })).sort((a, b) => Math.abs(b.size) - Math.abs(a.size));
}

// The heaviest method that only the stacks after have below a key, and that is more than chance.
function newCallee({ tree: { diff, nr, parent, frame }, profile: { frames: { method } } }, keys, key) {
	const { totals } = diff, known = new Set(), found = new Map();
	for (let i = 1; i < nr; i++) {
		const m = method[frame[i]], isNew = totals.before[i] === 0;
		if (keys[i] !== key || m === key)
			continue;
		if (!isNew)
			known.add(m);
		else if (totals.after[i] && totals.before[parent[i]]) {
			const sum = found.get(m) || { before: 0, after: 0, nrBefore: 0, nrAfter: 0 };
			found.set(m, { ...sum, after: sum.after + totals.after[i], nrAfter: sum.nrAfter + totals.nrAfter[i] });
		}
	}
	const sums = diff.of((m) => found.get(m), [...found.keys()]), list = [...found.keys()].filter((m) => !known.has(m) && !sums.isChance(m)).sort((a, b) => found.get(b).after - found.get(a).after);
	return list.length ? { method: list[0], size: sums.size(list[0]) } : null;
}

// The sentence above a comparison. Where it has nothing to say, the table below may still show changes.
function verdictOf(app, owners) {
	const { tree: { diff }, table, painter: { texts } } = app, keys = chargeNodes(app, owners), list = keyChanges(app, keys);
	const { isNormalised } = diff, least = VERDICT_LEAST * (isNormalised ? 100 : Math.max(diff.whole.before, diff.whole.after));
	const nameOf = (key) => (key >= 0 ? texts.short(table.name[key]) : key > -10 ? JVM_WORK[-3 - key][0] : OWNERS[-10 - key]);
	const sizeText = (size) => (isNormalised ? signed(size, 1) : diff.text(size)), unit = isNormalised ? ' points' : diff.unit === 'samples' ? ' samples' : '';
	const part = ({ key, size, isNew }, i) => {
		const callee = !isNew && size > 0 && newCallee(app, keys, key), fresh = isNew ? ' (new)' : callee ? ` (new: ${texts.short(table.name[callee.method])} ${sizeText(callee.size)})` : '';
		return `${nameOf(key)} ${sizeText(size)}${i ? '' : unit}${fresh}`;
	};
	const large = list.filter(({ size }) => Math.abs(size) >= least).slice(0, VERDICT_MOST), more = list.length - large.length;
	const whose = owners.packages.length ? 'Own code with the code that it calls: ' : '';
	if (large.length)
		return `${whose}${large.map(part).join(', ')}${more > 0 ? `, and ${plural(more, 'smaller change')}` : ''}`;
	if (list.length)
		return `${whose}${plural(list.length, 'change')} beyond chance, ${list.length > 1 ? 'none' : 'not'} of ${isNormalised ? '0.1 points' : diff.brief(least)}.`;
	const methods = diff.ofMethods(), changed = table.name.reduce((all, name, m) => (name >= 0 && !methods.isChance(m) ? [...all, m] : all), []);
	if (!changed.length)
		return 'Nothing differs by more than chance.';
	const [first] = changed.sort((a, b) => Math.abs(methods.size(b)) - Math.abs(methods.size(a)));
	return `Summed by own code nothing differs by more than chance, but ${plural(changed.length, 'method')}: ${texts.short(table.name[first])} ${sizeText(methods.size(first))}${unit}`;
}

function fillVerdict(app) {
	const { diff } = app.tree;
	$('verdict').hidden = !diff;
	$('verdict').textContent = diff ? verdictOf(app, app.owners()) : '';
}

const SAME_SHARE = 1e-9; // rounding, which must not decide between a part and the rest
const FALSE_PART = 0.05;

// By how many standard deviations a part of the whole differs; `whole` is null for absolute weights. The sides have
// the numbers of samples behind the weights. user/profile/diff.c explains the arithmetic and has the same.
function sigmasOf(part, whole) {
	if (!whole || !whole.before || !whole.after) {
		const change = part.after - part.before, variance = (weight, nr) => (nr ? weight * weight / nr : 0);
		return change === 0 ? 0 : Math.abs(change) / Math.sqrt(variance(part.after, part.nrAfter) + variance(part.before, part.nrBefore));
	}
	const before = part.before / whole.before, after = part.after / whole.after, { nrBefore, nrAfter } = whole;
	const nr = nrBefore + nrAfter, change = Math.abs(after - before);
	const hit = (part.nrBefore + part.nrAfter) / nr, spread = hit * (1 - hit);
	const share = (nrBefore * before + nrAfter * after) / nr;
	if (change <= SAME_SHARE)
		return 0;
	if (!(spread > 0))
		return Infinity;
	const size = share * (1 - share) / spread;
	return change * (1 + SAME_SHARE) / (size * Math.sqrt(spread * (1 / nrBefore + 1 / nrAfter))) * correctForFew(part, whole);
}

function correctForFew({ nrBefore: b, nrAfter: a }, { nrBefore, nrAfter }) {
	const hit = (b + a) / (nrBefore + nrAfter), rest = 1 - hit, deviance = (seen, due) => (seen > 0 ? 2 * seen * Math.log(seen / due) : 0);
	const sigmas = Math.abs(a / nrAfter - b / nrBefore) / Math.sqrt(hit * rest * (1 / nrBefore + 1 / nrAfter));
	const ratio = deviance(b, hit * nrBefore) + deviance(a, hit * nrAfter) + deviance(nrBefore - b, rest * nrBefore) + deviance(nrAfter - a, rest * nrAfter);
	return sigmas > 0 && ratio > 0 ? Math.min(1, Math.sqrt(ratio) / sigmas) : 1;
}

// How often chance deviates by so many standard deviations, or more: a series near 0, else a continued fraction.
function chanceOf(sigmas) {
	const x = sigmas / Math.SQRT2;
	if (x < 2) {
		let term = x, sum = x;
		for (let n = 1; Math.abs(term) > 1e-17 * sum; n++) {
			term *= -x * x / n;
			sum += term / (2 * n + 1);
		}
		return 1 - sum * 2 / Math.sqrt(Math.PI);
	}
	let below = x;
	for (let n = 60; n > 0; n--)
		below = x + n / 2 / below;
	return Math.exp(-x * x) / (below * Math.sqrt(Math.PI));
}

// From how many standard deviations on something has changed where all of these were compared; Infinity if nothing
// has. user/profile/diff.h explains it.
function limitOf(sigmas) {
	const nr = sigmas.length, large = sigmas.filter((s) => chanceOf(s) <= FALSE_PART).sort().reverse();
	let limit = Infinity;
	for (let i = 0; i < large.length; i++)
		if (chanceOf(large[i]) <= FALSE_PART * (i + 1) / nr)
			limit = large[i];
	return limit;
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
