// The page: one state, changed by `change`. Everything visible is made from it.
const TIP_DELAY = 80;
const TYPING_MS = 60;
const TOAST_MS = 2500;
const ROWS_AHEAD = 32; // below the visible ones

class App {
	constructor(profile) {
		if (HAS_LINES && profile.frames.sources.size)
			profile = joinLines(profile);
		this.original = this.profile = profile;
		this.joined = profile.lined ? profile : null; // if frames of lines are joined
		this.transformKey = '["",[]]';
		this.transformErrors = this.isIdle = [];
		this.tree = new Tree(profile);
		this.compared = this.tree.diff; // of the whole profile, if it is a comparison
		this.callers = null;
		this.view = this.tree;
		this.zoom = 0;
		this.madeFrom = {};
		this.painter = new Painter($('canvas'), profile);
		this.search = new Search(profile.names);
		this.nameSize = this.search.size;
		this.table = new MethodTable(profile, this.painter.texts, (...row) => this.pickMethod(...row));
		this.table.onSort = (order) => this.note({ order });
		this.table.isPicked = (method) => this.outlined === this.table.name[method];
		this.tip = new Tip();
		this.details = new Details(this);
		this.table.dotOf = (method, name, kind) => (HAS_DIFF && this.tree.diff ? diffColour(this.painter, this.tree.diff.ofMethods(), method) : this.painter.palette.dotOf(name, kind));
		this.minimap = new Minimap(this);
		this.timeline = HAS_TIME ? new Timeline(this) : { update() {} };
		this.callTree = new CallTree(this);
		this.settled = Promise.resolve();
		this.defaults = this.madeWith();
		this.defaults.transforms = this.defaults.transforms || [];
		this.hover = this.selected = null;
		this.outlined = -1; // the name that a row of the table picked
		this.shift = 0;
		this.stretch = 1;
		const title = titleOf(profile);
		this.title = title || document.title;
		document.title = title ? `${visible(title)} - sysflame` : document.title;
		this.state = null;
	}

	start() {
		if (HAS_FLEET)
			fillCoverage(this);
		if (HAS_REQUESTS)
			addRequests(this);
		this.listen();
		this.apply(this.addressed());
		this.restoreSelection();
		// The table of a large profile is computed after the first picture.
		requestAnimationFrame(() => setTimeout(() => {
			if (!this.hasTable) {
				this.fillFirst();
				fillQuality(this);
			}
			describeDivider();
		}));
	}

	// The lists that need all nodes.
	fillFirst() {
		this.hasTable = true;
		this.fillLists();
	}

	// The view stored in the file, or in a page that a page has saved.
	madeWith() {
		return readHash($('saved') ? $('saved').textContent : this.original.meta.view, Infinity);
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
		this.table.setOrder(state.order);
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
		if (!HAS_TIME || !labels || !labels.dims.some(isTime))
			state.time = null;
		if (!state.time)
			state.versus = null;
		state.picked = state.picked.map((values, d) => (HAS_LABELS && labels && labels.dims[d] ? values.filter((v) => v < labels.dims[d].values.length) : []));
		if (HAS_REQUESTS)
			Object.assign(state, checkedRequests(state, labels));
		if (!splitsOf(this.original, state.split).includes(state.split))
			state.split = '';
	}

