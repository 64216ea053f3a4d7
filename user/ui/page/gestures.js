// Zooms with two fingers, or with Ctrl and the wheel (browsers report a trackpad's two fingers so). The
// picture is stretched about the point between the fingers, and keeps the range that it shows then.
const PINCH_LEAST = 1.15, PINCH_MOST = 40;
const RANGE_SLACK = 0.04; // of a range: what counts as the whole of a frame
const ZOOM_STEP = 1.5, PAN_STEP = 0.2;
const WHEEL_STEP = 200; // px of wheel movement that double or halve
const WHEEL_END_MS = 160;
const MOVE_MS = 120;
const PANEL_LEAST = 260, PANEL_STEP = 20;

const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;

// A separator that can be moved has a value.
function describeDivider() {
	const most = Math.round(innerWidth * 0.7), set = (key, value) => $('divider').setAttribute(`aria-value${key}`, value);
	set('min', PANEL_LEAST);
	set('max', most);
	set('now', clamp($('table').offsetWidth, PANEL_LEAST, most));
}

Object.assign(App.prototype, {
	listenGestures() {
		const canvas = $('canvas'), fingers = new Map();
		const end = (e) => {
			if (fingers.delete(e.pointerId))
				this.endPinch();
		};
		canvas.addEventListener('pointerdown', (e) => {
			if (e.pointerType !== 'touch')
				return;
			fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
			if (fingers.size === 2)
				this.startPinch(...fingers.values());
		});
		canvas.addEventListener('pointermove', (e) => {
			if (!fingers.has(e.pointerId))
				return;
			fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
			if (this.pinch && fingers.size === 2)
				this.movePinch(distance(...fingers.values()) / this.pinch.distance);
		});
		canvas.addEventListener('pointerup', end);
		canvas.addEventListener('pointercancel', end);
		canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
	},

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
		} else if (from && !from.isAbove && from.w > 0) {
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
	},

	startPinch(a, b, isWheel = false) {
		this.hideTip(true);
		this.moving = null;
		this.pinch = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, distance: distance(a, b), ratio: 1, isWheel };
	},

	movePinch(ratio) {
		const { pinch } = this;
		pinch.ratio = clamp(ratio, 1 / PINCH_MOST, PINCH_MOST);
		this.stretch = pinch.ratio;
		this.shift = pinch.x * (1 - this.stretch);
		this.repaint();
	},

	// What the picture shows stays: the range becomes the zoom's, or that of an ancestor or a callee.
	endPinch() {
		const { pinch } = this, { stretch, shift } = this;
		if (!pinch)
			return;
		this.pinch = null;
		this.isPinched = true; // ignore the click that may follow
		setTimeout(() => this.isPinched = false);
		this.stretch = 1;
		this.shift = 0;
		if (pinch.isWheel ? pinch.ratio !== 1 : pinch.ratio > PINCH_LEAST || pinch.ratio < 1 / PINCH_LEAST)
			this.showRange(-shift / stretch, (this.painter.width - shift) / stretch);
		this.repaint();
	},

	// Zooms to a range of the picture's pixels: the innermost frame that holds it, and the part of that.
	showRange(from, to) {
		const { view, state } = this, [start, end] = state.pan || [0, 1], { width } = this.painter, at = (x) => start + x / width * (end - start);
		let node = this.zoom, [a, b] = [at(from), at(to)];
		if (view.isSandwich)
			return;
		for (let parent; (a < 0 || b > 1) && (parent = view.parentOf(node)) >= 0; node = parent)
			[a, b] = [a, b].map((x) => this.placeIn(parent, node, x));
		[a, b] = b - a >= 1 ? [0, 1] : a < 0 ? [0, b - a] : b > 1 ? [1 - b + a, 1] : [a, b];
		for (let child; b - a < 1 - RANGE_SLACK && (child = this.holder(node, a, b)) >= 0; node = child)
			[a, b] = [a, b].map((x) => clamp(this.placeIn(node, child, x, true), 0, 1));
		const isWhole = a < RANGE_SLACK && b > 1 - RANGE_SLACK;
		this.change({ link: view.linkOf(node), linkName: node === view.root ? '' : nameText(view, node), pan: isWhole || b - a < PAN_LEAST ? null : [a, b] }, true);
	},

	startOf(parent, child) {
		const { view } = this, { list } = view.children(parent, 0);
		if (this.state.byName)
			list.sort((x, y) => compareNames(view, x, y));
		return list.slice(0, list.indexOf(child)).reduce((sum, node) => sum + view.totalOf(node), view.selfOf(parent));
	},

	// A place in a child as one in its parent, as parts of their widths; or the other way round.
	placeIn(parent, child, x, isBack) {
		const { view } = this, start = this.startOf(parent, child), whole = view.totalOf(parent), part = view.totalOf(child);
		return isBack ? (x * whole - start) / part : (start + x * part) / whole;
	},

	// The child that holds nearly all of a range, or -1.
	holder(node, a, b) {
		const { view } = this, slack = (b - a) * RANGE_SLACK;
		return view.children(node, view.totalOf(node) * (b - a - 2 * slack)).list.find((child) => this.placeIn(node, child, 0) <= a + slack && this.placeIn(node, child, 1) >= b - slack) ?? -1;
	},

	// Keys: zooms about the middle of the selection, and moves the range.
	zoomBy(ratio) {
		const { selected, painter: { width } } = this, middle = selected && selected.row >= this.layout.top ? clamp(selected.x + selected.w / 2, 0, width) : width / 2;
		this.showRange(middle - middle / ratio, middle + (width - middle) / ratio);
		this.selected = selected && this.layout.boxes.find((box) => box.node === selected.node) || null;
	},

	panBy(part) {
		const { pan } = this.state, by = pan && clamp(part * (pan[1] - pan[0]), -pan[0], 1 - pan[1]);
		if (pan)
			this.change({ pan: [pan[0] + by, pan[1] + by] });
	},

	wheel(e) {
		if (!e.ctrlKey)
			return;
		e.preventDefault();
		if (!this.pinch)
			this.startPinch({ x: e.offsetX, y: e.offsetY }, { x: e.offsetX, y: e.offsetY }, true);
		this.movePinch(this.pinch.ratio * Math.exp(-e.deltaY / WHEEL_STEP));
		clearTimeout(this.wheelTimer);
		this.wheelTimer = setTimeout(() => this.endPinch(), WHEEL_END_MS);
	},

	listenDivider() {
		const divider = $('divider'), set = (width) => this.setPanelWidth(width);
		divider.addEventListener('pointerdown', (e) => divider.setPointerCapture(e.pointerId));
		divider.addEventListener('pointermove', (e) => e.buttons && set(e.clientX - $('table').getBoundingClientRect().left));
		divider.addEventListener('dblclick', () => set(0));
		divider.addEventListener('keydown', (e) => {
			const by = { ArrowLeft: -PANEL_STEP, ArrowRight: PANEL_STEP, Home: -innerWidth, End: innerWidth }[e.key];
			if (!by && e.key !== 'Enter')
				return;
			e.stopPropagation();
			set(by ? Math.max($('table').offsetWidth + by, 1) : 0);
		});
		const kept = Number(preferences.get('width'));
		if (kept > 0)
			set(kept);
	},

	// Width 0 is the default of the style sheet.
	setPanelWidth(width) {
		const px = width > 0 ? clamp(Math.round(width), PANEL_LEAST, Math.max(PANEL_LEAST, innerWidth * 0.7)) : 0;
		document.querySelector('main').style.setProperty('--panel', px ? `min(${px}px, 70vw)` : '');
		preferences.set('width', px);
		describeDivider();
	},
});
