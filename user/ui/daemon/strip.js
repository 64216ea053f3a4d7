// Continuous profiling: the use of each service as a row, of CPU or of another event. A drag over a row opens that
// range.
import { get, post, serverTime } from './api.js';
import { gapsOf, meanOf, perCovered } from './means.js';
import { $, announce, bytes, clock, day, duration, earlier, el, gapText, localTime, showError, weekday } from './dom.js';

const HOUR_MS = 3600 * 1000;
const REFRESH_MS = 10000;
const SLICE_MS = 10000;
const ROWS_FIRST = 12;
const HEIGHT = 40;
const RANGE_MS = 10 * 60 * 1000; // of the fields at first
const DRAG_LEAST = 4; // pixels
const SHARE_LEAST = 0.01; // of the node; smaller services are in the row "other"
const NODE = { id: 'node', name: 'Whole node', service: '' }, OTHER = { id: 'other', name: 'other', service: '' };

// Names of events, and their values per ms as people read them.
const EVENTS = {
	cpu: { name: 'CPU', text: (n) => `${cpus(n)} CPUs` },
	offcpu: { name: 'Waits', text: (n) => `${cpus(n)} threads` },
	lock: { name: 'Locks', text: (n) => `${cpus(n)} threads` },
	alloc: { name: 'Allocation', text: (n) => `${bytes(n * 1000)}/s` },
};
const ORDER = Object.keys(EVENTS);

// isNear: the pointer is over the rows, which then keep their order. follows: the fields of the range are the last minutes.
// isAgainstChosen: the fields of the second range were changed.
let hasOwnScale = false, isNear = false, follows = true, isAgainstChosen = false, scale = 0, chief = [];
let hours = 1, event = 'cpu', data = null, gaps = [], oldest = 0, isOn = false, areAllShown = false, dragging = null;
const rows = new Map(); // "node", "other", "service NAME"

const snap = (ms) => Math.round(ms / SLICE_MS) * SLICE_MS;
const value = (n) => (EVENTS[data.event] || EVENTS.cpu).text(n);

// A range of CPU time shows the other events as well.
function address({ from, to, service }) {
	const query = new URLSearchParams({ ...(service && { service }), ...(event !== 'cpu' && { event }) }).toString();
	return `s/${from}-${to}${query && `?${query}`}`;
}

const cpus = (n) => (n >= 10 ? n.toFixed(0) : n >= 0.095 ? n.toFixed(1) : n.toFixed(2));

function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

class Row {
	constructor({ name, service }) {
		this.name = name;
		this.service = service; // "": a range of the row has the whole node
		this.canvas = el('canvas', { role: 'img' });
		this.mark = el('div', { className: 'mark', hidden: true });
		this.facts = el('span', { className: 'quiet' });
		this.hint = el('output', { className: 'hint', 'aria-hidden': 'true' });
		this.plot = el('div', { className: 'plot' }, this.canvas, this.mark, this.hint);
		this.box = el('div', { className: 'service' }, el('div', { className: 'who' }, el('span', { className: 'name', title: name }, name), this.facts), this.plot);
		this.plot.addEventListener('pointerdown', (e) => this.press(e));
		this.plot.addEventListener('pointermove', (e) => this.move(e));
		this.plot.addEventListener('pointerup', (e) => this.release(e));
		this.plot.addEventListener('pointercancel', () => this.cancel());
		this.plot.addEventListener('pointerleave', () => this.leave());
	}

	set(values) {
		const per = this.per = perCovered(values, data.covered_ms), mean = meanOf(values, data.covered_ms) || 0;
		this.peak = Math.max(...per, 0);
		this.facts.textContent = `mean ${value(mean)}, peak ${value(this.peak)}`;
		this.canvas.setAttribute('aria-label', `${this.name}: mean ${value(mean)}, peak ${value(this.peak)} at ${clock(this.timeOf(per.indexOf(this.peak)))}`);
	}

	timeOf(step) {
		return data.from_ms + step * data.step_ms;
	}

