// Below the table: the selected method, its callers and callees, and its actions.
const NEIGHBOURS = 5;
const DETAILS_DELAY = 60; // ms: draws a zoom first

class Details {
	constructor(app) {
		this.app = app;
		this.profile = null;
	}

	// Shows the method of a box, with the numbers of that place.
	showBox(box) {
		const { app } = this, { view } = app;
		if (!box || box.fog || view.methodOf(box.node) < 0) {
			this.hide();
			return;
		}
		this.show(view.methodOf(box.node), { view, box });
	}

	show(method, place = null) {
		Object.assign(this, { profile: this.app.profile, method, place });
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.fill(), DETAILS_DELAY);
	}

	hide() {
		clearTimeout(this.timer);
		this.profile = null;
		$('details').hidden = true;
	}

	// Updates after a change of the state. A transform renumbers the methods.
	update() {
		if (this.profile && this.profile !== this.app.profile)
			this.hide();
		else if (this.profile)
			this.show(this.method, this.place && this.place.view === this.app.view ? this.place : null);
	}

	fill() {
		const { app, method, place } = this, { table, profile } = app, name = profile.names[table.name[method]], kind = table.kind[method];
		const title = element('h2', '', name.slice(0, 2000)), close = element('button', '', '\u00d7');
		close.setAttribute('aria-label', 'Close the details');
		close.addEventListener('click', () => {
			this.hide();
			app.repaint();
		});
		title.prepend(colourDot(table.dotOf(method, table.name[method], kind)));
		title.append(close);
		const head = place ? [element('p', '', kindText(place.view, place.box.node)), ...(HAS_JVM ? tierParts(place.view, place.box.node) : []), numbersOf(app, place.box)]
			: [element('p', '', KINDS[kind].long)];
		const rest = element('div');
		$('details').replaceChildren(title, ...head, rest, this.buttons(name));
		$('details').hidden = false;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.fillNeighbours(rest, name));
	}

	fillNeighbours(rest, name) {
		const { app, method } = this, { tree } = app, { self } = tree.hotMethods();
		const start = tree.outermost((frame) => tree.profile.frames.method[frame] === method), total = start.reduce((sum, node) => sum + tree.total[node], 0);
		const root = { method, name: app.table.name[method], kind: 0, module: 0, total };
		const list = (title, merged) => this.list(title, merged, total);
		rest.replaceChildren(...(HAS_LINES ? lineParts(app, name) : []),
			element('p', 'everywhere', `In ${plural(start.length, 'place')}: ${percent(total, tree.total[0])}, self ${percent(self[method], tree.total[0])}`),
			list('Called by', new Callers(tree, start, tree.total, null, root)), list('Calls', new Callees(tree, start, root)));
	}

	// The heaviest neighbours as shares of the method.
	list(title, merged, total) {
		const list = element('ol');
		list.append(element('li', 'note', title));
		const { first, last } = merged.grouped(0), nr = merged.groups.total.subarray(first, last).filter((weight) => weight > 0).length;
		for (let i = 0; i < Math.min(nr, NEIGHBOURS); i++) {
			const id = merged.child(0, first + i), item = element('li'), b = element('button');
			b.title = visible(merged.names[merged.nameOf(id)].slice(0, 1000));
			b.append(element('span', '', this.app.painter.texts.short(merged.nameOf(id))), element('small', '', percent(merged.totalOf(id), total)));
			b.addEventListener('click', () => this.show(merged.methodOf(id)));
			item.append(b);
			list.append(item);
		}
		if (nr > NEIGHBOURS)
			list.append(element('li', 'note', `and ${count(nr - NEIGHBOURS)} more`));
		return nr ? list : '';
	}

	buttons(name) {
		const { app } = this, bar = element('div', 'verbs'), exact = `;${plainName(name)};`;
		const add = (text, title, run) => {
			const b = element('button', 'chip', text);
			b.title = title;
			b.addEventListener('click', run);
			bar.append(b);
		};
		add('copy', 'Copy the name', () => copyText(app, name));
		for (const [text, verb] of [['only', 'filter'], ['hide', 'remove'], ['collapse', 'recursion']])
			add(text, VERBS[verb].long, () => addTransform(app, verb, exact));
		add('sandwich', 'Callers and callees', () => app.change({ panel: 'sandwich', focus: name }, true));
		return bar;
	}
}
