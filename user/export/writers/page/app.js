// The page: one state, changed by `change`. Everything visible is made from it.
const TIP_DELAY = 80;
const MOVE_MS = 120;
const TYPING_MS = 60;
const TOAST_MS = 2500;
const ROWS_AHEAD = 64;

class App {
	constructor(profile) {
		this.original = this.profile = profile;
		this.transformKey = '["",[]]';
		this.transformErrors = [];
		this.tree = new Tree(profile);
		this.compared = this.tree.diff; // of the whole profile, if it is a comparison
		this.callers = null;
		this.view = this.tree;
		this.zoom = 0;
		this.madeFrom = {};
		this.painter = new Painter($('canvas'), profile);
		this.search = new Search(profile.names);
		this.nameSize = this.search.size;
		this.table = new MethodTable(profile, this.painter.texts, (name, method) => this.pickMethod(name, method));
		this.tip = new Tip();
		this.details = new Details(this);
		this.table.dotOf = (method, name, kind) => (this.tree.diff ? this.painter.diffColour(this.tree.diff.ofMethods(), method) : this.painter.palette.dotOf(name, kind));
		this.minimap = new Minimap(this);
		this.timeline = new Timeline(this);
		this.settled = Promise.resolve();
		this.defaults = this.madeWith();
		this.defaults.transforms = this.defaults.transforms || [];
		this.hover = this.selected = null;
		this.shift = 0;
		this.stretch = 1;
		this.title = profile.meta.title || profile.meta.target || profile.meta.host || document.title;
		this.state = null;
	}

	start() {
		fillAlerts(this);
		this.listen();
		this.resize();
		this.apply(this.addressed());
		// The table is computed after the first picture.
		requestAnimationFrame(() => setTimeout(() => {
			this.hasTable = true;
			this.unnamed = countUnnamed(this);
			this.fillLists();
			fillQuality(this);
		}));
	}

	// The view stored in the file.
	madeWith() {
		return readHash(this.original.meta.view, Infinity);
	}

	// The state in the address, or the file's view if the address has none. If the state was too long for
	// the address, the browser keeps it with this step of the history.
	addressed() {
		const { whole } = history.state || {};
		return whole ? readHash(whole, Infinity) : location.hash ? readHash(location.hash) : this.madeWith();
	}

	// Applies a state. `state.link` gives the zoom.
	apply(state) {
		const old = this.state;
		state.panel = state.panel || PANELS.find((panel) => panel === preferences.get('panel')) || (innerWidth <= 700 ? 'flame' : 'both');
		state.isFlipped = state.isFlipped === null ? preferences.get('flip') === '1' : state.isFlipped;
		this.setDefaults(state);
		this.state = state;
		this.transform(state);
		this.show(old);
	}

	setDefaults(state) {
		const { transforms: defaults } = this.defaults;
		state.type = state.type < this.profile.selfs.length && !isComparison(this.profile) ? state.type : 0;
		state.transforms = state.transforms || defaults;
		state.hasOwn = JSON.stringify(plainTransforms(state.transforms)) !== JSON.stringify(plainTransforms(defaults));
		const { labels } = this.original;
		if (!labels || !labels.dims.some(isTime))
			state.time = null;
		if (!state.time)
			state.versus = null;
		state.picked = state.picked.map((values, d) => (labels && labels.dims[d] ? values.filter((v) => v < labels.dims[d].values.length) : []));
		if (!splitsOf(this.original).includes(state.split))
			state.split = '';
	}

	// Makes the visible parts from the state and the profile.
	show(old) {
		const { state } = this, isWeighed = this.select(state, old);
		this.chooseView(state);
		this.zoom = this.findZoom(state);
		this.painter.palette.setMode(state.colour, this.painter);
		this.applySearch(state, old);
		document.body.dataset.panel = state.panel;
		if (this.isOther('header', [state.type]))
			fillHeader(this);
		this.showControls();
		// A search only changes how frames look.
		if (this.isOther('layout', [this.view, this.tree.total, this.tree.diff, this.zoom, state.collapse, state.byName, state.isFlipped]))
			this.layOut();
		else
			this.repaint();
		if (isWeighed)
			this.timeline.update();
		this.details.update();
		this.showLists();
	}

