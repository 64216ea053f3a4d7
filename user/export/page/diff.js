// A comparison: what each node of a tree weighs before and after. Weights before are scaled so that both
// profiles weigh the same. Bottom-up there are no such numbers, and frames have the colours of kinds.
class Diff {
	constructor(nodes, after, before, unit) {
		this.after = sumUp(nodes, after);
		this.before = sumUp(nodes, before);
		this.unit = unit;
		this.scale = this.after[0] && this.before[0] ? this.after[0] / this.before[0] : 1;
	}

	isNew(node) {
		return this.before[node] === 0;
	}

	isGone(node) {
		return this.after[node] === 0;
	}

	// Frames that are drawn as one must have one colour.
	isAlike(node, child) {
		return this.after[node] === this.after[child] && this.before[node] === this.before[child];
	}

	// Poisson counts: less than two standard deviations may be chance; user/profile/diff.c has the same.
	isChance(node) {
		const a = this.after[node], b = this.before[node], { scale } = this;
		return Math.abs(a - scale * b) < 2 * Math.sqrt(a + scale * scale * b);
	}

	// The relative change of the scaled weight, -1 to 1.
	change(node) {
		const before = this.scale * this.before[node];
		return before ? clamp((this.after[node] - before) / before, -1, 1) : 1;
	}

	rows(node) {
		const { before, after, scale, unit } = this, b = before[node], a = after[node], points = (a / (after[0] || 1) - b / (before[0] || 1)) * 100;
		const ratio = this.isNew(node) ? 'new' : this.isGone(node) ? 'gone' : `${(a / (scale * b)).toFixed(2)} \u00d7`;
		return [['Before', amount(b, unit), percent(b, before[0])], ['After', amount(a, unit), percent(a, after[0])],
			['Change', `${a < b ? '\u2212' : '+'}${amount(Math.abs(a - b), unit)}`, `${points < 0 ? '\u2212' : '+'}${Math.abs(points).toFixed(2)} points`],
			['Ratio of shares', this.isChance(node) ? 'within chance' : '', ratio]];
	}
}

function sumUp({ nr, parent }, self) {
	const total = self.slice();
	for (let i = nr - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

// null unless the profile has a type of each role; labels are known for one of them only.
function diffOf(profile, sets) {
	const { types } = profile.meta, after = types.findIndex((t) => t.role === 'after'), before = types.findIndex((t) => t.role === 'before');
	return after < 0 || before < 0 || sets ? null : new Diff(profile.nodes, profile.selfs[after], profile.selfs[before], types[after].unit);
}

// Colours between two as "#rrggbb".
function mix(from, to, part) {
	const at = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
	return `#${[0, 1, 2].map((i) => Math.round(at(from, i) + (at(to, i) - at(from, i)) * part).toString(16).padStart(2, '0')).join('')}`;
}
