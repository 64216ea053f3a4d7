// Pointer, keyboard and buttons, and their effects on the App.

function layoutHeight(app) {
	return Math.max(app.painter.height, app.layout.rows.length * ROW);
}

const NAMED_MOST = 20, NAMED_LEAST = 40; // px

const isAllRecursion = ({ verb, what, isOff }) => verb === 'recursion' && !what && !isOff;

// Printing uses the light colours and all rows, up to the maximum height of a canvas.
const PRINT_ROWS = 400;

Object.assign(App.prototype, {
	listen() {
		this.listenCanvas();
		this.listenControls();
		this.listenSearch();
		this.listenGestures();
		this.listenDivider();
		document.addEventListener('keydown', (e) => this.key(e));
		document.addEventListener('keyup', (e) => e.key === 'Shift' && this.isLoneShift && this.tip.pin());
		addEventListener('popstate', () => {
			const before = { layout: this.layout, zoom: this.zoom };
			this.hideTip(true);
			this.apply(this.addressed());
			this.restoreSelection();
			tellFrame(this);
			this.move(before);
		});
		// The print layout keeps its size.
		new ResizeObserver(() => this.isPrinting || this.follow()).observe($('scroll'));
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setTheme());
		addEventListener('beforeprint', () => this.print(true));
		addEventListener('afterprint', () => this.print(false));
		this.listenRatio();
	},

	// A window that moves to a sharper screen keeps its size.
	listenRatio() {
		matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', () => {
			this.follow();
			this.listenRatio();
		}, { once: true });
	},

	listenCanvas() {
		const canvas = $('canvas');
		canvas.addEventListener('pointermove', (e) => this.point(e));
		canvas.addEventListener('pointerleave', () => this.leave());
		canvas.addEventListener('click', (e) => this.click(e));
		canvas.addEventListener('contextmenu', (e) => {
			e.preventDefault();
			this.openFrameMenu(e.button < 0 ? this.selected : this.boxAt(e), e);
		});
		$('scroll').addEventListener('scroll', () => {
			this.isScrolled = true;
			this.leave();
			this.layOutMore();
			this.repaint();
		});
	},

	listenControls() {
		const on = (id, run) => $(id).addEventListener('click', () => run($(id)));
		for (const b of document.querySelectorAll('button[data-panel]'))
			b.addEventListener('click', () => this.setPanel(b.dataset.panel));
		for (const b of document.querySelectorAll('[data-direction]'))
			b.addEventListener('click', () => this.setDirection(b.dataset.direction === 'up'));
		if (HAS_DIFF)
			listenDiff(this);
		for (const b of HAS_JVM ? $('whose').children : [])
			b.addEventListener('click', () => this.change({ isMine: b.dataset.mine === '1' }));
		on('options', (b) => optionsMenu(this, b));
		on('type', (b) => typeMenu(this, b));
		on('filter', (b) => filterMenu(this, b));
		on('export', (b) => exportMenu(this, b));
		on('theme', () => this.toggleTheme());
		on('help', showKeys);
		on('viewmenu', (b) => b.setAttribute('aria-expanded', $('toolbar').classList.toggle('open')));
		$('menu').addEventListener('keydown', menuKeys);
		$('menu').addEventListener('focusout', ({ relatedTarget }) => {
			if (relatedTarget && !$('menu').contains(relatedTarget))
				$('menu').hidden = true;
		});
		$('skip').addEventListener('click', (e) => {
			e.preventDefault();
			this.focusView();
		});
		rove(document.querySelector('header'));
		rove($('toolbar'));
		document.addEventListener('pointerdown', (e) => {
			this.isLoneShift = false;
			if (!$('menu').hidden && !$('menu').contains(e.target))
				$('menu').hidden = true;
		});
		$('keys').addEventListener('click', (e) => e.target === $('keys') && $('keys').close());
	},

	listenSearch() {
		let timer = 0;
		$('query').addEventListener('input', () => {
			clearTimeout(timer);
			timer = setTimeout(() => this.typed(), TYPING_MS);
		});
		$('query').addEventListener('keydown', (e) => {
			if (e.key === 'Enter') {
				clearTimeout(timer);
				if (this.state.query !== $('query').value)
					this.typed();
				this.nextHit(e.shiftKey ? -1 : 1);
			} else if (e.key === 'Escape') {
				clearTimeout(timer);
				if ($('query').value)
					this.clearSearch();
				else
					this.focusView();
			}
			e.stopPropagation();
		});
		$('clearquery').addEventListener('click', () => this.clearSearch());
		$('case').addEventListener('click', () => this.change({ isExact: !this.state.isExact }));
		$('word').addEventListener('click', () => this.change({ isWord: !this.state.isWord }));
		$('regex').addEventListener('click', () => this.change({ isRegex: !this.state.isRegex }));
	},

	focusView() {
		document.querySelector({ tree: '#calltree [tabindex="0"]', table: '#rows' }[this.state.panel] || '#canvas')?.focus({ preventScroll: true });
	},

	// When the part that had the focus has gone, the picture gets it.
	keepFocus() {
		const { activeElement, body } = document;
		if (this.hasFocus && document.hasFocus() && (activeElement === body || !activeElement.getClientRects().length))
			this.focusView();
		this.hasFocus = document.activeElement !== body;
	},

	typed() {
		this.change({ query: $('query').value, isTyped: true });
	},

	clearSearch() {
		$('query').value = '';
		this.typed();
		$('query').focus();
	},

	boxAt(e) {
		const y = e.offsetY + $('scroll').scrollTop, height = layoutHeight(this);
		const inPath = this.layout.hasPath && (this.state.isFlipped ? e.offsetY >= this.painter.height - ROW : e.offsetY < ROW);
		const row = inPath ? 0 : Math.floor((this.state.isFlipped ? height - 1 - y : y) / ROW);
		return this.layout.at(row, e.offsetX);
	},

	// The place of a box in the window. The card must not cover its row.
	placeOf(box, x) {
		const frame = $('canvas').getBoundingClientRect(), top = frame.top + this.painter.top(box.row);
		return { x: x === undefined ? frame.left + box.x + 40 : x, top, bottom: top + ROW };
	},

	point(e) {
		if (e.pointerType === 'touch')
			return;
		const box = this.boxAt(e);
		$('canvas').style.cursor = box ? 'pointer' : 'default';
		if (box !== this.hover) {
			this.hover = box;
			this.repaint();
		}
		if (box)
			this.tip.show(this, box, this.placeOf(box, e.clientX), TIP_DELAY);
		else
			this.hideTip();
	},

	leave() {
		if (this.hover) {
			this.hover = null;
			this.repaint();
		}
		this.hideTip();
	},

	// A tap selects a frame and shows its numbers. A second tap on it zooms.
	click(e) {
		if (this.isPinched)
			return;
		const box = this.boxAt(e);
		this.hideTip(true);
		if (!box) {
			this.selectBox(null);
			return;
		}
		if (box.more) {
			this.change({ isPathOpen: true });
			return;
		}
		const badge = this.painter.badgeAt(box);
		if (badge && e.offsetX >= badge.left && e.offsetX <= badge.right) {
			for (let node = box.last, left = box.chain; left >= 0; node = this.view.parentOf(node), left--)
				this.view.expanded.add(node);
			this.layOut(true);
		} else if (e.pointerType === 'touch' && this.selected !== box) {
			this.selectBox(box);
			this.tip.show(this, box, this.placeOf(box, e.clientX), 0);
		} else {
			this.zoomTo(box.node);
		}
	},

	selectBox(box) {
		this.selected = box;
		this.outlined = -1;
		this.details.showBox(box);
		// The nodes of a sandwich have no links.
		const { view } = this, selection = box && !box.fog && !view.isSandwich ? `${view.linkOf(box.node)}~${nameStart(nameText(view, box.node))}` : '';
		if (selection !== this.state.selection)
			this.note({ selection });
		if (box && !box.fog)
			this.say(`${nameText(this.view, box.node)}, ${amount(this.view.totalOf(box.node), this.view.unit)}, ${percent(this.view.totalOf(box.node), this.tree.total[0])}`);
		this.repaint();
	},

	// Opens the menu of a frame at the pointer, or below a selection made by keys.
	openFrameMenu(box, e) {
		if (!box)
			return;
		this.hideTip(true);
		this.selectBox(box);
		const place = this.placeOf(box);
		frameMenu(this, box, e ? { x: e.clientX, y: e.clientY } : { x: place.x, y: place.bottom });
	},

	key(e) {
		this.isLoneShift = false;
		if (e.target.tagName === 'INPUT')
			return;
		if ((e.ctrlKey || e.metaKey) && e.key === 'f' || e.key === '/' && !e.ctrlKey) {
			e.preventDefault();
			$('query').focus();
			$('query').select();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey || $('keys').open)
			return;
		const run = this.keyActions()[e.key];
		if (run && run() !== false)
			e.preventDefault();
	},

	keyActions() {
		const isButton = document.activeElement?.matches('a, button, summary');
		return {
			Escape: () => closeMenu() || this.hideTip(true) || this.escape(),
			0: () => this.zoomTo(this.view.root),
			n: () => this.nextHit(1),
			N: () => this.nextHit(-1),
			r: () => this.setDirection(!this.state.isUp),
			i: () => this.flip(),
			c: () => this.toggleChains(),
			a: () => this.change({ isPathOpen: !this.state.isPathOpen }),
			R: () => this.toggleRecursion(),
			s: () => this.change({ byName: !this.state.byName }),
			h: () => this.toggleTime(),
			H: () => this.change({ isHeat: !this.state.isHeat }),
			w: () => this.toggleSandwich(),
			t: () => this.setPanel(this.state.panel === 'flame' ? 'both' : 'flame'),
			d: () => this.toggleTheme(),
			'?': showKeys,
			y: () => copyMarkdown(this),
			m: () => this.openFrameMenu(this.selected),
			ContextMenu: () => this.openFrameMenu(this.selected),
			// Shift alone, which is only known when it is released.
			Shift: () => !(this.isLoneShift = true),
			Enter: () => !isButton && this.selected && !this.selected.fog ? this.zoomTo(this.selected.node) : false,
			ArrowUp: () => this.step(0, this.state.isFlipped ? 1 : -1),
			ArrowDown: () => this.step(0, this.state.isFlipped ? -1 : 1),
			'+': () => this.zoomBy(ZOOM_STEP),
			'-': () => this.zoomBy(1 / ZOOM_STEP),
			'<': () => this.panBy(-PAN_STEP),
			'>': () => this.panBy(PAN_STEP),
			ArrowLeft: () => this.step(-1, 0),
			ArrowRight: () => this.step(1, 0),
		};
	},

	// A search is not a step: it stays. A range that was cleared does not come back.
	back() {
		const { query, isRegex, isExact, isWord, time } = this.state, none = time ? {} : { time: null, versus: null };
		if (history.state && history.state.depth > 0) {
			addEventListener('popstate', () => this.change({ query, isRegex, isExact, isWord, ...none }), { once: true });
			history.back();
		} else {
			this.zoomTo(this.view.root);
		}
	},

	escape() {
		if (this.outlined >= 0 || this.selected && this.selected.row !== this.layout.top)
			this.selectBox(null);
		else
			this.back();
	},

	// Moves the selection along its row, or to the row of callers or callees.
	step(along, across) {
		const { layout } = this, from = this.selected;
		let box = from ? null : layout.rows[layout.top][0];
		if (from && along) {
			const row = layout.rows[from.row];
			box = row[row.indexOf(from) + along];
		} else if (from && across < 0) {
			box = layout.hasPath && from.row === 1 ? layout.rows[0][layout.rows[0].length - 1] : layout.at(from.row - 1, from.x + Math.min(from.w / 2, 1));
		} else if (from) {
			const below = layout.rows[from.row + 1] || [];
			box = below.find((b) => b.x + b.w > from.x + 1e-6 && b.x < from.x + from.w - 1e-6);
		}
		if (!box)
			return;
		this.selectBox(box);
		this.reveal(box);
		this.paint();
		// The details panel already shows the numbers if it is visible.
		if ($('table').offsetHeight === 0)
			this.tip.show(this, box, this.placeOf(box), 0);
	},

	reveal(box) {
		const scroll = $('scroll'), rows = layoutHeight(this) - ROW;
		const y = this.state.isFlipped ? rows - box.row * ROW : box.row * ROW;
		scroll.scrollTop = clamp(scroll.scrollTop, y + 3 * ROW - scroll.clientHeight, y - ROW);
	},

	flip() {
		preferences.set('flip', this.state.isFlipped ? '0' : '1');
		this.change({ isFlipped: !this.state.isFlipped });
	},

	toggleChains() {
		this.tree.expanded.clear();
		this.change({ collapse: !this.state.collapse });
	},

	hasRecursion() {
		return this.state.transforms.some(isAllRecursion);
	},

	toggleRecursion() {
		const { transforms } = this.state, rest = transforms.filter((t) => !isAllRecursion(t));
		setTransforms(this, rest.length < transforms.length ? rest : transforms.concat({ verb: 'recursion', what: '', to: '', isOff: false }));
	},

	toggleTime() {
		this.isTimeHidden = !this.isTimeHidden;
		if (HAS_TIME && this.isTimeHidden && this.state.time)
			this.say('The strip stays while a range is chosen.', true);
		this.timeline.update();
	},

	// Bottom-up, a picture of many methods has room for few names: it opens as a tree of text.
	setDirection(isUp) {
		const { panel } = this.state, picture = this.pictureBefore;
		this.pictureBefore = null;
		if (!isUp) {
			this.change({ isUp, panel: panel === 'tree' && picture || panel }, true);
			return;
		}
		const { self } = this.tree.hotMethods(), { width } = this.painter, whole = this.tree.total[0], isShown = panel === 'both' || panel === 'flame';
		const nr = self.filter((weight) => weight > 0).length, nrNamed = self.filter((weight) => weight * width >= NAMED_LEAST * whole).length, isTree = isShown && nr >= NAMED_MOST && nrNamed < NAMED_MOST;
		this.pictureBefore = isTree ? panel : null;
		this.change({ isUp, panel: isTree ? 'tree' : panel }, true);
		if (isTree)
			this.say(`As text: the picture has room for ${plural(nrNamed, 'name')} of ${count(nr)}. Flame shows it.`, true);
	},

	toggleSandwich() {
		this.setPanel(this.state.panel === 'sandwich' ? '' : 'sandwich');
	},

	// The method of a sandwich: that of the selected frame or row of the table, or the last one.
	chosenMethod() {
		const { selected, outlined, view, profile: { names } } = this, name = selected && !selected.fog ? view.nameOf(selected.node) : outlined;
		return name >= 0 ? names[name] : this.state.focus;
	},

	setPanel(panel) {
		const isSandwich = panel === 'sandwich';
		if (panel && !isSandwich)
			preferences.set('panel', panel);
		this.change(isSandwich ? { panel, focus: this.chosenMethod() } : { panel }, isSandwich);
		this.resize();
	},

	toggleTheme() {
		preferences.set('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
		this.setTheme();
	},

	setTheme() {
		setTheme();
		this.painter.readPalette();
		this.minimap.update();
		this.timeline.update();
		this.showLists();
		this.repaint();
	},

	print(isStart) {
		this.isPrinting = isStart;
		if (isStart) {
			// The table has elements for visible rows only, so the picture is printed.
			document.body.dataset.panel = this.state.panel === 'table' ? 'flame' : this.state.panel;
			this.resize();
			if (this.layout.isCut || this.layout.isCutAbove)
				this.layout = this.layoutOf(PRINT_ROWS);
			setTheme('light');
			this.painter.readPalette();
			this.painter.resize(this.painter.width, Math.min(this.layout.rows.length, PRINT_ROWS) * ROW);
			this.hover = this.selected = null;
			this.paint();
		} else {
			document.body.dataset.panel = this.state.panel;
			this.setTheme();
			this.resize();
		}
	},
});
