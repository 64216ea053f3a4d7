// The strip above the picture of a profile that keeps time: a cell per time range, column by column, darker
// for more weight. Dragging picks a range. With a second range the two are compared.
const ROWS_MOST = 16;
const WIDEST_CELL = 14;
const STRIP_HEIGHT = 112;
const AXIS_HEIGHT = 18;

const isTime = (dim) => dim.isNumeric && dim.name === 'time' && dim.widthNs > 0 && dim.values.length > 0;

// The share of a value's slots that lies in [from, to).
function shareOfTime({ values, ends }, v, [from, to]) {
	return Math.max(0, Math.min(ends[v], to) - Math.max(values[v], from)) / (ends[v] - values[v]);
}

class Timeline {
	constructor(app) {
		this.app = app;
		this.canvas = $('heat');
		this.drag = null;
		const at = (e) => this.cellAt(e);
		this.canvas.addEventListener('pointerdown', (e) => {
			this.canvas.setPointerCapture(e.pointerId);
			this.drag = { from: at(e), to: at(e), isSecond: e.shiftKey || this.wantsSecond };
			this.paint();
		});
		this.canvas.addEventListener('pointermove', (e) => this.move(e));
		this.canvas.addEventListener('pointerup', () => this.drop());
		this.canvas.addEventListener('pointercancel', () => {
			this.drag = null;
			this.paint();
		});
		this.canvas.addEventListener('pointerleave', () => this.say(''));
		$('wholetime').addEventListener('click', () => app.change({ time: null, versus: null }, true));
		$('secondtime').addEventListener('click', () => this.wantSecond(!this.wantsSecond));
	}

	// The dimension of time. null if the profile has none or the type's weights have no time.
	static dimOf(profile, type) {
		const { labels } = profile;
		return labels && labels.ofType[type] ? labels.dims.find(isTime) || null : null;
	}

	wantSecond(wants) {
		this.wantsSecond = wants && Boolean(this.app.state.time);
		$('secondtime').setAttribute('aria-pressed', String(this.wantsSecond));
		this.say(this.wantsSecond ? 'drag the range to compare with' : '');
	}

	// Weighs the time ranges, for the picked processes, threads, ..
	update() {
		const { app } = this, { profile, state } = app, dim = Timeline.dimOf(profile, state.type);
		const isShown = Boolean(dim) && !app.isTimeHidden;
		$('timeline').hidden = !isShown;
		document.body.classList.toggle('timed', isShown);
		if (!isShown)
			return;
		const { labels } = profile, own = labels.ofType[state.type], sets = app.setsOf({ ...state, time: null });
		const last = Math.max(dim.ends.reduce((a, b) => Math.max(a, b), 1), Math.ceil((profile.meta.duration_ns || 0) / dim.widthNs)) - 1;
		const width = Math.max(this.canvas.parentElement.clientWidth, 100), most = Math.max(1, Math.floor(width / 4)) * ROWS_MOST;
		this.per = Math.max(1, Math.ceil((last + 1) / most));
		this.dim = dim;
		this.cells = this.weighCells(own, sets, Math.ceil((last + 1) / this.per));
		this.most = this.cells.reduce((a, b) => Math.max(a, b), 0) || 1;
		this.rows = clamp(Math.ceil(this.cells.length * WIDEST_CELL / width), 1, ROWS_MOST);
		this.columns = Math.ceil(this.cells.length / this.rows);
		this.cell = width / this.columns;
		this.width = width;
		this.describe();
		this.paint();
	}

	// A long weight is added directly to its first and last cell. The cells between get it through its
	// begin and end in `steps`.
	weighCells({ node, set, weight }, sets, nr) {
		const cells = new Float64Array(nr), steps = new Float64Array(nr + 1), { dim, per } = this;
		let level = 0;
		for (let i = 0; i < node.length; i++) {
			const v = dim.ofSet[set[i]], first = dim.values[v], end = dim.ends[v], whole = weight[i] * (sets ? sets[set[i]] : 1);
			const from = Math.floor(first / per), to = Math.floor((end - 1) / per), perSlot = whole / (end - first);
			if (first < 0 || !whole)
				continue;
			if (from === to) {
				cells[from] += whole;
				continue;
			}
			cells[from] += perSlot * ((from + 1) * per - first);
			cells[to] += perSlot * (end - to * per);
			steps[from + 1] += perSlot * per;
			steps[to] -= perSlot * per;
		}
		// Sums of fractions may end slightly off zero.
		const least = steps.reduce((most, step) => Math.max(most, step), 0) * 1e-9;
		for (let i = 0; i < nr; i++) {
			level += steps[i];
			cells[i] += level > least ? level : 0;
		}
		return cells;
	}

	seconds(cell) {
		return cell * this.per * this.dim.widthNs / 1e9;
	}

	cellAt(e) {
		const column = clamp(Math.floor(e.offsetX / this.cell), 0, this.columns - 1);
		const row = clamp(Math.floor(e.offsetY / ((STRIP_HEIGHT - AXIS_HEIGHT) / this.rows)), 0, this.rows - 1);
		return Math.min(column * this.rows + row, this.cells.length - 1);
	}

