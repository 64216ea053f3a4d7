// The table of hot methods. Only visible rows have elements.
const TABLE_ROW = 28;

class MethodTable {
	constructor(profile, texts, onPick) {
		this.texts = texts;
		this.onPick = onPick;
		this.dotOf = () => '';
		this.sortBy = 'self';
		this.isReversed = false;
		this.at = -1; // the row that the keyboard selects
		this.setProfile(profile);
		this.height = this.scrolled = 0;
		$('rows').addEventListener('scroll', () => this.paint($('rows').scrollTop));
		new ResizeObserver(([{ contentRect }]) => {
			this.height = contentRect.height;
			this.paint();
		}).observe($('rows'));
		$('rows').addEventListener('click', (e) => this.pick(e));
		$('rows').addEventListener('keydown', (e) => this.key(e));
		for (const head of document.querySelectorAll('.tablehead button'))
			head.addEventListener('click', () => this.sortOn(head.dataset.sort));
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
	}

	// `marks`: a byte per name, or null. `isHidden` returns whether a method is faded.
	show(view, marks, isHidden) {
		const methods = view.hotMethods();
		if (this.methods !== methods)
			this.sorted = {};
		this.methods = methods;
		this.whole = view.totalOf(view.root);
		this.marks = marks;
		this.isHidden = isHidden;
		this.sort();
	}

	sort() {
		const { self } = this.methods, shown = [];
		for (const m of this.sorted[this.sortBy] || (this.sorted[this.sortBy] = this.sortAll()))
			if (!this.isHidden(m) && (!this.marks || this.marks[this.name[m]]))
				shown.push(m);
		const method = this.order[this.at];
		this.order = this.isReversed ? shown.reverse() : shown;
		this.at = method === undefined ? -1 : this.order.indexOf(method);
		this.most = this.order.reduce((most, m) => Math.max(most, self[m]), 0);
		for (const head of document.querySelectorAll('.tablehead button')) {
			head.removeAttribute('aria-sort');
			if (head.dataset.sort === this.sortBy)
				head.setAttribute('aria-sort', (this.sortBy === 'name') !== this.isReversed ? 'ascending' : 'descending');
		}
		$('rowspace').style.height = `${this.order.length * TABLE_ROW}px`;
		this.paint();
	}

	// All methods in the chosen order. A search only filters them.
	sortAll() {
		const { self, total } = this.methods, { names } = this.profile, all = [];
		for (let m = 0; m < this.name.length; m++)
			if (total[m] > 0 && this.kind[m] !== KIND_GROUP)
				all.push(m);
		const heaviest = (a, b) => self[b] - self[a] || total[b] - total[a] || a - b;
		const orders = { self: heaviest, total: (a, b) => total[b] - total[a] || heaviest(a, b),
			name: (a, b) => (names[this.name[a]] < names[this.name[b]] ? -1 : 1) };
		return all.sort(orders[this.sortBy]);
	}

	// Uses sizes known from events, because reading sizes would lay out the page each time.
	paint(scrolled = this.scrolled) {
		this.scrolled = scrolled;
		if (!this.methods)
			return;
		const first = Math.floor(scrolled / TABLE_ROW), last = Math.min(this.order.length, first + Math.ceil(this.height / TABLE_ROW) + 1);
		const rows = [];
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
		const cell = element('div', 'cell'), own = element('div', 'num', percent(self[m], this.whole)), bar = element('i');
		row.style.top = `${i * TABLE_ROW}px`;
		row.dataset.method = m;
		row.id = `row${i}`;
		row.classList.toggle('at', i === this.at);
		row.setAttribute('role', 'row');
		row.title = this.profile.names[this.name[m]].slice(0, 1000);
		const dot = element('span', `dot k${this.kind[m]}`);
		dot.style.background = this.dotOf(m, this.name[m], this.kind[m]);
		cell.append(dot, element('span', '', this.texts.short(this.name[m])));
		bar.style.width = `${this.most ? Math.round(self[m] / this.most * 60) : 0}px`;
		own.append(bar);
		row.append(cell, own, element('div', 'num', percent(total[m], this.whole)));
		for (const part of row.children)
			part.setAttribute('role', 'gridcell');
		return row;
	}

	pick(e) {
		const row = e.target.closest('.row');
		if (row)
			this.onPick(this.profile.names[this.name[row.dataset.method]], Number(row.dataset.method));
	}

	// Arrows move from method to method, Enter picks one.
	key(e) {
		const { at } = this, page = Math.max(1, Math.floor(this.height / TABLE_ROW) - 1), last = this.order.length - 1;
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[e.key], m = this.order[at];
		if (to !== undefined && last >= 0)
			this.goTo(clamp(to, 0, last));
		else if (e.key === 'Enter' && m !== undefined)
			this.onPick(this.profile.names[this.name[m]], m);
		else
			return;
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
