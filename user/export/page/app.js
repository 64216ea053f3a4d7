// The page: one state, changed by `change`, and everything that is shown made from it.
const TIP_DELAY = 80;
const MOVE_MS = 120;
const TYPING_MS = 60;
const ROWS_AHEAD = 64;

class App {
	constructor(profile) {
		this.original = this.profile = profile;
		this.transformKey = '[]';
		this.transformErrors = [];
		this.tree = new Tree(profile);
		this.callers = null;
		this.view = this.tree;
		this.zoom = 0;
		this.expanded = new Set();
		this.painter = new Painter($('canvas'), profile.names);
		this.search = new Search(profile.names);
		this.table = new MethodTable(profile, this.painter.texts, (name) => this.searchFor(name));
		this.tip = new Tip();
		this.hover = this.selected = null;
		this.shift = 0;
		this.stretch = 1;
		this.title = profile.meta.title || profile.meta.target || profile.meta.host || document.title;
		this.state = null;
	}

	start() {
		this.fillHeader();
		this.listen();
		this.resize();
		this.apply(readHash(location.hash));
		// The table is summed up after the picture is there.
		requestAnimationFrame(() => setTimeout(() => {
			this.hasTable = true;
			this.named = namedShare(this);
			this.showLists();
			fillQuality(this);
		}));
	}

	fillHeader() {
		const { meta } = this.profile, facts = [meta.types[0].name];
		if (meta.duration_ns > 0)
			facts.push(`${(meta.duration_ns / 1e9).toFixed(1)} s`);
		facts.push(amount(this.tree.total[0], this.tree.unit) + (meta.rate_hz > 0 ? ` @ ${count(meta.rate_hz)} Hz` : ''));
		if (meta.host && meta.host !== this.title)
			facts.push(`host ${meta.host}`);
		if (meta.target && meta.target !== this.title)
			facts.push(meta.target);
		$('title').textContent = $('title').title = this.title;
		$('facts').textContent = facts.join(' \u00b7 ');
		$('canvas').setAttribute('aria-label', `Flame graph: ${this.title}, ${facts.join(', ')}`);
	}

	// --- state -----------------------------------------------------------------------------

	// Makes everything from a state; `state.link` says the zoom.
	apply(state) {
		const old = this.state;
		state.panel = state.panel || preferences.get('panel') || (innerWidth <= 700 ? 'flame' : 'both');
		state.isFlipped = state.isFlipped === null ? preferences.get('flip') === '1' : state.isFlipped;
		state.type = state.type < this.profile.selfs.length ? state.type : 0;
		this.state = state;
		this.transform(state);
		this.select(state, old);
		this.view = state.isUp ? this.callers = this.callers || new Callers(this.tree) : this.tree;
		this.zoom = this.findZoom(state);
		this.applySearch(state, old);
		document.body.dataset.panel = state.panel;
		this.showControls();
		this.layOut();
		this.showLists();
	}

	// The node of a link, the root with a word about it if the profile has another one there.
	findZoom(state) {
		const node = this.view.nodeOf(state.link);
		const isRight = node >= 0 && nameText(this.view, node).slice(0, NAME_CHECKED) === (state.linkName || 'all');
		if (isRight || !state.link)
			return isRight ? node : 0;
		this.say('The link points to a frame that this profile does not have.');
		state.link = '';
		state.linkName = '';
		return 0;
	}

	// Everything that was made from the stacks is made anew when a transform changes them.
	transform({ transforms }) {
		const key = JSON.stringify(transforms);
		if (key === this.transformKey)
			return;
		this.transformKey = key;
		const { names } = this.profile, isPlain = transforms.every((t) => t.isOff);
		const { profile, errors } = isPlain ? { profile: this.original, errors: [] } : transformProfile(this.original, transforms);
		this.transformErrors = errors;
		this.profile = profile;
		this.tree = new Tree(profile);
		this.callers = this.selectedKey = null;
		this.expanded.clear();
		this.table.setProfile(profile);
		if (profile.names !== names) {
			this.painter.texts.setNames(profile.names);
			this.search.setNames(profile.names);
			this.searched = '';
		}
	}

	// Weights of the chosen type and labels.
	select(state, old) {
		const { labels } = this.profile, key = JSON.stringify([state.type, state.picked]);
		if (old && key === this.selectedKey)
			return;
		this.selectedKey = key;
		let sets = null;
		if (labels && state.type === 0 && state.picked.some((p) => p.length)) {
			sets = new Uint8Array(labels.nr).fill(1);
			labels.dims.slice(0, 2).forEach((dim, d) => {
				const picked = new Set(state.picked[d]);
				for (let s = 0; picked.size && s < labels.nr; s++)
					sets[s] &= picked.has(dim.ofSet[s]);
			});
		}
		this.tree.select(state.type, sets);
		this.callers = null;
	}