	draw() {
		const width = this.plot.clientWidth, dots = devicePixelRatio || 1, c = this.canvas.getContext('2d'), { per } = this;
		if (!width || !per)
			return;
		this.canvas.width = Math.round(width * dots);
		this.canvas.height = HEIGHT * dots;
		c.scale(dots, dots);
		const top = (hasOwnScale ? this.peak : scale) || 1, x = (i) => i / per.length * width, y = (v) => HEIGHT - 1 - v / top * (HEIGHT - 6);
		c.beginPath();
		c.moveTo(0, HEIGHT);
		per.forEach((v, i) => {
			c.lineTo(x(i), y(v || 0));
			c.lineTo(x(i + 1), y(v || 0));
		});
		c.lineTo(width, HEIGHT);
		c.fillStyle = colour('--strip');
		c.fill();
		c.strokeStyle = colour('--line');
		c.strokeRect(-1, HEIGHT - 0.5, width + 2, 1);
		this.hatchGaps(c, x);
	}

	// Time without slices does not look like time without use.
	hatchGaps(c, x) {
		c.beginPath();
		gaps.forEach((isGap, i) => isGap && c.rect(x(i), 0, x(i + 1) - x(i), HEIGHT));
		c.save();
		c.clip();
		c.beginPath();
		for (let at = -HEIGHT; at < x(gaps.length); at += 6) {
			c.moveTo(at, HEIGHT);
			c.lineTo(at + HEIGHT, 0);
		}
		c.strokeStyle = colour('--fg2');
		c.globalAlpha = 0.45;
		c.stroke();
		c.restore();
	}

	// "0.3 CPUs", or why there is no value.
	valueAt(step) {
		const known = this.per[step] === null ? [] : [value(this.per[step])], from = this.timeOf(step), to = this.timeOf(step + 1);
		if (!gaps[step] && known.length)
			return known[0];
		const gap = data.gaps.find((g) => g.to_ms > from && g.from_ms < to);
		return [...known, gap ? gapText(gap) : 'no slices yet'].join(', ');
	}

	at(e) {
		const box = this.plot.getBoundingClientRect(), x = Math.min(Math.max(e.clientX - box.left, 0), box.width);
		return { x, width: box.width, ms: data.from_ms + x / box.width * data.nr_steps * data.step_ms };
	}

	press(e) {
		if (e.button)
			return;
		this.plot.setPointerCapture(e.pointerId);
		dragging = { row: this, from: this.at(e) };
		e.preventDefault();
	}

	move(e) {
		const now = this.at(e);
		if (dragging?.row !== this) {
			const step = Math.min(Math.floor(now.x / now.width * this.per.length), this.per.length - 1);
			this.say(`${clock(now.ms, hours <= 1)} · ${this.valueAt(step)}`, now);
			return;
		}
		const [a, b] = [dragging.from, now].sort((p, q) => p.x - q.x);
		this.mark.hidden = false;
		Object.assign(this.mark.style, { left: `${a.x}px`, width: `${Math.max(b.x - a.x, 1)}px` });
		this.say(`${clock(snap(a.ms), true)} to ${clock(snap(b.ms), true)} · ${duration(snap(b.ms) - snap(a.ms))}`, now);
	}

	say(text, { x, width }) {
		this.hint.textContent = text;
		this.hint.classList.toggle('left', x > width / 2);
	}

	release(e) {
		if (dragging?.row !== this)
			return;
		const [a, b] = [dragging.from, this.at(e)].sort((p, q) => p.x - q.x);
		dragging = null;
		if (b.x - a.x < DRAG_LEAST)
			return this.cancel();
		const from = snap(a.ms), to = Math.max(snap(b.ms), from + SLICE_MS);
		follows = false;
		setRange(from, to, this.service);
		location.assign(address({ from, to, service: this.service }));
	}

	cancel() {
		dragging = null;
		this.mark.hidden = true;
		this.leave();
	}

	leave() {
		if (dragging?.row !== this)
			this.hint.textContent = '';
	}
}

function setRange(from, to, service) {
	$('range-from').value = localTime(from);
	$('range-to').value = localTime(to);
	$('range-service').value = service;
	fillAgainst();
}

// The second range is the time before the first one until its fields are changed.
function fillAgainst() {
	const from = Date.parse($('range-from').value), to = Date.parse($('range-to').value);
	if (isAgainstChosen || !(from < to))
		return;
	$('against-from').value = localTime(from - (to - from));
	$('against-to').value = localTime(from);
}

