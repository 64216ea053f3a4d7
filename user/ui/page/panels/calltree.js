// The call tree as text: what the picture shows, for keyboards and screen readers. Rows are made when they open.
const KIDS_SHOWN = 100;
const HITS_OPEN = 20;
const MOST_OF = 0.9; // of a row's weight
const INDENT = 12, INDENT_MOST = 25; // px of a level; levels

class CallTree {
	constructor(app) {
		this.app = app;
		this.box = $('calltree');
		this.box.addEventListener('click', (e) => {
			const row = e.target.closest('[role=treeitem]');
			if (!row)
				return;
			this.goTo(row);
			this.toggle(row);
		});
		this.box.addEventListener('keydown', (e) => this.key(e));
	}

	// Begins at the zoom. The path of single callees is open.
	show() {
		const { app } = this, { zoom, view } = app;
		this.whole = view.totalOf(view.root);
		const top = this.row(view, zoom, 1, 1, 1);
		if (HAS_DIFF)
			document.querySelectorAll('.treehead .num').forEach((head, i) => head.textContent = (view.diff ? ['Change', 'After'] : ['Total', 'Self'])[i]);
		const hasFocus = this.box.contains(document.activeElement);
		this.box.replaceChildren(top);
		top.tabIndex = 0;
		this.expand(top);
		this.openHits();
		if (hasFocus)
			top.focus();
	}

	// Opens the way to the heaviest hits of a search.
	openHits() {
		const { search, tree, view, zoom } = this.app;
		if (!search.marks || view !== tree)
			return;
		for (const hit of heaviest(search.whole.hits, tree.total).slice(0, HITS_OPEN)) {
			const path = [];
			for (let node = hit; node >= 0 && node !== zoom; node = view.parentOf(node))
				path.unshift(node);
			for (const node of [zoom, ...path.slice(0, -1)]) {
				const row = [...this.box.children].find((one) => one.node === node && !one.more);
				if (row && row.getAttribute('aria-expanded') === 'false')
					this.open(row);
			}
		}
	}

	row(view, node, level, place, nr) {
		const row = element('div', 'treerow'), name = element('span', 'name', view.nameOf(node) < 0 ? 'all' : this.app.painter.texts.forms(view.nameOf(node)).texts[0]);
		const isLeaf = !view.children(node, 0).list.length;
		const { marks } = this.app.search;
		row.classList.toggle('hit', Boolean(marks && view.nameOf(node) >= 0 && marks[view.nameOf(node)]));
		row.setAttribute('role', 'treeitem');
		row.setAttribute('aria-level', level);
		row.setAttribute('aria-posinset', place);
		row.setAttribute('aria-setsize', nr);
		if (!isLeaf)
			row.setAttribute('aria-expanded', 'false');
		row.tabIndex = -1;
		row.node = node;
		row.level = level;
		name.style.paddingLeft = `${Math.min(level - 1, INDENT_MOST) * INDENT}px`;
		const { diff } = view, [first, second] = HAS_DIFF && diff ? [diff.text(diff.size(node)), diff.sideText(diff.weigh(node).after, diff.whole.after)] : [percent(view.totalOf(node), this.whole), percent(view.selfOf(node), this.whole)];
		name.prepend(element('i', '', isLeaf ? '' : '\u25b8'), colourDot(HAS_DIFF && diff ? diffColour(this.app.painter, diff, node) : kindColour(view.kindOf(node))));
		row.append(element('span', 'num', first), element('span', 'num', second), name);
		row.setAttribute('aria-label', `${name.textContent.replace('\u25b8', '')}, ${HAS_DIFF && diff ? `change ${first}${diff.isNormalised ? ' points' : ''}, after` : `total ${first}, self`} ${second}`);
		return row;
	}

	// Rows for the callees of a row.
	kids(row, from = 0) {
		const { app: { view } } = this, { list } = view.children(row.node, 0), level = row.level + 1, shown = list.slice(from, from + KIDS_SHOWN);
		const rows = shown.map((node, i) => this.row(view, node, level, from + i + 1, list.length));
		if (from + KIDS_SHOWN < list.length) {
			const more = element('div', 'treerow', `${count(list.length - from - KIDS_SHOWN)} more`);
			Object.assign(more, { node: row.node, level, more: from + KIDS_SHOWN, parent: row, tabIndex: -1 });
			more.setAttribute('role', 'treeitem');
			more.setAttribute('aria-level', level);
			rows.push(more);
		}
		this.mark(row, true);
		return rows;
	}

	mark(row, isOpen) {
		row.setAttribute('aria-expanded', isOpen);
		row.querySelector('i').textContent = isOpen ? '\u25be' : '\u25b8';
	}