	chooseView(state) {
		const { tree } = this;
		if (state.panel === 'sandwich') {
			const names = this.profile.names, known = names.indexOf(state.focus);
			const name = known >= 0 ? known : this.hottest();
			state.focus = this.isPending ? state.focus : name < 0 ? '' : names[name];
			if (!this.sandwich || this.sandwich.name !== name)
				this.sandwich = new Sandwich(tree, name);
			this.view = this.sandwich;
		} else {
			this.view = state.isUp ? this.callers = this.callers || bottomUp(tree) : tree;
		}
	}

	// The name of the method with the most self weight.
	hottest() {
		const { self } = this.tree.hotMethods(), { name, kind } = this.table;
		let best = -1;
		for (let m = 0; m < self.length; m++)
			if (kind[m] !== KIND_GROUP && name[m] >= 0 && (best < 0 || self[m] > self[best]))
				best = m;
		return best < 0 ? -1 : name[best];
	}

	// The node of a link. If the profile has another frame there, it returns the root and shows a
	// message. While a profile is pending it may still have the frame, and the link stays.
	findZoom(state) {
		const { view } = this, node = view.nodeOf(state.link);
		const isRight = node >= 0 && nameStart(nameText(this.view, node)) === nameStart(state.linkName || 'all');
		if (this.view.isSandwich)
			return 0;
		if (isRight || !state.link)
			return isRight ? weightyFrom(view, node) : 0;
		if (this.isPending)
			return 0;
		this.say('The link points to a frame that this profile does not have.', true);
		state.link = '';
		state.linkName = '';
		return 0;
	}

	// Remakes everything that depends on the stacks when a transform changes them. Work that may take
	// long goes to the helper; the picture follows when it is done.
	transform({ transforms, split }) {
		const key = JSON.stringify([split, transforms]);
		if (key === this.transformKey)
			return;
		this.transformKey = key;
		const isLong = transforms.map((t) => !t.isOff && this.mayTakeLong(t)), isSplitLong = split !== '' && this.original.nodes.nr > MANY_NODES;
		const result = isSplitLong || isLong.some(Boolean) ? null : this.briefly(split, transforms, isLong);
		this.isPending = !result;
		document.body.classList.toggle('busy', !result);
		if (result)
			this.useProfile(result);
		else
			this.waitFor(helpers.transform.run({ transforms, split, profile: this.original }, SLOWEST_TRANSFORM_MS * Math.max(1, this.original.nodes.nr / 2e6))
				.catch((e) => this.withoutLong({ transforms, split }, isLong, isSplitLong, e)).then((done) => this.followTransform(key, done)));
	}

	// The result of the transforms. If one may take long, marks it in `isLong` and returns null.
	briefly(split, transforms, isLong) {
		if (!split && transforms.every((t) => t.isOff))
			return { profile: this.original, errors: [] };
		const result = changedProfile(this.original, split, transforms, true);
		if (result.profile)
			return result;
		isLong[result.longAt] = true;
		return null;
	}

	mayTakeLong(t) {
		const all = () => this.stackSize = this.stackSize || new Stacks(this.original).sizes().ofStacks();
		return mayTakeLong(t, { nrNodes: () => this.original.nodes.nr, ofNames: () => this.nameSize, ofStacks: all });
	}

	waitFor(work) {
		this.settled = Promise.all([this.settled, work]);
	}

	// Resolves when the helpers' results, and everything that follows from them, are shown.
	async settle() {
		for (let work; work !== this.settled; await work)
			work = this.settled;
	}