	// Makes the visible parts from the state and the profile.
	show(old) {
		const { state } = this, isWeighed = this.select(state, old);
		// A comparison has no legend that could show them again.
		if (HAS_DIFF && this.tree.diff)
			state.hidden = [];
		this.chooseView(state);
		this.zoom = this.findZoom(state);
		this.painter.palette.setMode(state.colour, this.painter, state.colour === 'owner' ? this.owners() : null);
		const isSearched = this.applySearch(state, old);
		document.body.dataset.panel = state.panel;
		if (this.isOther('header', [this.selectedKey, this.tree])) {
			fillHeader(this);
			if (HAS_NOTES)
				fillAlerts(this);
		}
		if (this.isOther('controls', [this.selectedKey, this.tree, this.transformErrors, this.view.isSandwich, state.transforms, state.panel, state.isUp, state.colour]))
			showControls(this);
		if (HAS_REQUESTS && this.requests && this.isOther('requests', [this.selectedKey]))
			this.requests.update();
		// All that takes room is in place before a size is read, because that makes the browser lay out the page.
		if (!old && this.tree.nr < MANY_NODES)
			this.fillFirst();
		if (isWeighed || old && old.isHeat !== state.isHeat)
			this.timeline.update();
		if (!old)
			this.measure();
		const isPlaced = this.isOther('layout', [this.view, this.tree.total, this.tree.diff, this.zoom, String(state.pan), state.collapse, state.byName, state.isFlipped, state.isPathOpen]);
		if (isPlaced)
			this.layOut();
		else
			this.layOutChains();
		if (isPlaced || !isSearched)
			this.details.update();
		this.showLists();
	}

