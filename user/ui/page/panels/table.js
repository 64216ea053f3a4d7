// The table of hot methods. Only visible rows have elements.
const TABLE_ROW = 28;
const DOUBLE_MS = 400; // between two clicks
const ROWS_FIRST = 200; // rows that are sorted at first

// The list with its first `nr` items in order. Sorting tens of thousands takes longer than painting them.
function sortFirst(list, nr, compare) {
	const first = [];
	if (list.length <= 2 * nr)
		return list.sort(compare);
	for (const item of list) {
		let low = 0, high = first.length;
		if (high === nr && compare(item, first[nr - 1]) > 0)
			continue;
		while (low < high) {
			const middle = low + high >> 1;
			if (compare(first[middle], item) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		first.splice(low, 0, item);
		first.length = Math.min(first.length, nr);
	}
	return first.concat(list.filter((item) => compare(item, first[nr - 1]) > 0));
}

class MethodTable {
	constructor(profile, texts, onPick) {
		this.texts = texts;
		this.onPick = onPick;
		this.dotOf = () => '';
		this.sortBy = 'self';
		this.asked = ''; // the order that the user or a link chose
		this.onSort = () => {};
		this.isReversed = false;
		this.at = -1; // the row that the keyboard selects
		this.setProfile(profile);
		this.height = innerHeight; // until its size is known
		this.scrolled = this.painted = 0;
		$('rows').addEventListener('scroll', () => this.paint($('rows').scrollTop));
		new ResizeObserver(([{ contentRect }]) => {
			this.height = contentRect.height;
			if (this.painted < Math.min(this.order.length, this.lastRow()))
				this.paint();
		}).observe($('rows'));
		$('rows').addEventListener('click', (e) => this.pick(e));
		$('rows').addEventListener('keydown', (e) => this.key(e));
		this.isPicked = () => false;
		for (const head of document.querySelectorAll('.tablehead button'))
			head.addEventListener('click', () => this.sortOn(head.dataset.sort));
		$('heads').addEventListener('keydown', (e) => this.keyOfHead(e));
	}

	setProfile(profile) {
		this.profile = profile;
		this.order = [];
		this.methods = null; // null until they are computed; nothing is painted before
		this.describeMethods();
	}

	// Sets name and kind by method. The kind is that of its frame with the most nodes, which has the
	// lowest rank.
	describeMethods() {
		const { frames } = this.profile;
		this.name = new Int32Array(frames.nrMethods).fill(-1);
		this.kind = new Uint8Array(frames.nrMethods);
		for (let f = 0; f < frames.nr; f++) {
			const m = frames.method[f];
			if (this.name[m] < 0) {
				this.name[m] = frames.name[f];
				this.kind[m] = frames.kind[f];
			}
		}
	}

	sortOn(column) {
		this.isReversed = column === this.sortBy && !this.isReversed;
		this.sortBy = column;
		if (this.methods)
			this.sort();
		this.asked = `${this.isReversed ? '-' : ''}${column}`;
		this.onSort(this.asked);
	}

	// `order`: a column, with a "-" if the order is reversed; "" for the usual one.
	setOrder(order) {
		if (order === this.asked)
			return;
		this.asked = order;
		this.takeOrder();
		if (this.methods)
			this.sort();
	}

	takeOrder() {
		const usual = this.diff ? 'change' : 'self', column = this.asked.replace('-', ''), isKnown = column && (this.diff || !/change/i.test(column));
		this.sortBy = isKnown ? column : usual;
		this.isReversed = Boolean(isKnown) && this.asked[0] === '-';
	}

	// `marks`: a byte per name, or null. `isHidden` returns whether a method is left out; null if none is.
	show(view, marks, isHidden) {
		const methods = view.hotMethods(), isNew = this.methods !== methods;
		this.methods = methods;
		this.whole = view.totalOf(view.root);
		this.marks = marks;
		this.isHidden = isHidden;
		const wasDiff = this.diff;
		this.diff = HAS_DIFF && view.diff;
		if (HAS_DIFF && !wasDiff !== !this.diff) {
			this.takeOrder();
			showHeads(Boolean(this.diff));
		}
		if (isNew)
			this.weigh();
		this.sort();
	}

	// Collects the methods with a weight, and the weights for sorting. A comparison has those of both sides.
	weigh() {
		const all = this.all = [], { self, total } = this.weights = HAS_DIFF && this.diff ? comparedWeights(this.diff, this.name) : this.methods;
		const totals = HAS_DIFF && this.diff && this.diff.ofTotals();
		for (let m = 0; m < self.length; m++)
			if ((self[m] + total[m] > 0 || totals && totals.weigh(m).before + totals.weigh(m).after > 0) && this.kind[m] !== KIND_GROUP)
				all.push(m);
	}

	sort() {
		const { self } = this.methods, shown = [], method = this.order[this.at];
		for (const m of this.all)
			if ((!this.marks || this.marks[this.name[m]]) && !(this.isHidden && this.isHidden(m)))
				shown.push(m);
		this.nrSorted = this.isReversed ? Infinity : ROWS_FIRST;
		this.order = this.isReversed ? shown.sort(this.comparison()).reverse() : sortFirst(shown, ROWS_FIRST, this.comparison());
		this.at = this.order.indexOf(method);
		if (this.at >= this.nrSorted) {
			this.sortRest();
			this.at = this.order.indexOf(method);
		}
		this.most = this.order.reduce((most, m) => Math.max(most, self[m]), 0);
		for (const head of document.querySelectorAll('.tablehead button')) {
			head.parentNode.removeAttribute('aria-sort');
			if (head.dataset.sort === this.sortBy)
				head.parentNode.setAttribute('aria-sort', (this.sortBy === 'name') !== this.isReversed ? 'ascending' : 'descending');
		}
		$('rows').setAttribute('aria-rowcount', this.order.length + 1);
		$('rowspace').style.height = `${this.order.length * TABLE_ROW}px`;
		this.paint();
	}

	// The chosen order. No two methods are equal in it.
	comparison() {
		const { name, profile: { names }, weights: { self, total, change, totalChange } } = this;
		const heaviest = (a, b) => self[b] - self[a] || total[b] - total[a] || a - b;
		return { self: heaviest, total: (a, b) => total[b] - total[a] || heaviest(a, b),
			change: HAS_DIFF && ((a, b) => change[b] - change[a] || heaviest(a, b)),
			totalChange: HAS_DIFF && ((a, b) => totalChange[b] - totalChange[a] || heaviest(a, b)),
			name: (a, b) => (names[name[a]] < names[name[b]] ? -1 : names[name[a]] > names[name[b]] ? 1 : a - b) }[this.sortBy];
	}

	// The rows that were not shown at first.
	sortRest() {
		const rest = this.order.splice(this.nrSorted);
		this.order = this.order.concat(rest.sort(this.comparison()));
		this.nrSorted = Infinity;
	}

	lastRow() {
		return Math.floor(this.scrolled / TABLE_ROW) + Math.ceil(this.height / TABLE_ROW) + 1;
	}

	// Uses sizes known from events, because reading sizes would lay out the page each time.
	paint(scrolled = this.scrolled) {
		this.scrolled = scrolled;
		if (!this.methods)
			return;
		const first = Math.floor(scrolled / TABLE_ROW), last = this.painted = Math.min(this.order.length, this.lastRow());
		const rows = [];
		if (last > this.nrSorted)
			this.sortRest();
		for (let i = first; i < last; i++)
			rows.push(this.row(i));
		if (!this.order.length)
			rows.push(element('p', 'note', this.marks ? 'No method matches.' : 'Nothing to show.'));
		$('rowspace').replaceChildren(...rows);
		if (this.at >= first && this.at < last)
			$('rows').setAttribute('aria-activedescendant', `row${this.at}`);
		else
			$('rows').removeAttribute('aria-activedescendant');
	}

	row(i) {
		const m = this.order[i], { self, total } = this.methods, row = element('div', 'row');
		const cell = element('div', 'cell'), own = element('div', 'num', percent(self[m], this.whole));
		row.style.top = `${i * TABLE_ROW}px`;
		row.id = `row${i}`;
		row.classList.toggle('at', i === this.at);
		row.setAttribute('role', 'row');
		row.setAttribute('aria-rowindex', i + 2);
		row.title = visible(this.profile.names[this.name[m]].slice(0, 1000));
		cell.append(colourDot(this.dotOf(m, this.name[m], this.kind[m])), this.texts.short(this.name[m]));
		own.style.backgroundSize = `${this.most ? Math.round(self[m] / this.most * 60) : 0}px 2px`;
		row.append(cell, ...(HAS_DIFF && this.diff ? comparedCells(this.diff, m) : [own, element('div', 'num', percent(total[m], this.whole))]));
		for (const part of row.children)
			part.setAttribute('role', 'gridcell');
		return row;
	}

	// A click selects a method, a double click shows its callers and callees.
	// The first one makes the rows anew, so the browser sees no double click.
	pick(e) {
		const row = e.target.closest('.row'), last = this.clicked || {};
		if (!row)
			return;
		this.clicked = { id: row.id, time: e.timeStamp };
		this.choose(Number(row.id.slice(3)), last.id === row.id && e.timeStamp - last.time < DOUBLE_MS);
	}

	choose(i, isSandwich) {
		const m = this.order[i];
		this.onPick(this.profile.names[this.name[m]], m, isSandwich);
		this.at = i;
		this.paint();
	}

	// Arrows move from method to method, Enter selects one, Enter again opens the sandwich.
	key(e) {
		const { at } = this, page = Math.max(1, Math.floor(this.height / TABLE_ROW) - 1), last = this.order.length - 1;
		if (e.key === 'ArrowUp' && at <= 0) {
			document.querySelector('.tablehead [aria-sort] button').focus();
			e.preventDefault();
			e.stopPropagation();
			return;
		}
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[e.key], m = this.order[at];
		if (to !== undefined && last >= 0)
			this.goTo(clamp(to, 0, last));
		else if (e.key === 'Enter' && m !== undefined)
			this.choose(at, this.isPicked(m));
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}

	// The heads are above the first row.
	keyOfHead(e) {
		const heads = [...document.querySelectorAll('.tablehead button')], at = heads.indexOf(document.activeElement), to = { ArrowLeft: heads[at - 1], ArrowRight: heads[at + 1], ArrowDown: $('rows') }[e.key];
		if (!to)
			return;
		to.focus();
		e.preventDefault();
		e.stopPropagation();
	}

	goTo(i) {
		const rows = $('rows');
		this.at = i;
		rows.scrollTop = clamp(rows.scrollTop, (i + 1) * TABLE_ROW - this.height, i * TABLE_ROW);
		this.paint(rows.scrollTop);
	}
}

// Outlines every frame of the method that a row of the table picked, also in chains.
Painter.prototype.outlineChosen = function (boxes) {
	const { view, outlined } = this.scene;
	for (const box of outlined >= 0 ? boxes : []) {
		let node = box.last;
		for (let left = box.chain; !box.fog && left > 0 && view.nameOf(node) !== outlined; left--)
			node = view.parentOf(node);
		if (!box.fog && view.nameOf(node) === outlined)
			this.outline(box, this.accent, 2);
	}
};

function showWhose(packages, isMine) {
	$('whose').hidden = !packages.length;
	for (const b of $('whose').children)
		press(b, (b.dataset.mine === '1') === isMine);
	$('whose').lastChild.title = `Only methods of ${packages.join(', ')} (View > Colour > My packages changes them)`;
}

// The methods of all code, or of the user's own.
function fillTable(app, marks) {
	const { tree, state, painter: { palette }, table } = app, { name, kind } = table, owners = HAS_JVM && app.owners(), isMine = HAS_JVM && owners.packages.length > 0 && state.isMine;
	if (HAS_JVM)
		showWhose(owners.packages, isMine);
	table.show(tree, marks, (isMine || state.hidden.length) && ((m) => isMine && !owners.isMine(name[m], kind[m]) || state.hidden.length > 0 && state.hidden.includes(palette.categoryFor(name[m], kind[m]))));
}
