// A strip beside a picture that is higher than its window. It shows all rows in small, and the window's
// position.
const MINIMAP_WIDTH = 56;
const MINIMAP_FROM = 1.5; // heights of the window
const MINIMAP_UNTIL = 1.2;

class Minimap {
	constructor(app) {
		this.app = app;
		this.canvas = $('minimap');
		this.picture = element('canvas'); // all rows; the visible canvas adds the window's frame
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
		this.isOld = true;
		$('flame').classList.toggle('high', isShown);
		return was !== isShown;
	}

	paintRows(height) {
		const { app } = this, rows = app.layout.rows.length, { layout, painter, view } = app, ratio = devicePixelRatio || 1, c = this.picture.getContext('2d', { alpha: false });
		for (const canvas of [this.canvas, this.picture]) {
			canvas.width = MINIMAP_WIDTH * ratio;
			canvas.height = height * ratio;
		}
		this.canvas.getContext('2d').scale(ratio, ratio);
		c.scale(ratio, ratio);
		c.fillStyle = painter.bg;
		c.fillRect(0, 0, MINIMAP_WIDTH, height);
		const step = Math.max(1, Math.floor(rows / height / 2)), h = Math.max(height / rows, 0.5), x = MINIMAP_WIDTH / painter.width;
		for (let row = 0; row < rows; row += step) {
			const y = (app.state.isFlipped ? rows - 1 - row : row) * height / rows;
			for (const box of layout.rows[row]) {
				c.fillStyle = box.fog ? painter.fog : painter.fillOf(view, box);
				c.fillRect(box.x * x, y, Math.max(box.w * x, 0.4), h * step);
			}
		}
	}

	paint() {
		if (this.canvas.hidden)
			return;
		const box = $('scroll'), { painter } = this.app, c = this.canvas.getContext('2d'), height = this.height(), all = box.scrollHeight;
		if (this.isOld)
			this.paintRows(height);
		this.isOld = false;
		c.drawImage(this.picture, 0, 0, MINIMAP_WIDTH, height);
		c.lineWidth = 1.5;
		c.strokeStyle = painter.accent;
		c.strokeRect(1, box.scrollTop / all * height + 1, MINIMAP_WIDTH - 2, Math.max(box.clientHeight / all * height - 2, 4));
	}
}