	// The result of the other transforms.
	withoutLong({ transforms, split }, isLong, isSplitLong, e) {
		if (e.message === 'given up')
			return null;
		let result;
		do
			result = this.briefly(isSplitLong ? '' : split, transforms.map((t, i) => (isLong[i] ? { ...t, isOff: true } : t)), isLong);
		while (!result);
		isLong.forEach((is, i) => is && (result.errors[i] = e.message));
		return { ...result, splitError: isSplitLong && `Split by ${split}: ${e.message}` };
	}

	followTransform(key, result) {
		if (!result || this.transformKey !== key)
			return;
		this.isPending = false;
		document.body.classList.remove('busy');
		this.useProfile(result);
		if (result.splitError) {
			this.state.split = this.transformKey = '';
			this.say(result.splitError, true);
		}
		this.show(this.state);
	}

	useProfile({ profile, errors }) {
		const { names } = this.profile;
		this.transformErrors = errors;
		this.profile = profile;
		this.tree = new Tree(profile);
		this.callers = this.selectedKey = null;
		this.table.setProfile(profile);
		this.painter.palette.setProfile(profile);
		if (profile.names !== names) {
			this.painter.texts.setNames(profile.names);
			this.search.setNames(profile.names);
			this.searched = '';
		}
	}

	// Weighs the tree by the chosen type, labels and times. Returns whether the weights changed.
	select(state, old) {
		const key = JSON.stringify([state.type, state.picked, state.time, state.versus, state.mode, state.isNormalised, state.isAbsolute]);
		if (old && key === this.selectedKey)
			return false;
		this.selectedKey = key;
		const { type, mode, isNormalised, isAbsolute } = state;
		this.tree.select({ type, mode, isNormalised, isAbsolute, sets: this.setsOf(state), versus: state.versus && this.setsOf({ ...state, time: state.versus }) });
		this.callers = this.sandwich = null;
		return true;
	}

	// The part of each label set that counts; for a weight that lasted longer than the chosen time, its
	// share. null for all.
	setsOf({ type, picked, time }) {
		const { labels } = this.profile;
		if (!labels || !labels.ofType[type] || !time && !picked.some((p) => p.length))
			return null;
		const sets = new Float64Array(labels.nr).fill(1);
		labels.dims.forEach((dim, d) => {
			const values = new Set(picked[d]), part = dim.isNumeric
				? (v) => (time && dim.name === 'time' ? shareOfTime(dim, v, time) : 1)
				: (v) => (!values.size || values.has(v) ? 1 : 0);
			for (let s = 0; s < labels.nr; s++)
				sets[s] *= part(dim.ofSet[s]);
		});
		return sets;
	}

	applySearch(state, old) {
		const searched = JSON.stringify([state.query, state.isRegex, state.isExact, state.isWord]);
		if (!old || this.searched !== searched) {
			this.searched = searched;
			const asked = this.search.set(state.query, state.isRegex, state.isExact, state.isWord);
			if ($('query').value !== state.query)
				$('query').value = state.query;
			if (asked)
				this.waitFor(asked.then((result) => this.followSearch(asked, result), (e) => this.followSearch(asked, null, e)));
		}
		this.search.measure(this.tree, this.view, this.zoom);
		this.showMatched();
	}

	followSearch(asked, result, e) {
		if (this.search.asked !== asked)
			return;
		if (result)
			this.search.take(result);
		else
			this.search.error = e.message;
		this.search.measure(this.tree, this.view, this.zoom);
		this.showMatched();
		this.showLists();
		this.repaint();
	}

	// Changes a part of the state. `isStep` adds a step to the history. The promise resolves when the
	// helper's results are shown too.
	change(part, isStep) {
		const state = { ...this.state, ...part };
		if ('isUp' in part && part.isUp !== this.state.isUp || 'panel' in part && (part.panel === 'sandwich') !== (this.state.panel === 'sandwich'))
			Object.assign(state, { link: '', linkName: '' });
		if ('colour' in part && !part.hidden && part.colour !== this.state.colour)
			state.hidden = [];
		this.hideTip();
		this.apply(state);
		const { hash, left, whole } = writeHash(state), kept = left && { whole }, depth = (history.state && history.state.depth) || 0;
		try {
			if (isStep)
				history.pushState({ depth: depth + 1, ...kept }, '', hash);
			else
				history.replaceState({ depth, ...kept }, '', hash);
		} catch (e) {
			// Browsers forbid this in an iframe without a URL of its own.
		}
		if (left && left !== this.leftOut)
			this.say(`The address is too short for ${left}. This tab remembers, a link does not.`, true);
		this.leftOut = left;
		tellFrame(this);
		return this.settle();
	}

