// Zooms with two fingers, or with Ctrl and the wheel (browsers report a trackpad's two fingers so). The
// picture is stretched about the point between the fingers. Then it zooms to the frame that fits best.
const PINCH_LEAST = 1.15, PINCH_MOST = 40;
const WHEEL_STEP = 200; // px of wheel movement that double or halve
const WHEEL_END_MS = 160;

App.prototype.listenGestures = function () {
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
};

const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;

App.prototype.startPinch = function (a, b) {
	this.hideTip(true);
	this.moving = null;
	this.pinch = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, distance: distance(a, b), ratio: 1 };
};

App.prototype.movePinch = function (ratio) {
	const { pinch } = this;
	pinch.ratio = clamp(ratio, 1 / PINCH_MOST, PINCH_MOST);
	this.stretch = Math.max(pinch.ratio, 0.5);
	this.shift = pinch.x * (1 - this.stretch);
	this.repaint();
};

// The frame between the fingers gets the whole width, or the zoom goes to an ancestor.
App.prototype.endPinch = function () {
	const { pinch } = this;
	if (!pinch)
		return;
	this.pinch = null;
	this.isPinched = true; // ignore the click that may follow
	setTimeout(() => this.isPinched = false);
	this.stretch = 1;
	this.shift = 0;
	if (!this.view.isSandwich && pinch.ratio > PINCH_LEAST)
		this.zoomTo(this.frameOfWidth(pinch, this.painter.width / pinch.ratio));
	else if (!this.view.isSandwich && pinch.ratio < 1 / PINCH_LEAST)
		this.zoomTo(this.ancestorOf(this.zoom, pinch.ratio));
	this.repaint();
};

App.prototype.wheel = function (e) {
	if (!e.ctrlKey)
		return;
	e.preventDefault();
	if (!this.pinch)
		this.startPinch({ x: e.offsetX, y: e.offsetY }, { x: e.offsetX, y: e.offsetY });
	this.movePinch(this.pinch.ratio * Math.exp(-e.deltaY / WHEEL_STEP));
	clearTimeout(this.wheelTimer);
	this.wheelTimer = setTimeout(() => this.endPinch(), WHEEL_END_MS);
};

// Of the frames from the zoom down to the one under the fingers, the one closest to that width.
App.prototype.frameOfWidth = function ({ x, y }, width) {
	const { layout } = this, last = this.boxAt({ offsetX: x, offsetY: y }), off = (box) => Math.abs(Math.log(box.w / width));
	let best = null;
	for (let row = layout.top + 1; row <= (last ? last.row : layout.rows.length - 1); row++) {
		const box = layout.at(row, x);
		if (box && !box.fog && (!best || off(box) < off(best)))
			best = box;
	}
	return best ? best.node : -1;
};

App.prototype.ancestorOf = function (node, ratio) {
	const { view } = this, wanted = view.totalOf(node) / ratio;
	while (view.parentOf(node) >= 0 && view.totalOf(node) < wanted)
		node = view.parentOf(node);
	return node;
};

const PANEL_LEAST = 180, PANEL_STEP = 20;

App.prototype.listenDivider = function () {
	const divider = $('divider'), set = (width) => this.setPanelWidth(width);
	divider.addEventListener('pointerdown', (e) => divider.setPointerCapture(e.pointerId));
	divider.addEventListener('pointermove', (e) => e.buttons && set(e.clientX - $('table').getBoundingClientRect().left));
	divider.addEventListener('dblclick', () => set(0));
	divider.addEventListener('keydown', (e) => {
		const by = { ArrowLeft: -PANEL_STEP, ArrowRight: PANEL_STEP }[e.key];
		if (!by)
			return;
		e.stopPropagation();
		set($('table').offsetWidth + by);
	});
	const kept = Number(preferences.get('width'));
	if (kept > 0)
		set(kept);
};

// Width 0 is the default of the style sheet.
App.prototype.setPanelWidth = function (width) {
	const px = width > 0 ? clamp(Math.round(width), PANEL_LEAST, Math.max(PANEL_LEAST, innerWidth * 0.7)) : 0;
	document.querySelector('main').style.setProperty('--panel', px ? `${px}px` : '');
	preferences.set('width', px);
};
