// Search: the names that match, and the share of samples with such a name on the stack.
const SLOWEST_MS = 2000;

// A search finds its text literally and, if `isRegex`, as a regular expression too: one RegExp for each way. If the text
// is no valid expression, `why` is the engine's message.
function compileSearch(text, isRegex, isExact, isWord) {
	text = text.replace(/[\ud800-\udbff]$/, ''); // of a character that the search box cut in two
	const flags = isExact || /[A-Z]/.test(text.replace(/\\./g, '')) ? 'u' : 'iu', found = { literal: literalPattern(text, flags, isWord), pattern: null, why: '' };
	if (!isRegex || !/[\\^$.*+?()[\]{}|]/.test(text))
		return found;
	try {
		found.pattern = expressionOf(text, flags, isWord);
	} catch (e) {
		found.why = e.message.replace(/^Invalid regular expression: (\/.*\/\w*: )?/s, '');
	}
	return found;
}

// As a whole word, a text that begins with a bracket may follow a letter.
function literalPattern(text, flags, isWord) {
	const isLetter = (at) => isWord && /\w/.test(text[at]);
	return new RegExp(`${isLetter(0) ? '(?<!\\w)' : ''}${escapePattern(text)}${isLetter(text.length - 1) ? '(?!\\w)' : ''}`, flags);
}

function expressionOf(text, flags, isWord) {
	const whole = (source) => (isWord ? `(?<!\\w)(?:${source})(?!\\w)` : source);
	// Map$Node: a $ before a letter can never match as an end, so it is taken as a character.
	const source = text.replace(/(\\.)|\$(?=\w)/g, (all, escaped) => escaped || '\\$');
	try {
		return new RegExp(source, flags) && new RegExp(whole(source), flags);
	} catch (e) {
		// The stricter syntax of "u" refuses harmless escapes such as \- or \:
		return new RegExp(source, flags.replace('u', '')) && new RegExp(whole(source), flags.replace('u', ''));
	}
}