	zoomTo(node) {
		if (node < 0 || node === this.zoom)
			return;
		if (this.view.isSandwich) {
			this.change({ focus: nameText(this.view, node) }, true);
			return;
		}
		const before = { layout: this.layout, zoom: this.zoom };
		this.change({ link: this.view.linkOf(node), linkName: node === this.view.root ? '' : nameText(this.view, node) }, true);
		this.selected = this.layout.rows[this.layout.top][0];
		this.details.showBox(this.selected);
		this.move(before);
	}

	back() {
		if (history.state && history.state.depth > 0)
			history.back();
		else
			this.zoomTo(this.view.root);
	}

	// Handles a click on a row of the table.
	pickMethod(name, method) {
		if (this.state.panel === 'sandwich')
			this.change({ focus: name }, true);
		else
			this.searchFor(name);
		if (this.state.panel !== 'sandwich' && this.state.query)
			this.details.show(method);
		else
			this.details.hide();
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
		if (this.state.isUp || this.view.isSandwich)
			this.change({ isUp: false, panel: this.view.isSandwich ? 'both' : this.state.panel }, true);
		const parent = this.tree.parentOf(node);
		this.zoomTo(this.zoom === node ? node : node || parent);
		this.showMatched();
		this.say(`hit ${this.search.index + 1}: ${nameText(this.tree, node)}`);
	}

	resize() {
		const box = $('scroll'), width = Math.max(box.clientWidth, 1), height = Math.max(box.clientHeight, 1);
		if (width === this.painter.width && height === this.painter.height && devicePixelRatio === this.painter.ratio)
			return;
		this.painter.resize(width, height);
		if (!this.state)
			return;
		this.layOut(true);
		this.timeline.update();
	}

	// A resized canvas is black until it is painted. Observers of sizes run too late for `repaint`, so it
	// paints at once to avoid a flash.
	follow() {
		this.resize();
		if (this.frame)
			this.paintNow();
	}

	layoutOf(maxRows) {
		const { state, view, zoom, painter } = this;
		return (view.isSandwich ? layOutSandwich : layOut)(view, { ...state, zoom, width: painter.width, maxRows });
	}

	layOut(keepScroll) {
		if (!keepScroll)
			this.maxRows = this.view === this.tree ? Infinity : ROWS_AHEAD;
		this.layout = this.layoutOf(this.maxRows);
		this.hasFog = this.layout.boxes.some((box) => box.fog);
		this.hover = this.selected = null;
		$('space').style.height = `${this.layout.rows.length * ROW}px`;
		// Write to the page before reading sizes: reading a size makes the browser lay out the page.
		fillCrumbs(this);
		if (this.unnamed !== undefined)
			fillQuality(this);
		// The small picture takes room beside the large one, which is laid out again.
		if (this.minimap.update())
			this.resize();
		if (!keepScroll)
			this.scrollToTop();
		this.repaint();
	}

	// Shows ancestors of the zoom, in at most a third of the picture.
	scrollToTop() {
		const box = $('scroll'), share = this.view.isSandwich ? 2 : 3, above = Math.max(0, this.layout.top * ROW - box.clientHeight / share);
		box.scrollTop = this.state.isFlipped ? this.layout.rows.length * ROW - box.clientHeight - above : above;
	}

