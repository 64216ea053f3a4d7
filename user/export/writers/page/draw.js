// Paints the visible rows of a layout on a canvas of the viewport's size.
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const PAD = 4;
const HIDDEN_KIND = 0.25;
const DIMMED = 0.6;
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
		this.fog = colour('--fog');
		this.less = colour('--less');
		this.same = colour('--same');
		this.more = colour('--more');
		this.bg = colour('--bg');
		this.fg2 = colour('--fg2');
		this.text = colour('--frame-text');
		this.hl = colour('--hl');
		this.accent = colour('--accent');
		this.line = colour('--line');
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
		for (let row = Math.max(0, from); row < Math.min(rows, to); row++)
			for (const box of layout.rows[row])
				this.paintBox(box);
		this.outlineSame(from, to);
		if (scene.view.isSandwich)
			this.outline(layout.rows[layout.top][0], this.accent, 2);
		if (scene.selected)
			this.outline(scene.selected, this.accent, 2);
		c.globalAlpha = 1;
	}

	// A copy of the visible picture.
	picture() {
		const { width, height, ratio } = this, copy = element('canvas');
		copy.width = Math.round(width * ratio);
		copy.height = Math.round(height * ratio);
		copy.getContext('2d').drawImage(this.canvas, 0, 0);
		return copy;
	}

	top(row) {
		const { layout, isFlipped, scrollTop } = this.scene;
		const space = isFlipped ? Math.max(this.height, layout.rows.length * ROW) - (row + 1) * ROW : row * ROW;
		return space - scrollTop;
	}

	left(box) {
		return box.x * this.scene.stretch + this.scene.shift;
	}

	isHit(box) {
		const { view, marks, hitInFog } = this.scene;
		if (box.fog)
			return hitInFog(box.fog);
		for (let node = box.last, left = box.chain; left >= 0; node = view.parentOf(node), left--)
			if (view.nameOf(node) >= 0 && marks[view.nameOf(node)])
				return true;
		return false;
	}

	paintBox(box) {
		const { marks, hiddenKinds, view } = this.scene;
		const x = this.left(box), full = box.w * this.scene.stretch, y = this.top(box.row);
		if (x > this.width || x + full < 0)
			return;
		const w = full > 2.5 ? full - 1 : Math.max(full, 0.5), isHit = marks && this.isHit(box);
		const isHidden = !box.fog && hiddenKinds.size > 0 && hiddenKinds.has(this.palette.categoryOf(view, box.node));
		const c = this.context;
		c.globalAlpha = isHidden ? HIDDEN_KIND : marks && !isHit ? DIMMED : box.isAbove ? 0.55 : 1;
		const diff = box.fog ? null : view.diff, isGone = diff && diff.isGone(box.node);
		c.fillStyle = box.fog ? this.fog : isGone ? this.bg : this.fillOf(view, box);
		if (isHit && full < 4)
			c.fillStyle = this.hl;
		this.fillBox(x, y, w);
		if (isGone && full >= 3)
			this.outlineGone(x, y, w);
		else if (diff && diff.isNew(box.node) && full >= 3)
			this.hatch(x, y, w);
		if (isHit && full >= 4)
			this.markHit(x, y, w);
		if (box.fog && full > FOG_LABEL)
			this.paintFogText(box, x, y, full);
		else if (!box.fog && full > 18)
			this.paintText(box, x, y, w, isHidden ? 0.4 : marks && !isHit ? 0.8 : box.isAbove ? 0.75 : 1);
	}

	fillOf(view, box) {
		return view.diff ? this.diffColour(view.diff, box.node) : this.palette.colourOf(view, box.node, box.last);
	}

	diffColour(diff, node) {
		const change = diff.isChance(node) ? 0 : diff.change(node);
		return mix(this.same, change < 0 ? this.less : this.more, Math.abs(change));
	}

	outlineGone(x, y, w) {
		const c = this.context;
		c.lineWidth = 1.5;
		c.strokeStyle = this.less;
		c.strokeRect(x + 1, y + 1, w - 2, ROW - 3);
	}

	hatch(x, y, w) {
		const c = this.context, from = Math.max(x, 0), to = Math.min(x + w, this.width);
		c.save();
		c.beginPath();
		c.rect(x, y, w, ROW - 1);
		c.clip();
		c.globalAlpha *= 0.35;
		c.lineWidth = 1.5;
		c.strokeStyle = this.bg;
		c.beginPath();
		for (let at = from - (from - x) % 8 - ROW; at < to; at += 8) {
			c.moveTo(at, y + ROW);
			c.lineTo(at + ROW, y);
		}
		c.stroke();
		c.restore();
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
	outlineSame(from, to) {
		const { layout, view, hover } = this.scene;
		if (!hover || hover.fog)
			return;
		const name = view.nameOf(hover.node), rows = layout.rows;
		for (let row = Math.max(0, from); row < Math.min(rows.length, to); row++)
			for (const box of rows[row])
				if (box !== hover && !box.fog && name >= 0 && box.w >= 2 && view.nameOf(box.node) === name)
					this.outline(box, this.fg2, 1);
		this.outline(hover, this.text, 1.5);
	}

	paintText(box, x, y, w, alpha) {
		const { view } = this.scene, c = this.context, index = view.nameOf(box.node);
		// The label stays visible when a zoom moves its box out on the left.
		const from = Math.max(x, 0) + PAD, badge = box.chain ? `(+${box.chain})` : '';
		let room = Math.min(x + w, this.width) - from - PAD;
		if (room < 12)
			return;
		c.globalAlpha = alpha;
		c.fillStyle = this.text;
		if (index < 0) {
			const what = view.diff && (view.tree || view).choice.mode === 0 ? ' changed' : '', text = `all \u00b7 ${amount(view.totalOf(box.node), view.unit)}${what}`;
			if (room > 30)
				c.fillText(text, from, y + ROW / 2 - 0.5, room);
			return;
		}
		const badgeWidth = badge ? c.measureText(badge).width + 6 : 0;
		if (badge && room > badgeWidth + 30)
			room -= badgeWidth;
		const text = this.texts.fit(c, index, room);
		c.fillText(text, from, y + ROW / 2 - 0.5);
		if (!badge || !text || room + badgeWidth + PAD > w)
			return;
		c.globalAlpha = alpha * 0.6;
		c.fillText(badge, from + c.measureText(text).width + 6, y + ROW / 2 - 0.5);
	}

	// The place of a chain's badge, to detect clicks; null if it is not drawn.
	badgeAt(box) {
		if (!box.chain || box.fog)
			return null;
		const c = this.context, w = box.w - 1, badge = c.measureText(`(+${box.chain})`).width + 6;
		const room = w - 2 * PAD - badge;
		if (room <= 30)
			return null;
		const text = this.texts.fit(c, this.scene.view.nameOf(box.node), room);
		if (!text)
			return null;
		const left = box.x + PAD + c.measureText(text).width + 3;
		return { left, right: left + badge + 6 };
	}
}
