// Paints the visible rows of a layout on a canvas of the viewport's size.
const FONT = '12px system-ui, sans-serif';
const PAD = 4;
const HIDDEN_KIND = 0.25;
const DIMMED = 0.6;
const ABOVE = 0.55;
const PALE_TEXT = 0.8; // of frames that are not at full strength; tests/web/test_colours has the contrasts
const TIER_EDGE = 2;
const BADGE_TEXT = 0.75;
const NEXT = ' \u203a ';
const FOG_LABEL = 110;
const STRIP = 61; // px of the strip beside the picture and its border, as in the style sheet

class Painter {
	constructor(canvas, profile) {
		this.canvas = canvas;
		this.context = canvas.getContext('2d', { alpha: false });
		this.texts = new NameTexts(profile.names);
		this.palette = new Palette(profile);
		this.readPalette();
	}

	// Only the style sheet defines colours.
	readPalette() {
		const style = getComputedStyle(document.documentElement);
		const colour = (name) => style.getPropertyValue(name).trim();
		this.kinds = KINDS.map((_, kind) => colour(`--k${kind}`));
		this.owners = OWNERS.map((_, owner) => colour(`--o${owner}`));
		this.tiers = HAS_JVM && [4, 5, 6, 7].map((kind) => colour(`--t${kind}`));
		for (const name of ['fog', 'less', 'same', 'more', 'bg', 'fg2', 'text', 'hl', 'accent'])
			this[name] = colour(`--${name}`);
		if (HAS_TIME)
			this.heat = [colour('--heat0'), colour('--heat1'), colour('--heat2')];
		this.isDark = document.documentElement.dataset.theme === 'dark';
	}

