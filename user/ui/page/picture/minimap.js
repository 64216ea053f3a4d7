// A strip beside a picture that is higher than its window. It shows all rows in small, and the window's
// position.
const MINIMAP_WIDTH = 56;
const MINIMAP_FROM = 1.5; // heights of the window
const MINIMAP_UNTIL = 1.2;

class Minimap {
	constructor(app) {
		this.app = app;
		this.canvas = $('minimap');
		this.canvas.addEventListener('pointerdown', (e) => {
			this.canvas.setPointerCapture(e.pointerId);
			this.scrollTo(e);
		});
		this.canvas.addEventListener('pointermove', (e) => e.buttons && this.scrollTo(e));
	}

	height() {
		return this.app.painter.height;
	}

	scrollTo(e) {
		const box = $('scroll');
		box.scrollTop = e.offsetY / this.height() * box.scrollHeight - box.clientHeight / 2;
	}

	// Updates after a change of the layout. Returns whether the width of the large picture has changed
	// too.
	update() {
		const was = !this.canvas.hidden, from = was ? MINIMAP_UNTIL : MINIMAP_FROM;
		const isShown = this.app.layout.rows.length * ROW > this.height() * from && this.app.painter.width + (was ? STRIP : 0) > 500;
		this.canvas.hidden = !isShown;
		$('flame').classList.toggle('high', isShown);
		return was !== isShown;
	}

	// Sets pixels; drawing thousands of boxes on a canvas takes longer. A box that is narrower than a pixel has
	// every third one, because many of them side by side must not look like a broad one. The first of them
	// within a pixel is shown.
	paintRows(height) {
		const { app, canvas } = this, { layout: { rows }, painter, view } = app, ratio = devicePixelRatio || 1, c = canvas.getContext('2d'), words = {};
		canvas.width = MINIMAP_WIDTH * ratio;
		canvas.height = height * ratio;
		const word = (colour) => {
			if (!words[colour]) {
				c.fillStyle = colour;
				words[colour] = +c.fillStyle.replace(/#(..)(..)(..)/, '0xff$3$2$1');
			}
			return words[colour];
		};
		const { width } = this.image = c.createImageData(canvas.width, canvas.height), x = width / painter.width, y = canvas.height / rows.length, pixels = new Uint32Array(this.image.data.buffer).fill(word(painter.bg));
		rows.forEach((boxes, i) => {
			const row = app.state.isFlipped ? rows.length - 1 - i : i;
			let last = -1;
			for (const box of boxes) {
				const from = Math.max(Math.floor(box.x * x), 0), to = Math.min(Math.floor((box.x + box.w) * x), width);
				if (from === last && to <= from)
					continue;
				last = from;
				const colour = word(box.fog ? painter.fog : painter.fillOf(view, box));
				for (let line = Math.floor(row * y); line < Math.floor(row * y + y); line += to > from ? 1 : 3)
					pixels.fill(colour, line * width + from, line * width + Math.max(to, from + 1));
			}
		});
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	paint() {
		if (this.canvas.hidden)
			return;
		const box = $('scroll'), { painter } = this.app, c = this.canvas.getContext('2d'), height = this.height(), all = box.scrollHeight;
		const { app } = this, { layout, state } = app;
		if (app.isOther('minimap', [layout, app.tree.diff, state.colour, state.own, state.isFlipped, state.isAbsolute, painter.isDark, height, painter.width, devicePixelRatio]))
			this.paintRows(height);
		c.putImageData(this.image, 0, 0);
		c.lineWidth = 1.5;
		c.strokeStyle = painter.accent;
		c.strokeRect(1, box.scrollTop / all * height + 1, MINIMAP_WIDTH - 2, Math.max(box.clientHeight / all * height - 2, 4));
	}
}
