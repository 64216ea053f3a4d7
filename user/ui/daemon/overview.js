// What the fleet does: its services by their use of CPUs in the last hour. One click gives the merged graph of the last
// minutes, another records.
import { get, post } from './api.js';
import { $, announce, clock, el, fail, number, plural } from './dom.js';

const ROWS_FIRST = 12;
const HISTORY_S = 604800, GRAPH_S = 300, RECORD_S = 30, AGO_S = 15; // slices arrive every 10 s
const FILLED = 5; // minutes that a reading stands for while those before it are not known
const HEIGHT = 28;
const VALUES_SHOWN = 4;

let data = null, hasHistory = false, readings = -1, areAllShown = false, mayAsk = false, onRequest = () => {};
const waiting = []; // requests whose profiles are opened: { ids, done }

const cpus = (n) => (n >= 10 ? n.toFixed(0) : n >= 0.095 ? n.toFixed(1) : n.toFixed(2));
const natural = (a, b) => a.localeCompare(b, 'en', { numeric: true });

// A selector has no way to write these.
const canSelect = (name) => !/[,=!]/.test(name) && name.length < 200;

function svg(tag, attributes) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, value);
	return e;
}

// Bars of the minutes that were read, on a scale of their own.
function strip(values) {
	const known = values.filter((v) => v !== null), most = Math.max(...known, 1e-9), least = Math.min(...known);
	const box = svg('svg', { viewBox: `0 0 ${values.length} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', class: 'hour', 'aria-label': known.length ? `CPUs in the last hour: ${cpus(least)} to ${cpus(most)}` : 'not known yet' });
	let before = -1;
	values.forEach((v, i) => {
		if (v === null)
			return;
		const from = Math.max(before + 1, i - FILLED + 1), height = Math.max(v > 0 ? 1 : 0, HEIGHT * v / most);
		box.append(svg('rect', { x: from, y: HEIGHT - height, width: i + 1 - from, height }));
		before = i;
	});
	return box;
}

// The labels that tell nodes apart, with their values and numbers of nodes.
function keysOf(labels) {
	const keys = new Map();
	for (const [label, nr] of Object.entries(labels)) {
		const at = label.indexOf('='), key = label.slice(0, at);
		keys.set(key, [...keys.get(key) || [], [label.slice(at + 1), nr]]);
	}
	return new Map([...keys].filter(([, values]) => values.length > 1));
}

// "version 1 (2), 2 (1)" for each of these labels.
function labelText(labels) {
	return [...keysOf(labels)].map(([key, values]) => {
		const list = values.sort((a, b) => natural(a[0], b[0])), more = list.length - VALUES_SHOWN;
		return `${key} ${list.slice(0, VALUES_SHOWN).map(([value, nr]) => `${value} (${number(nr)})`).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
	});
}

async function start(orders, done) {
	try {
		const ids = [];
		for (const order of orders)
			ids.push((await post('fleet/requests', { events: 'cpu', ...order })).id);
		waiting.push({ ids, done });
		announce(orders[0].source ? 'The store is asked.' : 'The nodes are asked.');
		onRequest();
	} catch (e) {
		fail(e);
	}
}

const past = (select) => ({ select, duration_s: GRAPH_S, ago_s: AGO_S, reason: 'the last 5 minutes' });
const graph = (name) => start([past(`service=${name}`)], ([profile]) => location.assign(`p/${profile}`));
const record = (name) => start([{ select: `service=${name}`, duration_s: RECORD_S, reason: '' }], () => {});

const SPLIT_MAX = 20; // values that the store is asked for apart

// The label by which versions, zones or the like are read apart; "" if all nodes are alike.
function splitKey(labels) {
	const keys = [...keysOf(labels)].filter(([, values]) => values.length <= SPLIT_MAX).map(([key]) => key);
	return keys.includes('version') ? 'version' : keys[0] || '';
}

const history = (s) => start([{ source: 'history', select: `service=${s.name}`, duration_s: HISTORY_S, by: splitKey(s.labels), reason: 'the last 7 days' }], ([profile]) => location.assign(`p/${profile}`));

function compare(name, d) {
	start([d.a, d.b].map((value) => past(`service=${name},${d.key}=${value}`)), async ([before, after]) => {
		try {
			const { id } = await post('diffs', { before, after });
			location.assign(`p/${id}`);
		} catch (e) {
			fail(e);
		}
	});
}

function differenceLine(name, d) {
	const sign = d.change > 0 ? 'more' : 'less', text = `${d.key} ${d.b}: ${cpus(Math.abs(d.change))} CPUs a node ${sign} than ${d.a} (${cpus(d.mean)}), which is more than chance. `;
	return el('p', { className: 'differs' }, text, mayAsk && canSelect(name) && canSelect(d.a) && canSelect(d.b)
		? el('button', { className: 'link', type: 'button', textContent: 'Compare', 'aria-label': `Compare ${d.key} ${d.a} and ${d.b} of ${name}`, on_click: () => compare(name, d) }) : '');
}

function row(s) {
	const buttons = mayAsk && canSelect(s.name) ? [el('button', { type: 'button', textContent: 'Graph', title: 'The merged graph of the last 5 minutes', 'aria-label': `Graph of ${s.name}`, on_click: () => graph(s.name) }),
		el('button', { type: 'button', textContent: 'Record', title: `Record its nodes for ${RECORD_S} s`, 'aria-label': `Record ${s.name}`, on_click: () => record(s.name) })] : [];
	if (buttons.length && hasHistory)
		buttons.push(el('button', { type: 'button', textContent: '7 days', title: 'What all its nodes have pushed in the last 7 days', 'aria-label': `7 days of ${s.name}`, on_click: () => history(s) }));
	const interval = s.high === null ? '' : ` (${cpus(s.low)} to ${cpus(s.high)})`;
	return el('li', { className: 'use', 'data-service': s.name }, el('div', { className: 'who' }, el('span', { className: 'name', title: s.name }, s.name), el('span', { className: 'quiet' }, [s.nodes ? plural(s.nodes, 'node') : '', ...labelText(s.labels)].filter(Boolean).join(' · '))),
		strip(s.strip), el('p', { className: 'amount' }, el('strong', {}, cpus(s.cpus)), ' CPUs', el('span', { className: 'quiet' }, `now ${cpus(s.now)}${interval}`)), el('div', { className: 'buttons' }, ...buttons), ...s.differences.map((d) => differenceLine(s.name, d)));
}

function stateText() {
	if (!data.until_ms)
		return data.error || 'The nodes are asked what they did ..';
	const estimate = data.is_estimate ? `, estimated for ${plural(data.matched, 'node')} from ${number(data.delivered)}` : data.delivered < data.matched ? `, ${number(data.delivered)} of ${plural(data.matched, 'node')}` : `, ${plural(data.matched, 'node')}`;
	return `mean of the last hour, until ${clock(data.until_ms, false)}${estimate}`;
}

function show() {
	const wanted = $('service-filter').value.trim().toLowerCase(), list = data.services.filter((s) => s.name.toLowerCase().includes(wanted));
	const shown = areAllShown || wanted ? list : list.slice(0, ROWS_FIRST), focus = document.activeElement?.getAttribute?.('aria-label');
	$('services-state').textContent = stateText();
	$('service-list').replaceChildren(...shown.map(row));
	$('services-more').hidden = shown.length === list.length;
	$('services-more').textContent = `Show all ${number(list.length)}`;
	$('services-none').hidden = list.length > 0 || !data.until_ms;
	$('services-none').textContent = wanted ? 'No service has this name.' : 'No service used CPUs in the minutes that were read. Services come from continuous profiling of the nodes.';
	// A new reading makes new buttons: the focus stays where it was.
	if (focus && document.activeElement === document.body)
		[...$('service-list').querySelectorAll('button')].find((b) => b.getAttribute('aria-label') === focus)?.focus();
}

export function setUp(isOperator, asked) {
	mayAsk = isOperator;
	onRequest = asked;
	$('service-filter').addEventListener('input', () => data && show());
	$('services-more').addEventListener('click', () => {
		areAllShown = true;
		show();
	});
}

// Opens what was waited for. A request that failed has its reason in its card.
function openFinished(requests) {
	for (const w of [...waiting]) {
		const own = w.ids.map((id) => requests.find((r) => r.id === id));
		if (own.some((r) => !r || (r.ended_ms && !r.profile)))
			waiting.splice(waiting.indexOf(w), 1);
		else if (own.every((r) => r.profile)) {
			waiting.splice(waiting.indexOf(w), 1);
			w.done(own.map((r) => r.profile));
		}
	}
}

export async function set(fleet) {
	hasHistory = Boolean(fleet.history);
	openFinished(fleet.requests);
	if (fleet.services_nr === readings && data)
		return;
	readings = fleet.services_nr;
	data = await get('fleet/services');
	show();
}