	resize(width, height) {
		const ratio = window.devicePixelRatio || 1, isSameRatio = ratio === this.ratio;
		Object.assign(this, { width, height, ratio });
		// Allocating a canvas takes longer than painting it. The canvas may therefore stay wider than
		// visible by the strip beside it, which comes and goes with a zoom.
		const w = Math.round(width * ratio), h = Math.round(height * ratio), { canvas } = this;
		if (isSameRatio && canvas.height === h && canvas.width >= w && canvas.width <= w + Math.ceil(STRIP * ratio))
			return;
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	// `scene`: view, layout, isFlipped, scrollTop, marks (or null), hitInFog, hiddenKinds (Set), hover
	// and selected (boxes or null), shift and stretch (of x, during a zoom).
	paint(scene) {
		const c = this.context, { layout } = scene;
		this.scene = scene;
		c.globalAlpha = 1;
		c.fillStyle = this.bg;
		c.fillRect(0, 0, this.width, this.height);
		c.font = FONT;
		c.textBaseline = 'middle';
		const rows = layout.rows.length;
		let from = Math.floor(scene.scrollTop / ROW), to = Math.ceil((scene.scrollTop + this.height) / ROW);
		if (scene.isFlipped)
			[from, to] = [rows - to, rows - from];
		const boxes = layout.rows.slice(Math.max(from, 0), to).flat();
		boxes.forEach((box) => this.paintBox(box));
		this.outlineSame(boxes);
		this.outlineChosen(boxes);
		if (layout.hasPath)
			this.paintPath(layout.rows[0]);
		if (scene.view.isSandwich)
			this.outline(layout.rows[layout.top][0], this.accent, 2);
		if (scene.selected)
			this.outline(scene.selected, this.accent, 2);
		c.globalAlpha = 1;
	}

	top(row) {
		const { layout, isFlipped, scrollTop } = this.scene;
		if (row === 0 && layout.hasPath)
			return isFlipped ? this.height - ROW : 0;
		const space = isFlipped ? Math.max(this.height, layout.rows.length * ROW) - (row + 1) * ROW : row * ROW;
		return space - scrollTop;
	}

	// The row of ancestors stays in view and is not stretched.
	paintPath(boxes) {
		const c = this.context, y = this.top(0);
		c.globalAlpha = 1;
		c.fillStyle = this.bg;
		c.fillRect(0, y - 1, this.width, ROW + 1);
		for (const box of boxes) {
			const isFirst = box === boxes[0];
			c.globalAlpha = ABOVE;
			c.fillStyle = this.fillOf(this.scene.view, box);
			c.fillRect(box.x, y, box.w, ROW - 1);
			c.globalAlpha = PALE_TEXT;
			c.fillStyle = this.text;
			c.fillText(`${isFirst ? '' : NEXT.trimStart()}${this.pathText(box.node, box.more)}`, box.x + PAD, y + ROW / 2 - 0.5, Math.max(Math.min(box.w, this.width - box.x) - PAD, 1));
		}
	}

	pathText(node, more) {
		const { view } = this;
		return more ? `.. ${more}` : view.nameOf(node) < 0 ? 'all' : this.texts.short(view.nameOf(node));
	}

	// The width of a place in the row of ancestors.
	pathWidth(view, node, more) {
		this.view = view;
		this.context.font = FONT;
		return Math.ceil(this.context.measureText(NEXT + this.pathText(node, more)).width) + 2 * PAD;
	}

	left(box) {
		return box.x * this.scene.stretch + this.scene.shift;
	}

	isHit(box) {
		const { view, marks, hitInFog } = this.scene;
		// A chain has no hits: they have boxes of their own.
		return marks && (box.fog ? hitInFog(box.fog) : !box.chain && marks[view.nameOf(box.node)] > 0);
	}

	isHidden({ fog, node }) {
		const { hiddenKinds, view } = this.scene;
		return !fog && hiddenKinds.size > 0 && hiddenKinds.has(this.palette.categoryOf(view, node));
	}

	// The opacity of a box.
	strength(box, isHit) {
		return this.isHidden(box) ? HIDDEN_KIND : this.scene.marks && !isHit ? DIMMED : box.isAbove ? ABOVE : 1;
	}

	paintBox(box) {
		const { view } = this.scene;
		const x = this.left(box), full = box.w * this.scene.stretch, y = this.top(box.row);
		if (x > this.width || x + full < 0)
			return;
		const w = full > 2.5 ? full - 1 : Math.max(full, 0.5), isHit = this.isHit(box), strength = this.strength(box, isHit);
		const c = this.context;
		c.globalAlpha = strength;
		const diff = HAS_DIFF && !box.fog && view.diff, isGone = diff && diff.isGone(box.node);
		c.fillStyle = box.fog ? this.fog : isGone ? this.bg : this.fillOf(view, box);
		if (isHit && full < 4)
			c.fillStyle = this.hl;
		this.fillBox(x, y, w);
		if (HAS_JVM && this.palette.mode === 'owner' && !diff && !box.fog && full >= 4)
			edgeTier(this, view.kindOf(box.node), x, y, w);
		if (HAS_DIFF && isGone && full >= 3)
			outlineGone(this, x, y, w);
		else if (HAS_DIFF && diff && diff.isNew(box.node) && full >= 3)
			hatch(this, x, y, w);
		if (isHit && full >= 4)
			this.markHit(x, y, w);
		if (box.fog && full > FOG_LABEL)
			this.paintFogText(box, x, y, full);
		else if (!box.fog && full > 18)
			this.paintText(box, x, y, w, strength < 1 ? PALE_TEXT : 1);
	}

	fillOf(view, box) {
		return HAS_DIFF && view.diff ? diffColour(this, view.diff, box.node) : this.palette.colourOf(view, box.node, box.last);
	}

	paintFogText(box, x, y, w) {
		const c = this.context;
		c.globalAlpha = 1;
		c.fillStyle = this.fg2;
		c.fillText(plural(box.fog.nodes, 'thin frame'), x + PAD, y + ROW / 2 - 0.5, w - 2 * PAD);
	}

	fillBox(x, y, w) {
		const c = this.context;
		if (w <= 6 || !c.roundRect) {
			c.fillRect(x, y, w, ROW - 1);
			return;
		}
		c.beginPath();
		c.roundRect(x, y, w, ROW - 1, 2);
		c.fill();
	}

	// The outline has too little contrast with some kinds. A thin line in the background colour inside it
	// helps.
	markHit(x, y, w) {
		const c = this.context;
		c.lineWidth = 1;
		c.strokeStyle = this.bg;
		c.strokeRect(x + 2.5, y + 2.5, Math.max(w - 5, 0), ROW - 6);
		c.lineWidth = 2;
		c.strokeStyle = this.hl;
		c.strokeRect(x + 1, y + 1, w - 2, ROW - 3);
	}

	outline(box, colour, width) {
		const c = this.context, w = Math.max(box.w * this.scene.stretch - 1, 1);
		c.globalAlpha = 1;
		c.lineWidth = width;
		c.strokeStyle = colour;
		c.strokeRect(this.left(box) + width / 2, this.top(box.row) + width / 2, Math.max(w - width, 0.5), ROW - 1 - width);
	}

	// Outlines all visible frames of the method under the pointer.
	outlineSame(boxes) {
		const { view, hover } = this.scene;
		if (!hover || hover.fog)
			return;
		const name = view.nameOf(hover.node);
		for (const box of boxes)
			if (box !== hover && !box.fog && name >= 0 && box.w >= 2 && view.nameOf(box.node) === name)
				this.outline(box, this.fg2, 1);
		this.outline(hover, this.text, 1.5);
	}

	paintText(box, x, y, w, alpha) {
		const { view } = this.scene, c = this.context, index = view.nameOf(box.node);
		// The label stays visible when a zoom moves its box out on the left.
		const from = Math.max(x, 0) + PAD;
		const room = Math.min(x + w, this.width) - from - PAD;
		if (room < 12)
			return;
		c.globalAlpha = alpha;
		c.fillStyle = this.text;
		if (index < 0) {
			const what = HAS_DIFF && view.diff && (view.tree || view).choice.mode === 0 ? ' changed' : '', text = `all \u00b7 ${amount(view.totalOf(box.node), view.unit)}${what}`;
			if (room > 30)
				c.fillText(text, from, y + ROW / 2 - 0.5, room);
			return;
		}
		const label = this.labelOf(box, room);
		c.fillText(label.text, from, y + ROW / 2 - 0.5);
		if (!label.badge)
			return;
		c.globalAlpha = alpha * BADGE_TEXT;
		c.fillText(label.badge, from + label.at, y + ROW / 2 - 0.5);
	}

	// The text of a box, and the count of its chain with its place if there is room.
	labelOf(box, room) {
		const c = this.context, index = this.scene.view.nameOf(box.node), badge = box.chain ? `(+${box.chain})` : '';
		if (!badge)
			return { text: this.texts.fit(c, index, room), badge };
		const badgeWidth = this.wide(badge) + 6, hasRoom = room > badgeWidth + 30;
		const text = this.bothEnds(box, room - badgeWidth) || this.texts.fit(c, index, hasRoom ? room - badgeWidth : room);
		return { text, badge: hasRoom && text ? badge : '', at: this.wide(text) + 6, width: badgeWidth };
	}

	// Measuring whole texts is slow.
	wide(text) {
		return this.texts.sum(this.context, text, Infinity).width;
	}

	// The first and the last frame of a chain; "" if they do not fit.
	bothEnds({ node, last, chain }, room) {
		const c = this.context, { texts, scene: { view } } = this, between = chain > 1 ? ' > .. > ' : ' > ', left = room - this.wide(between);
		if (left < 60)
			return '';
		const half = texts.fit(c, view.nameOf(last), left / 2), first = half && texts.fit(c, view.nameOf(node), left - this.wide(half));
		const end = first && texts.fit(c, view.nameOf(last), left - this.wide(first));
		return end ? first + between + end : '';
	}

	// The place of a chain's badge, to detect clicks; null if it is not drawn.
	badgeAt(box) {
		if (!box.chain || box.fog)
			return null;
		const from = Math.max(box.x, 0) + PAD, { badge, at, width } = this.labelOf(box, Math.min(box.x + box.w - 1, this.width) - from - PAD);
		return badge ? { left: from + at - 3, right: from + at + width } : null;
	}
}

// The tier of Java code as an edge, if the colour says whose code it is.
function edgeTier({ context, tiers }, kind, x, y, w) {
	if (!isJava(kind))
		return;
	context.fillStyle = tiers[kind - 4];
	context.fillRect(x, y + ROW - 1 - TIER_EDGE, w, TIER_EDGE);
}