	// Opens a row, and the rows below it along the path that nearly all samples take.
	expand(row) {
		while (row.getAttribute('aria-expanded') === 'false') {
			const rows = this.open(row);
			if (this.app.view.totalOf(rows[0].node) < MOST_OF * this.app.view.totalOf(row.node))
				return;
			[row] = rows;
		}
	}

	open(row) {
		const rows = this.kids(row);
		row.after(...rows);
		return rows;
	}

	collapse(row) {
		for (let next; (next = row.nextElementSibling) && next.level > row.level;)
			next.remove();
		this.mark(row, false);
	}

	toggle(row) {
		if (row.more) {
			const rows = this.kids(row.parent, row.more);
			row.replaceWith(...rows);
			this.goTo(rows[0]);
		} else if (row.getAttribute('aria-expanded') === 'true') {
			this.collapse(row);
		} else {
			this.expand(row);
		}
	}

	goTo(row) {
		if (!row)
			return;
		for (const old of this.box.querySelectorAll('[tabindex="0"]'))
			old.tabIndex = -1;
		row.tabIndex = 0;
		row.focus();
		const { node } = row;
		this.app.selected = row.more ? null : this.app.layout.boxes.find((box) => box.node === node && !box.fog) || { node, last: node, x: 0, w: 0, row: -1 };
	}

	// The keys of a tree (WAI-ARIA): left closes or goes to the caller, right opens or goes to the first callee.
	key(e) {
		const row = document.activeElement.closest('[role=treeitem]'), isOpen = row && row.getAttribute('aria-expanded');
		if (!row || e.ctrlKey || e.altKey || e.metaKey)
			return;
		const caller = () => {
			let at = row.previousElementSibling;
			while (at && at.level >= row.level)
				at = at.previousElementSibling;
			return at;
		};
		const run = {
			ArrowDown: () => this.goTo(row.nextElementSibling),
			ArrowUp: () => this.goTo(row.previousElementSibling),
			ArrowRight: () => (isOpen === 'false' ? this.expand(row) : isOpen && this.goTo(row.nextElementSibling)),
			ArrowLeft: () => (isOpen === 'true' ? this.collapse(row) : this.goTo(caller())),
			Home: () => this.goTo(this.box.firstElementChild),
			End: () => this.goTo(this.box.lastElementChild),
			Enter: () => (row.more ? this.toggle(row) : this.app.zoomTo(row.node)),
			' ': () => this.toggle(row),
			m: () => this.app.openFrameMenu(this.app.selected, { clientX: innerWidth / 3, clientY: row.getBoundingClientRect().bottom }),
		}[e.key];
		if (!run)
			return;
		run();
		e.preventDefault();
		e.stopPropagation();
	}
}

// One tab stop for a group of buttons; the left and right arrow, Home and End move within it.
function rove(group) {
	const items = () => [...group.querySelectorAll('button')].filter((b) => b.offsetParent && !b.disabled && !b.closest('#queryerror'));
	let stop = null, isDue = false;
	const update = () => {
		const all = items(), now = stop = all.find((b) => b === document.activeElement) || all.find((b) => b.tabIndex === 0) || all[0];
		for (const b of group.querySelectorAll('button'))
			b.tabIndex = b === now ? 0 : -1;
	};
	group.addEventListener('keydown', (e) => {
		const all = items(), at = all.indexOf(document.activeElement);
		const to = { ArrowRight: (at + 1) % all.length, ArrowLeft: (at + all.length - 1) % all.length, Home: 0, End: all.length - 1 }[e.key];
		if (at < 0 || to === undefined || e.ctrlKey || e.altKey || e.metaKey)
			return;
		all[to].focus();
		update();
		e.preventDefault();
		e.stopPropagation();
	});
	group.addEventListener('focusin', update);
	// After the picture: asking which buttons are visible would lay the page out before it.
	const later = () => {
		if (!isDue)
			requestAnimationFrame(() => setTimeout(() => {
				isDue = false;
				update();
			}));
		isDue = true;
	};
	// Whether a change may hide the tab stop, or brings or takes buttons.
	const concerns = ({ target, addedNodes, removedNodes }) => !stop || (addedNodes.length + removedNodes.length
		? [...addedNodes, ...removedNodes].some((node) => node.tagName && (node.tagName === 'BUTTON' || node.querySelector('button'))) : target.contains(stop));
	new MutationObserver((changes) => changes.some(concerns) && later()).observe(group, { childList: true, subtree: true, attributes: true, attributeFilter: ['hidden', 'class', 'disabled'] });
	later();
}