	applySearch(state, old) {
		const searched = JSON.stringify([state.query, state.isRegex, state.isExact]);
		if (!old || this.searched !== searched) {
			this.searched = searched;
			this.search.set(state.query, state.isRegex, state.isExact);
			if ($('query').value !== state.query)
				$('query').value = state.query;
		}
		this.search.measure(this.tree, this.view, this.zoom);
		this.showMatched();
	}

	// Changes a part of the state; `isStep` makes it a step of the history.
	change(part, isStep) {
		const state = { ...this.state, ...part };
		if ('isUp' in part && part.isUp !== this.state.isUp)
			Object.assign(state, { link: '', linkName: '' });
		this.hideTip();
		this.apply(state);
		const hash = writeHash(state), depth = (history.state && history.state.depth) || 0;
		try {
			if (isStep)
				history.pushState({ depth: depth + 1 }, '', hash);
			else
				history.replaceState({ depth }, '', hash);
		} catch (e) {
			// A frame without an address of its own has no history.
		}
	}

	zoomTo(node) {
		if (node < 0 || node === this.zoom)
			return;
		const before = { layout: this.layout, zoom: this.zoom };
		this.change({ link: this.view.linkOf(node), linkName: node === this.view.root ? '' : nameText(this.view, node) }, true);
		this.selected = this.layout.rows[this.layout.top][0];
		this.move(before);
	}

	back() {
		if (history.state && history.state.depth > 0)
			history.back();
		else
			this.zoomTo(this.view.root);
	}

	searchFor(name) {
		const query = name.length > 1900 ? escapePattern(name.slice(0, 1900)) : `^${escapePattern(name)}$`;
		const isSame = this.state.query === query;
		this.change({ query: isSame ? '' : query, isRegex: true, isExact: !isSame });
	}

	nextHit(by) {
		const node = this.search.step(this.tree, by);
		if (node < 0)
			return;
		if (this.state.isUp)
			this.change({ isUp: false }, true);
		const parent = this.tree.parentOf(node);
		this.zoomTo(this.zoom === node ? node : node || parent);
		this.showMatched();
		this.say(`hit ${this.search.index + 1}: ${nameText(this.tree, node)}`);
	}

	// --- drawing ---------------------------------------------------------------------------

	resize() {
		const box = $('scroll');
		this.painter.resize(Math.max(box.clientWidth, 1), Math.max(box.clientHeight, 1));
		if (this.state)
			this.layOut(true);
	}

	layOut(keepScroll) {
		const { state, view, zoom, painter } = this;
		if (!keepScroll)
			this.maxRows = view.isUp ? ROWS_AHEAD : Infinity;
		this.layout = layOut(view, { zoom, width: painter.width, collapse: state.collapse, expanded: this.expanded, byName: state.byName, maxRows: this.maxRows });
		this.hasFog = this.layout.boxes.some((box) => box.fog);
		this.hover = this.selected = null;
		const height = this.layout.rows.length * ROW;
		$('space').style.height = `${height}px`;
		if (!keepScroll)
			this.scrollToTop(height);
		fillCrumbs(this);
		if (this.named !== undefined)
			fillQuality(this);
		this.repaint();
	}

	// Ancestors of the zoom are in sight, but never more than a third of the picture.
	scrollToTop(height) {
		const box = $('scroll'), above = Math.max(0, this.layout.top * ROW - box.clientHeight / 3);
		box.scrollTop = this.state.isFlipped ? height - box.clientHeight - above : above;
	}

	// Bottom-up stacks are merged only as far as someone scrolls.
	layOutMore() {
		const box = $('scroll'), { scrollTop, clientHeight, scrollHeight } = box;
		const left = this.state.isFlipped ? scrollTop : scrollHeight - scrollTop - clientHeight;
		if (!this.layout.isCut || left > clientHeight / 2)
			return;
		this.maxRows += ROWS_AHEAD;
		this.layOut(true);
		if (this.state.isFlipped)
			box.scrollTop = scrollTop + $('space').offsetHeight - scrollHeight;
	}

	repaint() {
		if (this.frame)
			return;
		this.frame = requestAnimationFrame(() => {
			this.frame = 0;
			this.paint();
		});
	}

	paint() {
		this.painter.paint({ view: this.view, layout: this.layout, isFlipped: this.state.isFlipped, scrollTop: $('scroll').scrollTop,
			marks: this.search.marks, hitInFog: (fog) => this.search.isInFog(fog, this.view), hiddenKinds: new Set(this.state.hidden),
			hover: this.hover, selected: this.selected, shift: this.shift, stretch: this.stretch });
	}