	// Bottom-up stacks are merged only as far as the user scrolls.
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
		this.frame = requestAnimationFrame(() => this.paintNow());
	}

	paintNow() {
		cancelAnimationFrame(this.frame);
		this.frame = 0;
		this.paint();
	}

	// On paper the picture begins at the root.
	scrolled() {
		if (!this.isPrinting)
			return $('scroll').scrollTop;
		return this.state.isFlipped ? this.layout.rows.length * ROW - this.painter.height : 0;
	}

	paint() {
		this.painter.paint({ view: this.view, layout: this.layout, isFlipped: this.state.isFlipped, scrollTop: this.scrolled(),
			marks: this.search.marks, hitInFog: (fog) => this.search.isInFog(fog), hiddenKinds: new Set(this.state.hidden),
			hover: this.hover, selected: this.selected, shift: this.shift, stretch: this.stretch });
		this.minimap.paint();
	}

	// Animates from the picture before a zoom to the one after it.
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

	// Updates table and legend after the picture, so typing and zooming do not wait for them.
	showLists() {
		if (this.hasTable)
			this.lists = this.lists || new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
				this.lists = null;
				this.fillLists();
				done();
			})));
	}

	// Fills them if their content has changed.
	fillLists() {
		const { tree, search, state, painter } = this, hidden = state.hidden.join(), isTable = state.panel !== 'flame';
		if (this.isOther('legend', [tree.total, hidden, state.colour, painter.isDark, tree.diff]))
			fillLegend(this);
		if (isTable && this.isOther('table', [tree.total, search.marks, hidden, state.colour, painter.isDark, tree.diff]))
			this.table.show(tree, search.marks, (m) => state.hidden.includes(painter.palette.categoryFor(this.table.name[m], this.table.kind[m])));
	}

	// Whether a part of the page was made from other values than `from`. Stores `from` for the next call.
	isOther(part, from) {
		const was = this.madeFrom[part], isSame = was && from.every((x, i) => x === was[i]);
		this.madeFrom[part] = from;
		return !isSame;
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
		if (zoom !== view.root || view.isSandwich)
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
		for (const b of document.querySelectorAll('[data-direction]')) {
			b.disabled = Boolean(this.view.isSandwich);
			press(b, (b.dataset.direction === 'up') === state.isUp && !b.disabled);
		}
		press($('case'), state.isExact);
		press($('word'), state.isWord);
		press($('regex'), state.isRegex);
		const chip = (id, text) => $(id).querySelector('b').textContent = text;
		const type = profile.meta.types[state.type];
		chip('colour', COLOUR_NAMES[state.colour]);
		$('colour').hidden = Boolean(this.tree.diff);
		chip('type', type.name);
		$('type').hidden = profile.meta.types.length < 2 || isComparison(profile);
		const isDiff = isComparison(profile) || Boolean(this.tree.choice.versus);
		for (const id of ['modes', 'norm', 'abs'])
			$(id).hidden = !isDiff;
		for (const b of document.querySelectorAll('[data-mode]'))
			press(b, Number(b.dataset.mode) === state.mode);
		chip('norm', state.isNormalised ? 'shares' : 'counts');
		chip('abs', state.isAbsolute ? 'whole' : 'frame');
		fillDims(this);
		fillChips(this);
		const isEmpty = this.tree.isEmpty();
		$('message').hidden = !isEmpty;
		if (isEmpty)
			showEmpty(this);
	}

	// Announces a text to screen readers. `isShown` also shows it to everyone for a moment.
	say(text, isShown = false) {
		const live = $('live');
		live.textContent = text;
		live.classList.toggle('toast', isShown);
		clearTimeout(this.toastTimer);
		this.toastTimer = setTimeout(() => live.classList.remove('toast'), TOAST_MS);
	}

	hideTip(isForced) {
		return this.tip.hide(isForced);
	}
}

// The nearest ancestor that has weight in the chosen threads, times, ..
function weightyFrom(view, node) {
	while (view.parentOf(node) >= 0 && !view.totalOf(node))
		node = view.parentOf(node);
	return node;
}