	move(e) {
		const cell = this.cellAt(e);
		if (this.drag && this.drag.to !== cell) {
			this.drag.to = cell;
			this.paint();
		}
		const [from, to] = this.drag ? [Math.min(this.drag.from, cell), Math.max(this.drag.from, cell)] : [cell, cell];
		const weight = this.cells.subarray(from, to + 1).reduce((a, b) => a + b, 0);
		this.say(`${this.timeText(from, to + 1)} \u00b7 ${amount(weight, this.app.tree.unit)}`);
	}

	timeText(from, to) {
		const digits = this.per * this.dim.widthNs < 1e9 ? 2 : 0;
		return `${this.seconds(from).toFixed(digits)} to ${this.seconds(to).toFixed(digits)} s`;
	}

	drop() {
		const { drag } = this;
		this.drag = null;
		if (!drag)
			return;
		const range = [Math.min(drag.from, drag.to) * this.per, (Math.max(drag.from, drag.to) + 1) * this.per];
		const isSecond = drag.isSecond && this.app.state.time;
		this.wantSecond(false);
		this.app.change(isSecond ? { versus: range } : { time: range, versus: null }, true);
	}

	say(text) {
		$('timesays').textContent = text || this.description || '';
	}

	describe() {
		const { time, versus } = this.app.state, text = (r) => this.timeText(r[0] / this.per, r[1] / this.per);
		this.description = !time ? `${this.seconds(1) < 1 ? `${Math.round(this.seconds(1) * 1000)} ms` : `${this.seconds(1)} s`} a cell; drag to pick a range`
			: versus ? `before: ${text(time)}, after: ${text(versus)}` : text(time);
		$('wholetime').hidden = $('secondtime').hidden = !time;
		this.say('');
	}

	paint() {
		const { painter, state } = this.app, c = this.canvas.getContext('2d'), ratio = devicePixelRatio || 1;
		const h = (STRIP_HEIGHT - AXIS_HEIGHT) / this.rows;
		this.canvas.width = this.width * ratio;
		this.canvas.height = STRIP_HEIGHT * ratio;
		this.canvas.style.width = `${this.width}px`;
		c.scale(ratio, ratio);
		c.fillStyle = painter.bg;
		c.fillRect(0, 0, this.width, STRIP_HEIGHT);
		const ranges = [state.time, state.versus].map((r) => r && [r[0] / this.per, r[1] / this.per]);
		if (this.drag)
			ranges[this.drag.isSecond && state.time ? 1 : 0] = [Math.min(this.drag.from, this.drag.to), Math.max(this.drag.from, this.drag.to) + 1];
		const isIn = (r, i) => r && i >= r[0] && i < r[1];
		for (let i = 0; i < this.cells.length; i++) {
			const x = Math.floor(i / this.rows) * this.cell, y = i % this.rows * h, isPicked = isIn(ranges[0], i) || isIn(ranges[1], i);
			c.globalAlpha = ranges[0] && !isPicked ? 0.25 : 1;
			c.fillStyle = this.colour(this.cells[i]);
			c.fillRect(x, y, Math.max(this.cell - 1, 1), h - 0.75);
		}
		c.globalAlpha = 1;
		ranges.forEach((r, i) => {
			if (!r)
				return;
			const from = Math.floor(r[0] / this.rows), to = Math.ceil(r[1] / this.rows);
			c.fillStyle = i ? painter.more : ranges[1] ? painter.less : painter.accent;
			c.fillRect(from * this.cell, STRIP_HEIGHT - AXIS_HEIGHT, Math.max((to - from) * this.cell - 1, 2), 3);
		});
		this.paintAxis(c);
	}

	colour(weight) {
		const { painter } = this.app, part = weight / this.most;
		if (!weight)
			return painter.fog;
		return part < 0.5 ? mix(painter.heat[0], painter.heat[1], part * 2) : mix(painter.heat[1], painter.heat[2], part * 2 - 1);
	}

	paintAxis(c) {
		const { painter } = this.app, column = this.seconds(this.rows), all = this.seconds(this.cells.length);
		const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 7200, 21600, 86400].find((s) => s / column * this.cell >= 56) || 86400;
		c.fillStyle = painter.fg2;
		c.font = `11px ${FONT.slice(FONT.indexOf(' ') + 1)}`;
		c.textBaseline = 'alphabetic';
		for (let t = 0; t <= all; t += step) {
			const x = t / column * this.cell;
			c.fillRect(x, STRIP_HEIGHT - AXIS_HEIGHT + 3, 1, 4);
			if (x + 30 < this.width)
				c.fillText(step < 1 ? `${t.toFixed(1)} s` : t >= 60 ? `${Math.floor(t / 60)}:${String(Math.round(t % 60)).padStart(2, '0')}` : `${Math.round(t)} s`, x + 3, STRIP_HEIGHT - 4);
		}
	}
}
