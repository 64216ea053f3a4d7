// The strip above the picture of a profile that keeps time: weight over time, stacked by the kind of the code
// that ran, or a heat map with a cell per time range, column by column. A range is picked by dragging whole
// columns, by keys, or as text. With a second range the two are compared.
const ROWS_MOST = 16;
const WIDEST_CELL = 14;
const AREA_HEIGHT = 40, HEAT_HEIGHT = 112; // px, with the axis
const AXIS_HEIGHT = 13;
const COLUMN = 3; // px, the least
const SNAP = 5; // px: how near an edge or a mark of the axis attracts
const SCALE_SHARE = 0.99; // of the cells decides the scale: one long wait must not flatten all others
const SCALE_LEAST = 20;
const STACKED = [1, 2, 3, 9, 4, 5, 6, 7, 10, 8, 0]; // kinds from the bottom up
const TIME_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 7200, 21600, 86400];

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
		this.canvas.addEventListener('pointerdown', (e) => this.grab(e));
		this.canvas.addEventListener('pointermove', (e) => this.move(e));
		this.canvas.addEventListener('pointerup', () => this.drop());
		this.canvas.addEventListener('pointercancel', () => {
			this.drag = null;
			this.paint();
		});
		this.canvas.addEventListener('pointerleave', () => this.say(''));
		this.canvas.addEventListener('keydown', (e) => this.key(e));
		$('wholetime').addEventListener('click', () => this.pick(null));
		$('secondtime').addEventListener('click', () => this.wantSecond(!this.wantsSecond));
		$('timerange').addEventListener('input', () => { this.isTyped = true; });
		$('timerange').addEventListener('change', () => this.read());
		$('timerange').addEventListener('keydown', (e) => {
			if (e.key === 'Escape') {
				this.isTyped = false;
				this.describe();
				this.canvas.focus();
			}
			e.stopPropagation();
		});
	}

	// The dimension of time. null if the profile has none or the type's weights have no time.
	static dimOf(profile, type) {
		const { labels } = profile;
		return labels && labels.ofType[type] ? labels.dims.find(isTime) || null : null;
	}

	wantSecond(wants) {
		this.wantsSecond = wants && Boolean(this.app.state.time);
		press($('secondtime'), this.wantsSecond);
		this.say(this.wantsSecond ? 'drag the range to compare with' : '');
	}

	// Weighs the time ranges, for the picked processes, threads, ..
	update() {
		const { app } = this, { profile, state } = app, dim = Timeline.dimOf(profile, state.type);
		const isShown = Boolean(dim) && (!app.isTimeHidden || Boolean(state.time));
		$('timeline').hidden = !isShown;
		if (!isShown)
			return;
		const { labels, frames, nodes } = profile, own = labels.ofType[state.type], sets = app.setsOf({ ...state, time: null });
		const last = Math.max(dim.ends.reduce((a, b) => Math.max(a, b), 1), Math.ceil((profile.meta.duration_ns || 0) / dim.widthNs)) - 1;
		this.height = state.isHeat ? HEAT_HEIGHT : AREA_HEIGHT;
		$('timeline').classList.toggle('heat', state.isHeat);
		const width = Math.max(this.canvas.parentElement.clientWidth, 100), most = state.isHeat ? Math.floor(width / 4) * ROWS_MOST : Math.floor(width / COLUMN);
		this.per = Math.max(1, Math.ceil((last + 1) / most));
		this.dim = dim;
		// Slices of continuous profiling: people know when something happened, not after how many seconds.
		this.startMs = dim.widthNs >= 1e10 && Number(profile.meta.start_ns) / 1e6;
		const nr = Math.ceil((last + 1) / this.per);
		this.series = this.weighCells(own, sets, nr, (node) => (node ? frames.kind[nodes.frame[node]] : 0));
		this.cells = new Float64Array(nr);
		for (let i = 0; i < this.series.length; i++)
			this.cells[i % nr] += this.series[i];
		this.most = scaleOf(this.cells);
		this.rows = state.isHeat ? clamp(Math.ceil(nr * WIDEST_CELL / width), 1, ROWS_MOST) : 1;
		this.columns = Math.ceil(nr / this.rows);
		this.cell = width / this.columns;
		this.width = width;
		const column = this.seconds(this.rows);
		this.step = TIME_STEPS.find((s) => s / column * this.cell >= 56) || 86400;
		this.describe();
		this.paint();
	}

	// The weights of cells; with `kindOf`, of each kind's cells one after another. A long weight is added
	// directly to its first and last cell. The cells between get it through its begin and end in `steps`.
	weighCells({ node, set, weight }, sets, nr, kindOf = null) {
		const all = kindOf ? KINDS.length : 1, cells = new Float64Array(all * nr), steps = new Float64Array(all * (nr + 1)), { dim, per } = this;
		for (let i = 0; i < node.length; i++) {
			const v = dim.ofSet[set[i]], first = dim.values[v], end = dim.ends[v], whole = weight[i] * (sets ? sets[set[i]] : 1);
			const from = Math.floor(first / per), to = Math.floor((end - 1) / per), perSlot = whole / (end - first);
			if (first < 0 || !whole)
				continue;
			const kind = kindOf ? kindOf(node[i]) : 0, at = kind * nr, step = kind * (nr + 1);
			if (from === to) {
				cells[at + from] += whole;
				continue;
			}
			cells[at + from] += perSlot * ((from + 1) * per - first);
			cells[at + to] += perSlot * (end - to * per);
			steps[step + from + 1] += perSlot * per;
			steps[step + to] -= perSlot * per;
		}
		// Sums of fractions may end slightly off zero.
		const least = steps.reduce((most, step) => Math.max(most, step), 0) * 1e-9;
		for (let kind = 0; kind < all; kind++)
			for (let i = 0, level = 0; i < nr; i++) {
				level += steps[kind * (nr + 1) + i];
				cells[kind * nr + i] += level > least ? level : 0;
			}
		return cells;
	}

	seconds(cell) {
		return cell * this.per * this.dim.widthNs / 1e9;
	}

	// The time under the pointer as a fraction of columns.
	placeOf(e) {
		return clamp(e.offsetX / this.cell, 0, this.columns);
	}

	// Near an edge of the range, a drag moves that edge.
	grab(e) {
		const at = this.placeOf(e), { time, versus } = this.app.state, isSecond = Boolean(time) && (e.shiftKey || this.wantsSecond);
		const range = !e.shiftKey && !this.wantsSecond && time && !versus ? time.map((slot) => slot / this.per / this.rows) : [];
		const near = range.findIndex((edge) => Math.abs(edge - at) * this.cell <= SNAP);
		this.canvas.setPointerCapture(e.pointerId);
		this.drag = { from: near < 0 ? at : range[1 - near], to: at, isSecond, isEdge: near >= 0 };
		this.paint();
	}

	// The slots of a drag: whole columns, or up to a mark of the axis nearby.
	rangeOf({ from, to, isEdge }) {
		const mark = Math.max(this.step / this.seconds(this.rows), 1), all = this.cells.length * this.per;
		const edge = (x, round) => {
			const snapped = Math.round(x / mark) * mark;
			return Math.abs(snapped - x) * this.cell <= SNAP ? Math.round(snapped * this.rows * this.per) : round(x) * this.rows * this.per;
		};
		const start = edge(Math.min(from, to), isEdge ? Math.round : Math.floor), end = edge(Math.max(from, to), isEdge ? Math.round : Math.ceil);
		return [Math.min(start, all - 1), Math.min(Math.max(end, start + this.rows * this.per), all)];
	}

	move(e) {
		const at = this.placeOf(e), { cells, per } = this;
		if (this.drag) {
			this.drag.to = at;
			this.paint();
		}
		const [from, to] = this.rangeOf(this.drag || { from: Math.floor(at), to: Math.floor(at) + 0.5 });
		const weight = cells.subarray(Math.floor(from / per), Math.ceil(to / per)).reduce((a, b) => a + b, 0);
		const second = this.dim.widthNs / 1e9, text = this.startMs ? `${this.clockText(from * second)} to ${this.clockText(to * second)}` : this.timeText([from, to]);
		this.say(`${text} \u00b7 ${amount(weight, this.app.tree.unit)}`);
	}

	clockText(seconds) {
		const d = new Date(this.startMs + seconds * 1000);
		return [d.getHours(), d.getMinutes(), d.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
	}

	timeText([from, to]) {
		const second = this.dim.widthNs / 1e9, digits = [from, to].every((x) => Math.abs(x * second * 10 - Math.round(x * second * 10)) < 1e-6) ? 1 : 2;
		return `${(from * second).toFixed(digits)}-${(to * second).toFixed(digits)} s`;
	}

	// Reads "3-5 s", or "3-5 vs 6:00-8:00".
	read() {
		const text = $('timerange').value, second = this.dim.widthNs / 1e9, all = this.cells.length * this.per;
		this.isTyped = false;
		const seconds = (t) => t.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
		const ranges = text.split(/vs|,/).map((part) => /^\s*([\d.:]+)\s*s?\s*(?:-|\u2013|to)\s*([\d.:]+)\s*s?\s*$/.exec(part))
			.map((m) => m && [Math.round(seconds(m[1]) / second), Math.min(Math.round(seconds(m[2]) / second), all)]);
		const isWrong = ranges.some((r) => !r || !(r[0] >= 0 && r[1] > r[0]));
		if (!text.trim())
			this.pick(null);
		else if (isWrong || ranges.length > 2)
			this.say('write a range as 3.0-5.0 s', true);
		else
			this.app.change({ time: ranges[0], versus: ranges[1] || null }, true);
	}

	pick(time, isStep = true) {
		this.app.change({ time, versus: null, mode: 0 }, isStep);
	}

	drop() {
		const { drag } = this;
		this.drag = null;
		if (!drag)
			return;
		const range = this.rangeOf(drag), isSecond = drag.isSecond && this.app.state.time;
		this.wantSecond(false);
		if (isSecond)
			this.app.change({ versus: range }, true);
		else
			this.pick(range);
	}

	// Arrows move the range by columns, Shift and arrows its end, Home takes the whole. Moves of a range are one
	// step of the history.
	key(e) {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key] * this.rows * this.per, all = this.cells.length * this.per, one = this.rows * this.per;
		const { time } = this.app.state, [from, to] = time || (by > 0 ? [-one, 0] : [all, all + one]);
		if (e.key === 'Home')
			this.pick(null);
		else if (by && e.shiftKey && time)
			this.pick([from, clamp(to + by, from + 1, all)], false);
		else if (by)
			this.pick([clamp(from + by, 0, all - to + from), clamp(to + by, to - from, all)], !time);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
		this.app.say(this.description);
	}

	say(text, isWrong = false) {
		$('timesays').textContent = text || this.description || '';
		$('timesays').classList.toggle('warn', isWrong);
	}

	describe() {
		const { time, versus } = this.app.state, whole = this.timeText([0, this.cells.length * this.per]);
		const column = this.seconds(this.rows);
		this.description = versus ? `${this.timeText(time)} before, ${this.timeText(versus)} after` : time ? `${this.timeText(time)} of ${whole}`
			: `${column < 1 ? `${Math.round(column * 1000)} ms` : `${column} s`} a column; drag picks a range`;
		if (!this.isTyped)
			$('timerange').value = time ? this.timeText(time) + (versus ? ` vs ${this.timeText(versus)}` : '') : '';
		$('timerange').placeholder = whole;
		$('wholetime').hidden = $('secondtime').hidden = !time;
		for (const [key, value] of [['min', 0], ['max', this.cells.length * this.per], ['now', time ? time[0] : 0], ['text', time ? this.description : 'the whole time']])
			this.canvas.setAttribute(`aria-value${key}`, value);
		this.say('');
	}

	paint() {
		const { painter, state } = this.app, c = this.canvas.getContext('2d'), ratio = devicePixelRatio || 1, { width, height } = this;
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		c.scale(ratio, ratio);
		c.fillStyle = painter.bg;
		c.fillRect(0, 0, width, height);
		const ranges = [state.time, state.versus];
		if (this.drag)
			ranges[this.drag.isSecond && state.time ? 1 : 0] = this.rangeOf(this.drag);
		if (state.isHeat)
			this.paintHeat(c);
		else
			this.paintArea(c);
		this.paintRanges(c, ranges.filter(Boolean).map((r) => r.map((slot) => slot / this.per / this.rows * this.cell)));
		this.paintAxis(c);
	}

	paintArea(c) {
		const { painter } = this.app, nr = this.cells.length, bottom = this.height - AXIS_HEIGHT, high = bottom / this.most;
		const tops = new Float64Array(nr).fill(bottom);
		for (const kind of STACKED) {
			c.fillStyle = painter.kinds[kind];
			for (let i = 0; i < nr; i++) {
				const h = Math.min(this.series[kind * nr + i] * high, tops[i]);
				if (h > 0)
					c.fillRect(i * this.cell, tops[i] - h, this.cell + 0.3, h);
				tops[i] -= h;
			}
		}
		// Columns beyond the scale.
		c.fillStyle = painter.text;
		for (let i = 0; i < nr; i++)
			if (this.cells[i] > this.most * 1.001)
				c.fillRect(i * this.cell, 0, Math.max(this.cell, 2), 2);
	}

	paintHeat(c) {
		const h = (this.height - AXIS_HEIGHT) / this.rows;
		for (let i = 0; i < this.cells.length; i++) {
			c.fillStyle = this.colour(this.cells[i]);
			c.fillRect(Math.floor(i / this.rows) * this.cell, i % this.rows * h, Math.max(this.cell - 1, 1), h - 0.75);
		}
	}

	// Fades the time outside of the ranges.
	paintRanges(c, ranges) {
		const { painter } = this.app, bottom = this.height - AXIS_HEIGHT;
		if (!ranges.length)
			return;
		c.globalAlpha = 0.75;
		c.fillStyle = painter.bg;
		let x = 0;
		for (const [from, to] of [...ranges, [this.width, this.width]].sort((a, b) => a[0] - b[0])) {
			c.fillRect(x, 0, Math.max(from - x, 0), bottom);
			x = Math.max(x, to);
		}
		c.globalAlpha = 1;
		ranges.forEach(([from, to], i) => {
			c.fillStyle = i ? painter.more : ranges[1] ? painter.less : painter.accent;
			c.fillRect(from, bottom, Math.max(to - from, 2), 2);
			c.fillRect(from - 1, 0, 2, bottom);
			c.fillRect(to - 1, 0, 2, bottom);
		});
	}

	colour(weight) {
		const { painter } = this.app, part = Math.min(weight / this.most, 1);
		if (!weight)
			return painter.fog;
		return part < 0.5 ? mix(painter.heat[0], painter.heat[1], part * 2) : mix(painter.heat[1], painter.heat[2], part * 2 - 1);
	}

	paintAxis(c) {
		const { painter } = this.app, column = this.seconds(this.rows), all = this.seconds(this.cells.length), top = this.height - AXIS_HEIGHT;
		c.fillStyle = painter.fg2;
		c.font = `10.5px ${FONT.slice(FONT.indexOf(' ') + 1)}`;
		c.textBaseline = 'alphabetic';
		for (let i = 0; i * this.step <= all; i++) {
			const t = i * this.step, x = t / column * this.cell;
			c.fillRect(x, top + 2, 1, 4);
			if (x + (this.startMs ? 50 : 30) < this.width)
				c.fillText(this.startMs ? this.clockText(t) : this.step < 1 ? `${t.toFixed(this.step < 0.1 ? 2 : 1)} s` : t >= 60 ? `${Math.floor(t / 60)}:${String(Math.round(t % 60)).padStart(2, '0')}` : `${Math.round(t)} s`, x + 3, this.height - 2);
		}
	}
}

// The weight of a full cell: that of the 99th percentile, so that a few outliers are cut off.
function scaleOf(cells) {
	const sorted = cells.filter((weight) => weight > 0).sort();
	return sorted[sorted.length < SCALE_LEAST ? sorted.length - 1 : Math.floor((sorted.length - 1) * SCALE_SHARE)] || 1;
}