	// Moves from the picture before a zoom to the one after it.
	move(before) {
		if (matchMedia('(prefers-reduced-motion: reduce)').matches)
			return;
		const width = this.painter.width, into = before.layout.boxes.find((b) => b.node === this.zoom && !b.fog);
		const from = this.layout.boxes.find((b) => b.node === before.zoom && !b.fog);
		let stretch = 1, shift = 0;
		if (into && !into.isAbove) {
			stretch = into.w / width;
			shift = into.x;
		} else if (from && from.w > 0) {
			stretch = width / from.w;
			shift = -from.x * stretch;
		}
		const start = performance.now(), token = this.moving = {};
		const step = (now) => {
			if (this.moving !== token)
				return;
			const t = clamp((now - start) / MOVE_MS, 0, 1), left = (1 - t) ** 3;
			this.stretch = 1 + (stretch - 1) * left;
			this.shift = shift * left;
			this.paint();
			if (t < 1)
				requestAnimationFrame(step);
		};
		step(start);
	}

	// Table and legend, if what they show has changed.
	showLists() {
		const { tree, search, state } = this, shown = [tree.total, search.marks, state.hidden.join(), state.panel === 'flame', state.isUp];
		if (!this.hasTable || this.shown && shown.every((x, i) => x === this.shown[i]))
			return;
		this.shown = shown;
		fillLegend(this);
		if (state.panel !== 'flame')
			this.table.show(tree, search.marks, new Set(state.hidden));
	}

	showMatched() {
		const { search, view, zoom } = this, out = $('matched'), tree = this.tree;
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
		if (zoom !== view.root)
			out.append(element('small', '', `${percent(search.whole.weight, tree.total[0])} of all`));
		const hits = count(search.whole.hits.length);
		out.append(element('small', '', search.index >= 0 ? `${search.index + 1}/${hits}` : hits));
		out.title = `${amount(search.inView.weight, view.unit)} of the view, ${amount(search.whole.weight, view.unit)} of all; ${plural(search.nrNames, 'distinct name')} in ${plural(search.whole.hits.length, 'place')}`;
	}

	showControls() {
		const { state, profile } = this, press = (e, on) => e.setAttribute('aria-pressed', String(on));
		for (const b of document.querySelectorAll('[data-panel]'))
			if (b.tagName === 'BUTTON')
				press(b, b.dataset.panel === state.panel);
		for (const b of document.querySelectorAll('[data-direction]'))
			press(b, (b.dataset.direction === 'up') === state.isUp);
		press($('case'), state.isExact);
		press($('regex'), state.isRegex);
		const chip = (id, text) => $(id).querySelector('b').textContent = text;
		chip('sort', state.byName ? 'name' : 'width');
		chip('chains', state.collapse ? 'folded' : 'open');
		chip('flip', state.isFlipped ? 'bottom' : 'top');
		chip('type', profile.meta.types[state.type].name);
		$('type').hidden = profile.meta.types.length < 2;
		const dims = profile.labels && state.type === 0 ? profile.labels.dims.slice(0, 2) : [];
		['process', 'thread'].forEach((id, d) => {
			const picked = state.picked[d];
			$(id).hidden = !dims[d] || dims[d].values.length < 2;
			if (dims[d]) {
				$(id).querySelector('span').textContent = dims[d].name;
				chip(id, picked.length === 1 ? dims[d].values[picked[0]] : picked.length ? `${picked.length} of ${dims[d].values.length}` : `all ${dims[d].values.length}`);
			}
			$(id).classList.toggle('on', picked.length > 0);
		});
		fillChips(this);
		const isEmpty = this.tree.isEmpty();
		$('message').hidden = !isEmpty;
		if (isEmpty)
			showEmpty(this);
	}

	say(text) {
		$('live').textContent = text;
	}

	hideTip(isForced) {
		return this.tip.hide(isForced);
	}
}

function showEmpty(app) {
	const { transforms } = app.state;
	showMessage(...emptyText(app.state, app.profile));
	if (!transforms.some((t) => !t.isOff))
		return;
	const undo = element('button', 'chip', 'Undo the last one');
	undo.type = 'button';
	undo.addEventListener('click', () => setTransforms(app, transforms.slice(0, -1)));
	$('message').append(undo);
}

function emptyText(state, profile) {
	if (state.transforms.some((t) => !t.isOff))
		return ['No samples', 'The transforms have left none.'];
	if (state.picked.some((p) => p.length))
		return ['No samples', 'The chosen processes and threads have none in common.'];
	return ['No samples', `This profile of ${profile.meta.target || profile.meta.host || 'the node'} holds none: nothing that was asked for ran while it was taken.`,
		'Record for longer, at a higher rate, or without a filter:', 'sysflame record -d 30 -F 999 -o flame.html'];
}