function escapePattern(text) {
	return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

// Returns a byte per name: whether one of the patterns matches.
function markNames(names, ...patterns) {
	const marks = new Uint8Array(names.length);
	let nr = 0;
	for (let i = 0; i < names.length; i++)
		if (patterns.some((pattern) => pattern.test(names[i])))
			nr += marks[i] = 1;
	return { marks, nr };
}

const WAYS_MOST = 32;
const STEPS_MOST = 3e8; // a second at worst

// The total length of texts, and the sum of the squares of their lengths.
function sizeOf(lengths) {
	const size = { sum: 0, squares: 0 };
	for (const length of lengths) {
		size.sum += length;
		size.squares += length * length;
	}
	return size;
}

// Whether a pattern is fast on texts of that size: one unbounded quantifier, no repeated group, no lookbehind
// or back reference, and few paths through optional parts and alternatives. Each place of a text is tried,
// and from there a quantifier may reach the end of the text. Other patterns go to a worker, which can be
// stopped.
function isTame(source, { sum, squares }) {
	const rest = source.replace(/\\[^1-9k]/g, 'x').replace(/\[(?:\\.|[^\]])*\]/g, 'x')
		.replace(/\(\?(?:<?[=!]|:|<\w+>)/g, '(').replace(/([*+?}])\?/g, '$1');
	const unbounded = rest.match(/[*+]|\{\d+,\d*\}/g) || [], ways = nrWays(rest);
	return unbounded.length < 2 && ways <= WAYS_MOST && ways * (/[*+{]/.test(rest) ? squares : sum) <= STEPS_MOST && !/\)[*+{]|\\/.test(rest);
}

// The paths of a sequence multiply, those of alternatives add up.
function nrWays(source) {
	const outer = [];
	let sum = 0, row = 1, last = 1;
	for (const c of source) {
		if (c === '(') {
			outer.push([sum, row]);
			[sum, row, last] = [0, 1, 1];
		} else if (c === ')') {
			last = sum + row;
			[sum, row] = outer.pop() || [0, 1];
			row *= last;
		} else if (c === '|') {
			sum += row;
			[row, last] = [1, 1];
		} else if (c === '?') {
			row *= 1 + 1 / last;
		} else {
			last = 1;
		}
	}
	return sum + row;
}

class Search {
	constructor(names) {
		this.setNames(names);
	}

	setNames(names) {
		this.names = names;
		this.size = sizeOf(names.map((name) => name.length));
		this.clear();
	}

	clear() {
		this.text = '';
		this.marks = null;
		this.error = '';
		this.whole = this.inView = null;
		this.index = -1;
	}

	// Returns a promise if a worker searches the names; its result is for `take`. Until then the names with the text
	// itself are marked, or those of the search before.
	set(text, isRegex, isExact, isWord) {
		this.asked = null;
		if (!text) {
			this.clear();
			return null;
		}
		this.text = text;
		const { literal, pattern, why } = compileSearch(text, isRegex, isExact, isWord), isTamed = !pattern || isTame(pattern.source, this.size);
		const found = markNames(this.names, ...[literal, isTamed && pattern].filter(Boolean));
		if (isTamed || found.nr)
			this.take(found.nr ? found : markNames(this.names, { test: (name) => shorten(name).texts.some((form) => literal.test(form)) }));
		this.error = !isTamed ? 'searching \u2026' : why && !this.nrNames ? `searched as text: ${why}` : '';
		return isTamed ? null : this.asked = helpers.marks.run({ names: this.names, patterns: [literal, pattern] }, SLOWEST_MS);
	}

	take({ marks, nr }) {
		this.marks = marks;
		this.nrNames = nr;
		this.error = '';
		this.index = -1;
		this.whole = this.inView = null;
	}

	// The share of the whole is the same in both directions.
	measure(tree, view, zoom) {
		if (!this.marks)
			return;
		if (!this.whole || this.wholeOf !== tree.total) {
			this.whole = tree.match(this.marks, 0);
			this.wholeOf = tree.total;
			this.sorted = null;
			this.index = -1;
		}
		this.inView = zoom === view.root && !view.isSandwich ? this.whole : view.match(this.marks, zoom);
	}

	// The next or previous hit in the tree, heaviest first; -1 if there is none.
	step(tree, by) {
		if (!this.whole || !this.whole.hits.length)
			return -1;
		this.sorted = this.sorted || heaviest(this.whole.hits, tree.total);
		const nr = this.sorted.length;
		this.index = this.index < 0 ? (by > 0 ? 0 : nr - 1) : (this.index + by + nr) % nr;
		return this.sorted[this.index];
	}

	// Whether a fog box contains a hit; hits are sorted ascending.
	isInFog(fog) {
		if (fog.merged)
			return fog.merged.isMarked(fog.groups, this.marks);
		const { hits } = this.whole;
		for (let i = 0; i < fog.ranges.length; i += 2) {
			let low = 0, high = hits.length;
			while (low < high) {
				const middle = low + high >> 1;
				if (hits[middle] < fog.ranges[i])
					low = middle + 1;
				else
					high = middle;
			}
			if (low < hits.length && hits[low] < fog.ranges[i + 1])
				return true;
		}
		return false;
	}
}

// Sorting a million hits with a comparator takes a second, and nobody steps through more than these.
const MOST_STEPS = 1000;

function heaviest(hits, total) {
	if (hits.length > MOST_STEPS) {
		const least = Float64Array.from(hits, (node) => total[node]).sort()[hits.length - MOST_STEPS];
		hits = hits.filter((node) => total[node] >= least).slice(0, 2 * MOST_STEPS);
	}
	return hits.slice().sort((a, b) => total[b] - total[a] || a - b);
}

// What matches, beside the search box: share of the view and of all, number of hits.
function showMatched(app) {
	const { search, view, zoom } = app, out = $('matched'), tree = app.tree;
	$('queryerror').hidden = !search.error;
	$('queryerror').textContent = search.error;
	const isNone = Boolean(search.marks) && search.whole.weight === 0;
	$('searchbox').classList.toggle('none', isNone || Boolean(search.error));
	out.replaceChildren();
	if (!search.marks)
		return;
	if (isNone) {
		out.textContent = `0 of ${amount(tree.total[0], tree.unit)}`;
		return;
	}
	out.textContent = percent(search.inView.weight, view.totalOf(zoom));
	if (zoom !== view.root || view.isSandwich)
		out.append(element('small', '', `${percent(search.whole.weight, tree.total[0])} of all`));
	const hits = count(search.whole.hits.length);
	out.append(element('small', '', search.index >= 0 ? `${search.index + 1}/${hits}` : hits));
	out.title = `${amount(search.inView.weight, view.unit)} of the view, ${amount(search.whole.weight, view.unit)} of all; ${plural(search.nrNames, 'distinct name')} in ${plural(search.whole.hits.length, 'place')}`;
}