	chooseView(state) {
		const { tree } = this;
		if (state.panel === 'sandwich') {
			const names = this.profile.names, known = names.indexOf(state.focus);
			const name = known >= 0 ? known : this.hottest();
			if (known < 0 && state.focus && !this.isPending)
				this.say('This profile does not have the method.', true);
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
		const { view } = this;
		if (view.isSandwich)
			return 0;
		const node = view.nodeOf(state.link);
		const isRight = node >= 0 && nameStart(nameText(view, node)) === nameStart(state.linkName || 'all');
		if (isRight || !state.link)
			return isRight ? weightyFrom(view, node) : 0;
		// Bottom-up has no frames without weight; with other threads or times this one may have some.
		if (this.isPending || state.isUp && this.profile.names.some((name) => nameStart(name) === nameStart(state.linkName)))
			return 0;
		this.say('The link points to a frame that this profile does not have.', true);
		state.link = '';
		state.linkName = '';
		return 0;
	}

	// Remakes everything that depends on the stacks when a transform changes them. Work that may take
	// long goes to the helper; the picture follows when it is done.
	transform({ transforms, split, isLined }) {
		if (HAS_LINES && this.joined && (this.original === this.joined) === isLined) {
			this.original = isLined ? this.joined.lined : this.joined;
			this.transformKey = '';
		}
		const key = JSON.stringify([split, transforms]);
		if (key === this.transformKey)
			return;
		this.transformKey = key;
		const isLong = transforms.map((t) => !t.isOff && mayTakeLong(t, this.sizes())), isSplitLong = split !== '' && this.original.nodes.nr > MANY_NODES;
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

	sizes() {
		const ofStacks = () => this.stackSize = this.stackSize || new Stacks(this.original).sizes().ofStacks();
		return { nrNodes: () => this.original.nodes.nr, ofNames: () => this.nameSize, ofStacks };
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

	useProfile({ profile, errors, idle = [] }) {
		const { names } = this.profile;
		this.transformErrors = errors;
		this.isIdle = idle;
		this.profile = profile;
		this.tree = new Tree(profile);
		this.callers = this.selectedKey = null;
		this.outlined = -1;
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
		const key = JSON.stringify([state.type, state.picked, state.except, state.time, state.versus, state.mode, state.isNormalised, state.isAbsolute, ...(HAS_REQUESTS ? [state.slow, state.rival] : [])]);
		if (old && key === this.selectedKey)
			return false;
		this.selectedKey = key;
		const { type, mode, isNormalised, isAbsolute } = state;
		this.tree.select({ type, mode, isNormalised, isAbsolute, sets: this.setsOf(state), versus: HAS_DIFF && (state.versus || HAS_REQUESTS && state.rival) && this.setsOf(HAS_REQUESTS ? otherSide(state) : { ...state, time: state.versus }) });
		this.callers = this.sandwich = null;
		return true;
	}

	// The part of each label set that counts; for a weight that lasted longer than the chosen time, its
	// share. null for all.
	setsOf(state) {
		if (!HAS_LABELS)
			return null;
		const { labels } = this.profile, { type, picked, except, time } = state;
		if (!labels || !labels.ofType[type] || !time && !picked.some((p) => p.length) && !(HAS_REQUESTS && state.slow))
			return null;
		const sets = new Float64Array(labels.nr).fill(1);
		labels.dims.forEach((dim, d) => {
			const values = new Set(picked[d]), part = dim.isNumeric
				? (v) => (HAS_TIME && time && dim.name === 'time' ? shareOfTime(dim, v, time) : 1)
				: (v) => (!values.size || values.has(v) !== except.includes(d) ? 1 : 0);
			for (let s = 0; s < labels.nr; s++)
				sets[s] *= part(dim.ofSet[s]);
		});
		if (HAS_REQUESTS && state.slow)
			keepSlow(labels, state.slow, requestsBy(this, state.slow[0]), sets);
		return sets;
	}

	// Returns whether the search is another one.
	applySearch(state, old) {
		const searched = JSON.stringify([state.query, state.isRegex, state.isExact, state.isWord]), isOther = !old || this.searched !== searched;
		if (isOther) {
			this.searched = searched;
			const asked = this.search.set(state.query, state.isRegex, state.isExact, state.isWord);
			if ($('query').value !== state.query)
				$('query').value = state.query;
			$('clearquery').hidden = !state.query;
			press($('case'), state.isExact);
			press($('word'), state.isWord);
			press($('regex'), state.isRegex);
			if (asked)
				this.waitFor(asked.then((result) => this.followSearch(asked, result), (e) => this.followSearch(asked, null, e)));
		}
		this.search.measure(this.tree, this.view, this.zoom);
		showMatched(this);
		return isOther;
	}

	followSearch(asked, result, e) {
		if (this.search.asked !== asked)
			return;
		if (result)
			this.search.take(result);
		else
			this.search.error = e.message;
		this.search.measure(this.tree, this.view, this.zoom);
		showMatched(this);
		this.showLists();
		this.layOutChains();
	}

	// Changes a part of the state. `isStep` adds a step to the history. The promise resolves when the
	// helper's results are shown too.
	change(part, isStep) {
		const state = { ...this.state, ...part };
		if ('isUp' in part && part.isUp !== this.state.isUp || 'panel' in part && (part.panel === 'sandwich') !== (this.state.panel === 'sandwich'))
			Object.assign(state, { link: '', linkName: '', pan: null });
		if ('link' in part && !part.pan)
			state.pan = null;
		if ('colour' in part && !part.hidden && part.colour !== this.state.colour)
			state.hidden = [];
		this.hideTip();
		if ('link' in part || 'panel' in part || 'isUp' in part)
			state.selection = '';
		this.apply(state);
		this.writeAddress(isStep);
		tellFrame(this);
		return this.settle();
	}

	writeAddress(isStep) {
		const { hash, left, whole } = writeHash(this.state), kept = left && { whole }, depth = (history.state && history.state.depth) || 0;
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
	}

	// A part of the state that is already shown.
	note(part) {
		Object.assign(this.state, part);
		this.writeAddress(false);
		tellFrame(this);
	}

	// Selects what the address says: a frame of the picture, or a method.
	restoreSelection() {
		const { view, state: { selection }, profile, table, layout } = this, [link, ...parts] = selection.split('~'), name = parts.join('~');
		if (!name)
			return;
		const node = link && !view.isSandwich ? view.nodeOf(link) : -1, box = layout.boxes.find((one) => one.node === node && !one.fog), index = link ? -1 : profile.names.findIndex((one) => nameStart(one) === name);
		if (box && nameStart(nameText(view, node)) === name) {
			this.selected = box;
			this.details.showBox(box);
		} else if (index >= 0 && table.name.includes(index)) {
			this.outlined = index;
			this.details.show(table.name.indexOf(index));
		}
		this.repaint();
	}

	zoomTo(node) {
		if (node < 0 || node === this.zoom && !this.state.pan)
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

	// Handles a click on a row of the table: selects the method, or shows its callers and callees.
	pickMethod(name, method, isSandwich) {
		if (isSandwich || this.state.panel === 'sandwich') {
			this.details.hide();
			this.change({ panel: 'sandwich', focus: name }, true);
			return;
		}
		this.selected = null;
		this.outlined = this.table.name[method];
		this.details.show(method);
		this.say(`${name} is outlined`);
		this.note({ selection: `~${nameStart(name)}` });
		this.repaint();
	}

	// Highlights a name. Only a typed search filters the table.
	searchFor(name) {
		const exact = `^${escapePattern(name)}$`, isRegex = exact.length <= QUERY_MOST, query = isRegex ? exact : name.slice(0, QUERY_MOST);
		this.change({ query: this.state.query === query ? '' : query, isRegex, isTyped: false });
	}

	nextHit(by) {
		const node = this.search.step(this.tree, by);
		if (node < 0)
			return;
		if (this.state.isUp || this.view.isSandwich)
			this.change({ isUp: false, panel: this.view.isSandwich ? 'both' : this.state.panel }, true);
		const parent = this.tree.parentOf(node);
		this.zoomTo(this.zoom === node ? node : node || parent);
		showMatched(this);
		this.say(`hit ${this.search.index + 1}: ${nameText(this.tree, node)}`);
	}

	// Whether the picture has a new size. A hidden one keeps its size, for pictures that are saved.
	measure() {
		const box = $('scroll'), { painter } = this, width = box.clientWidth || painter.width || innerWidth, height = box.clientHeight || painter.height || innerHeight;
		if (width === painter.width && height === painter.height && devicePixelRatio === painter.ratio)
			return false;
		painter.resize(width, height);
		return true;
	}

	resize() {
		if (!this.measure())
			return;
		// The browser has moved the rows at the end of a higher window.
		this.layOut(true, this.painter.scene && this.painter.scene.scrollTop);
		this.timeline.update();
	}

	// A resized canvas is black until it is painted. Observers of sizes run too late for `repaint`, so it
	// paints at once to avoid a flash.
	follow() {
		this.resize();
		if (this.frame)
			this.paintNow();
	}

	// `ahead`: the rows that are laid out below the visible ones.
	layoutOf(ahead) {
		const { state, view, zoom, painter } = this, maxRows = Math.ceil(painter.height / ROW) + ahead;
		return (view.isSandwich ? layOutSandwich : layOut)(view, { ...state, zoom, width: painter.width, height: painter.height, maxRows,
			isHeld: this.heldNames(), textWidth: (node, more) => painter.pathWidth(view, node, more) });
	}

	// Names that keep frames of their own: the hits of a search and the user's own code.
	heldNames() {
		const { search: { marks } } = this;
		let owners = null;
		return (name, kind) => (marks && marks[name]) || (owners = owners || this.owners()).isMine(name, kind);
	}

	// Whose code the frames are; made when it is first needed.
	owners() {
		const { profile, state: { own } } = this;
		if (this.isOther('owners', [profile, own]))
			this.ownersMade = new Owners(profile, own);
		return this.ownersMade;
	}

	// Whether other chains may be folded than in the last layout.
	areChainsOther() {
		return this.isOther('chains', [this.search.marks, this.state.own]);
	}

	// A search changes how frames look, and which chains are folded.
	layOutChains() {
		if (this.areChainsOther() && this.layout.isFolded)
			this.layOut(true);
		this.repaint();
	}

	// `isSame`: the selection stays, and so does the place of the zoomed frame when the rows were scrolled to
	// `scrolled`, or are now.
	layOut(isSame, scrolled) {
		const { selected, edge } = this;
		if (!isSame)
			this.ahead = this.view === this.tree ? Infinity : ROWS_AHEAD;
		this.areChainsOther();
		const { boxes, rows, top } = this.layout = this.layoutOf(this.ahead), high = rows.length * ROW, { height } = this.painter;
		this.hasFog = boxes.some((box) => box.fog);
		this.hover = null;
		this.selected = isSame && selected && boxes.find((box) => box.node === selected.node && !box.fog === !selected.fog) || null;
		// The scroll position that has the zoomed frame at the window's upper edge, or at the lower one if the root
		// is there.
		this.edge = this.state.isFlipped ? Math.max(high - height, 0) - top * ROW : top * ROW;
		$('space').style.height = `${high}px`;
		// Write to the page before reading sizes: reading a size makes the browser lay out the page.
		fillCrumbs(this);
		if (this.hasTable)
			fillQuality(this);
		// The small picture takes room beside the large one, which is laid out again.
		if (this.minimap.update() && this.measure())
			this.layOut(true);
		if (!isSame)
			this.scrollToTop();
		else if (this.edge !== edge)
			$('scroll').scrollTop = (scrolled ?? $('scroll').scrollTop) + this.edge - edge;
		this.repaint();
	}

	// Shows ancestors of the zoom, in at most a third of the picture.
	scrollToTop() {
		const share = this.view.isSandwich ? 2 : 3, { height } = this.painter, above = Math.max(0, this.layout.top * ROW - height / share);
		const to = this.state.isFlipped ? this.layout.rows.length * ROW - height - above : above;
		if (to > 0 || this.isScrolled)
			$('scroll').scrollTop = to;
		this.isScrolled = to > 0;
	}

	// Bottom-up stacks are merged only as far as the user scrolls; a sandwich goes on at both ends.
	layOutMore() {
		const { scrollTop, clientHeight, scrollHeight } = $('scroll'), ends = [scrollTop, scrollHeight - scrollTop - clientHeight], { isCut, isCutAbove } = this.layout;
		const [above, below] = this.state.isFlipped ? ends.reverse() : ends;
		if ((!isCut || below > clientHeight / 2) && (!isCutAbove || above > clientHeight / 2))
			return;
		this.ahead += ROWS_AHEAD;
		this.layOut(true);
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
		this.keepFocus();
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
			hover: this.hover, selected: this.selected, outlined: this.outlined, shift: this.shift, stretch: this.stretch });
		this.minimap.paint();
	}

	// Updates table and legend: at once if the weights of the methods are known, because one layout of the page
	// is cheaper than two; else after the picture, which does not wait for them.
	showLists() {
		if (this.hasTable && this.tree.methods)
			this.fillLists();
		else if (this.hasTable)
			this.lists = this.lists || new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
				this.lists = null;
				this.fillLists();
				done();
			})));
	}

	// Fills them if their content has changed.
	fillLists() {
		const { tree, search, state, painter, view, zoom } = this, hidden = state.hidden.join(), isTable = state.panel !== 'flame', marks = state.isTyped ? search.marks : null;
		if (this.isOther('legend', [tree.total, hidden, state.colour, state.own, painter.isDark, tree.diff]))
			fillLegend(this);
		if (HAS_DIFF && this.isOther('verdict', [tree.diff, state.own]))
			fillVerdict(this);
		if (state.panel === 'tree' && this.isOther('calltree', [view, tree.total, tree.diff, zoom, search.marks]))
			this.callTree.show();
		if (isTable && this.isOther('table', [tree.total, marks, hidden, state.colour, state.own, painter.isDark, tree.diff, state.isMine]))
			fillTable(this, marks);
	}

	// Whether a part of the page was made from other values than `from`. Stores `from` for the next call.
	isOther(part, from) {
		const was = this.madeFrom[part], isSame = was && from.every((x, i) => x === was[i]);
		this.madeFrom[part] = from;
		return !isSame;
	}

	// Announces a text to screen readers. `isShown` also shows it to everyone for a moment.
	say(text, isShown = false) {
		const live = $('live');
		live.textContent = visible(text);
		live.classList.toggle('toast', isShown);
		clearTimeout(this.toastTimer);
		this.toastTimer = setTimeout(() => live.classList.remove('toast'), TOAST_MS);
	}

	hideTip(isForced) {
		return this.tip.hide(isForced);
	}
}