function setServices(names) {
	const select = $('range-service'), chosen = select.value;
	select.replaceChildren(el('option', { value: '' }, NODE.name), ...names.map((n) => el('option', { value: n }, n)));
	select.value = names.includes(chosen) ? chosen : '';
}

function axis() {
	const length = data.nr_steps * data.step_ms, marks = el('div', { className: 'axis', 'aria-hidden': 'true' });
	for (let i = 0; i <= 4; i++) {
		const ms = data.from_ms + length * i / 4, mark = el('span', {}, i === 4 ? 'now' : hours > 24 ? `${weekday(ms)} ${clock(ms)}` : clock(ms));
		mark.style.left = `${i * 25}%`;
		marks.append(mark);
	}
	return el('div', { className: 'service' }, el('div', { className: 'who' }), marks);
}

function moreButton(hidden) {
	return el('button', {
		className: 'link',
		textContent: areAllShown ? 'Fewer services' : `Show the ${hidden} services in "other"`,
		on_click: () => {
			areAllShown = !areAllShown;
			show();
		},
	});
}

// Only events that slices have can be chosen.
function setEvents() {
	const all = [...new Set([event, ...data.events])].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)), box = $('strip-events');
	box.hidden = all.length < 2;
	if ([...box.querySelectorAll('input')].map((i) => i.value).join() === all.join())
		return;
	box.replaceChildren(box.firstElementChild, ...all.map((name) => el('label', {}, el('input', {
		type: 'radio',
		name: 'event',
		value: name,
		checked: name === event,
		on_change: () => {
			event = name;
			refresh();
		},
	}), el('span', {}, EVENTS[name]?.name || name))));
}

function drawRows() {
	scale = Math.max(0, ...[...rows.values()].filter((r) => r.box.isConnected).map((r) => r.peak || 0));
	rows.forEach((r) => r.draw());
}

// The use of all services without those that have rows.
function rest(shown) {
	return data.all.map((v, i) => Math.max(v - shown.reduce((sum, s) => sum + s.values[i], 0), 0));
}

function rowOf(of) {
	if (!rows.has(of.id))
		rows.set(of.id, new Row(of));
	return rows.get(of.id);
}

function show() {
	const total = data.all.reduce((sum, v) => sum + v, 0);
	if (!isNear || !chief.length)
		chief = data.series.filter((s, i) => i < ROWS_FIRST && s.total >= total * SHARE_LEAST);
	else
		chief = chief.map((old) => data.series.find((s) => s.service === old.service)).filter(Boolean);
	const shown = areAllShown ? data.series : chief, hidden = data.series.length - chief.length + data.nr_left_out;
	setServices(data.series.map((s) => s.service));
	setEvents();
	$('range').hidden = !data.series.length;
	if (!data.series.length) {
		rows.clear();
		$('strip-rows').replaceChildren(el('p', { className: 'note' }, isOn ? 'No slice of this time is kept yet. One is added every 10 s.' : 'No slice of this time is kept.'));
		return;
	}
	const list = [[NODE, data.all], ...shown.map((s) => [{ id: `service ${s.service}`, name: s.service, service: s.service }, s.values])];
	if (data.series.length + data.nr_left_out > shown.length)
		list.push([OTHER, rest(shown)]);
	const boxes = list.map(([of]) => rowOf(of).box);
	$('strip-rows').replaceChildren(...boxes, axis(), ...(hidden ? [moreButton(hidden)] : []));
	for (const [of, values] of list)
		rowOf(of).set(values);
	drawRows();
}

async function refresh() {
	const now = snap(serverTime()), steps = Math.max(60, Math.min(360, Math.round($('strip-rows').clientWidth / 3)));
	if (follows && !$('range').contains(document.activeElement))
		setRange(now - RANGE_MS, now, $('range-service').value);
	try {
		const fresh = await get(`slices?from_ms=${now - hours * HOUR_MS}&to_ms=${now}&steps=${steps}&event=${event}`);
		if (dragging || fresh.event !== event)
			return;
		data = fresh;
		gaps = gapsOf(data, serverTime());
		show();
	} catch (e) {
		$('strip-rows').replaceChildren(el('p', { className: 'note' }, e.message));
	}
}

export function setNode(node) {
	const c = node.continuous || {};
	isOn = c.rate_hz > 0;
	oldest = node.store?.oldest_slice_ms || 0;
	$('strip-state').textContent = !isOn ? `off${c.why ? `: ${c.why}` : ''}`
		: `${c.rate_hz} Hz since ${day(c.since_ms) === 'Today' ? clock(c.since_ms) : day(c.since_ms)}${c.why ? `: ${c.why}` : ''}`;
	$('strip-state').classList.toggle('warn', Boolean(c.why));
	showAgainst();
}

// Of two fields.
function timesOf(name) {
	const from = snap(Date.parse($(`${name}-from`).value)), to = snap(Date.parse($(`${name}-to`).value));
	if (!(from < to))
		throw new Error('The range must begin before it ends.');
	return { from, to };
}

const range = () => ({ ...timesOf('range'), service: $('range-service').value });

// A time that ends before the oldest slice cannot be compared.
function showAgainst() {
	const to = Date.parse($('range-to').value) || serverTime();
	for (const b of document.querySelectorAll('[data-ago]')) {
		b.disabled = !oldest || earlier(to, Number(b.dataset.ago)) <= oldest;
		b.title = b.disabled ? 'No slices are kept of that time.' : '';
	}
}

// `before` gives the times of the other range from those of the form's.
async function compare(before) {
	try {
		const after = range(), { service } = after;
		const side = ({ from, to }) => ({ from_ms: from, to_ms: to, service, event });
		const body = { before: side(before(after)), after: side(after) };
		showError($('range-error'), null);
		announce('The comparison is made.');
		const { id } = await post('diffs', body);
		location.assign(`p/${id}`);
	} catch (e) {
		showError($('range-error'), e);
	}
}

function ago(hoursAgo) {
	return ({ from, to }) => {
		const shift = to - earlier(to, hoursAgo);
		return { from: from - shift, to: to - shift };
	};
}

function toggleAgainst() {
	const box = $('against-range');
	box.hidden = !box.hidden;
	$('against-button').setAttribute('aria-expanded', String(!box.hidden));
}

function followNow() {
	const now = snap(serverTime());
	follows = true;
	setRange(now - RANGE_MS, now, $('range-service').value);
	showAgainst();
}

function setUpRange() {
	followNow();
	$('range').addEventListener('submit', (e) => {
		e.preventDefault();
		try {
			location.assign(address(range()));
		} catch (error) {
			showError($('range-error'), error);
		}
	});
	$('range').addEventListener('input', (e) => {
		follows = follows && !['range-from', 'range-to'].includes(e.target.id);
		isAgainstChosen ||= ['against-from', 'against-to'].includes(e.target.id);
		fillAgainst();
		showAgainst();
	});
	$('range-now').addEventListener('click', followNow);
	for (const b of document.querySelectorAll('[data-ago]'))
		b.addEventListener('click', () => compare(ago(Number(b.dataset.ago))));
	$('against-button').addEventListener('click', toggleAgainst);
	$('against-compare').addEventListener('click', () => compare(() => timesOf('against')));
}

export async function setUp() {
	setUpRange();
	for (const radio of document.querySelectorAll('[name=span]')) {
		radio.checked = Number(radio.value) === hours;
		radio.addEventListener('change', () => {
			hours = Number(radio.value);
			refresh();
		});
	}
	$('own-scale').addEventListener('change', (e) => {
		hasOwnScale = e.target.checked;
		drawRows();
	});
	$('strip-rows').addEventListener('pointerenter', () => {
		isNear = true;
	});
	$('strip-rows').addEventListener('pointerleave', () => {
		isNear = false;
	});
	new ResizeObserver(() => rows.forEach((r) => r.draw())).observe($('strip-rows'));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => rows.forEach((r) => r.draw()));
	// A page that comes back from the browser's cache shows an old selection otherwise.
	addEventListener('pageshow', () => rows.forEach((r) => r.cancel()));
	const refreshSeen = () => !document.hidden && refresh();
	setInterval(refreshSeen, REFRESH_MS);
	document.addEventListener('visibilitychange', refreshSeen);
	await refresh();
}
