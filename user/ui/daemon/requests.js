// The requests to the fleet: a card each, with its coverage while it fills.
import { post, serverTime } from './api.js';
import { $, announce, duration, el, fail, number, percent, plural } from './dom.js';
import { Preview } from './preview.js';

const REFRESH_MS = 1000;

const STEPS = [['answered', 'answered'], ['matched', 'match'], ['chosen', 'asked'], ['accepted', 'accepted'], ['delivered', 'delivered']];
const HISTORY_STEPS = [['answered', 'have profiles'], ['chosen', 'queries'], ['delivered', 'answers']];
const NAMES_SHOWN = 5;
const cards = new Map(); // by id
let isOperator = false;

const names = (list) => list.slice(0, NAMES_SHOWN).join(', ') + (list.length > NAMES_SHOWN ? ` and ${number(list.length - NAMES_SHOWN)} more` : '');

function phaseText(r) {
	const c = r.counts, waves = r.nr_waves > 1 ? `, wave ${r.wave} of ${r.nr_waves}` : '', passed = Math.min(r.duration_s, Math.max(0, (serverTime() - r.begun_ms) / 1000));
	if (r.want === 'history' && ['census', 'fetches'].includes(r.phase))
		return r.phase === 'census' ? 'The store is asked what it has.' : `Profiles are read: ${number(c.delivered)} of ${number(c.chosen)}.`;
	if (r.is_stopping && r.phase === 'records')
		return 'It ends; results so far are fetched.';
	switch (r.phase) {
	case 'census':
		return 'The nodes are asked who matches.';
	case 'records':
		return r.want === 'slices' ? 'The nodes read their slices.' : `${plural(c.works, 'node')} record${c.works === 1 ? 's' : ''}${waves}: ${duration(passed * 1000)} of ${duration(r.duration_s * 1000)}.`;
	case 'watches':
		return `Wave ${r.wave} of ${r.nr_waves} has ended; its JVMs are watched before the next one.`;
	case 'fetches':
		return `Results are fetched: ${number(c.delivered)} of ${number(c.accepted)}.`;
	case 'merges':
		return 'Results are merged.';
	default:
		return r.error ? `${r.error[0].toUpperCase()}${r.error.slice(1).replace(/\.?$/, '.')}` : !r.ended_ms ? 'The profile is stored.' : resultText(r);
	}
}

function resultText(r) {
	const c = r.counts, e = r.estimate;
	if (r.want === 'history')
		return `${plural(c.matched, 'node')} had pushed profiles of this time.${c.failed || c.works ? ` ${number(c.delivered)} of ${number(c.chosen)} queries were answered.` : ''}`;
	const share = e ? ` Values are estimates for all ${plural(c.matched, 'node')} that match, from ${percent(e.p)} of them${e.has_interval ? `: ${number(Math.round(e.low))} to ${number(Math.round(e.high))} with 95 % confidence` : `; ${e.doubt}`}.` : '';
	return `${plural(c.delivered, 'node')} delivered.${share}${r.stopped ? ` ${r.stopped}.` : ''}`;
}

function coverage(r) {
	const isHistory = r.want === 'history', steps = isHistory ? HISTORY_STEPS : STEPS;
	return steps.map(([key, text]) => {
		const n = r.counts[key], most = Math.max(1, isHistory && key !== 'answered' ? r.counts.chosen : r.counts.answered), bar = el('span', { className: 'fill' });
		bar.style.width = `${Math.min(100, 100 * n / most)}%`;
		return el('li', {}, el('strong', {}, number(n)), ` ${text}`, el('span', { className: 'track', 'aria-hidden': 'true' }, bar));
	});
}

// Why nodes did not deliver: one line for each reason.
function reasons(r) {
	const by = new Map();
	for (const n of r.nodes.filter((m) => m.why && m.verdict !== 'NO_MATCH')) {
		const key = r.want === 'history' ? n.why : `${n.verdict || 'ended early'}: ${n.why}`;
		by.set(key, [...by.get(key) || [], n.name]);
	}
	const silent = r.phase === 'ended' ? r.counts.chosen - r.nr_nodes : 0;
	return [...[...by].map(([why, list]) => el('li', {}, el('strong', {}, names(list)), ` ${why}`)), silent > 0 ? el('li', {}, el('strong', {}, plural(silent, 'node')), ' did not answer the request') : ''];
}

// The profile in the node's own daemon; a link only if the node said where people reach it.
function ownProfile(r, n) {
	if (!n.url)
		return null;
	if (n.profile)
		return `${n.url}/p/${n.profile}`;
	if (r.want !== 'slices' || n.state !== 'delivered')
		return null;
	const to = r.begun_ms - r.ago_s * 1000, service = /(?:^|,)service=([^,]+)/.exec(r.select);
	return `${n.url}/s/${to - r.duration_s * 1000}-${to}${service ? `?service=${encodeURIComponent(service[1])}` : ''}`;
}

const STATES = { refused: 'refused', works: 'records', ready: 'is fetched', delivered: 'delivered', failed: 'failed' };

function nodeRow(r, n, i, most) {
	const href = ownProfile(r, n), isHeaviest = !i && n.value && r.nodes.length > 1 && r.phase === 'ended';
	const bar = el('span', { className: 'fill' });
	bar.style.width = `${most ? 100 * n.value / most : 0}%`;
	return el('tr', {}, el('td', {}), el('td', { className: 'name' }, n.name, isHeaviest ? el('span', { className: 'tag warn' }, 'heaviest') : ''),
		el('td', {}, ...n.labels.split(',').filter(Boolean).map((l) => el('span', { className: 'tag' }, l))),
		el('td', { className: 'load' }, n.value ? el('span', { className: 'track' }, bar) : ''), el('td', { className: 'right' }, n.value && r.total ? percent(n.value / r.total) : '–'),
		el('td', { className: 'right', 'data-label': 'samples' }, n.samples ? number(n.samples) : '–'), el('td', { className: n.state === 'failed' || n.state === 'refused' ? 'bad' : '' }, STATES[n.state] || n.state),
		el('td', { className: 'right' }, href ? el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, 'Open on the node') : ''));
}

const PART_STATES = { works: 'waits', ready: 'is read', delivered: 'read', failed: 'failed' };

// What one query of the store had.
function partRow(r, n, most) {
	const bar = el('span', { className: 'fill' });
	bar.style.width = `${most ? 100 * n.value / most : 0}%`;
	return el('tr', {}, el('td', {}), el('td', { className: 'name' }, n.name), el('td', { className: 'load' }, n.value ? el('span', { className: 'track' }, bar) : ''),
		el('td', { className: 'right' }, n.value && r.total ? percent(n.value / r.total) : '–'), el('td', { className: n.state === 'failed' ? 'bad' : '' }, PART_STATES[n.state]));
}

function nodeTable(r) {
	const most = Math.max(0, ...r.nodes.map((n) => n.value));
	if (r.want === 'history')
		return [el('table', { className: 'nodes parts' }, el('thead', {}, el('tr', {}, el('td', {}), ...['Part', 'Load', 'Share', 'State'].map((t) => el('th', { scope: 'col', className: t === 'Share' ? 'right' : '' }, t)))), el('tbody', {}, ...r.nodes.map((n) => partRow(r, n, most))))];
	const head = ['Node', 'Labels', 'Load', 'Share', 'Samples', 'State', 'Own profile'].map((t) => el('th', { scope: 'col', className: /Share|Samples|Own/.test(t) ? 'right' : '' }, t));
	return [el('table', { className: 'nodes' }, el('thead', {}, el('tr', {}, el('td', {}), ...head)), el('tbody', {}, ...r.nodes.map((n, i) => nodeRow(r, n, i, most)))),
		r.nr_nodes > r.nodes.length ? el('p', { className: 'quiet more' }, `The heaviest ${number(r.nodes.length)} of ${number(r.nr_nodes)} nodes.`) : ''];
}

class Card {
	constructor(r) {
		this.id = r.id;
		this.isHistory = r.want === 'history';
		const past = r.want === 'slices' || (r.want === 'history' && r.ago_s > 59) ? `, until ${duration(r.ago_s * 1000)} before` : '', kind = r.want === 'history' ? `, history${r.by ? ` by ${r.by}` : ''}` : '';
		this.dot = el('span', { className: 'red-dot', 'aria-hidden': 'true' });
		this.stop = el('button', { textContent: 'Stop', type: 'button', on_click: () => this.end() });
		this.graph = el('a', { className: 'button primary', hidden: true }, 'Open the graph');
		this.state = el('p', { className: 'facts', role: 'status' });
		this.steps = el('ol', { className: 'coverage', 'aria-label': 'Coverage' });
		this.why = el('ul', { className: 'reasons' });
		this.nodes = el('details', { className: 'by-node' }, el('summary', {}, this.nodesTitle = el('span', {}, 'Nodes')), this.table = el('div', {}));
		this.box = el('section', { className: 'card recording request', 'aria-label': `Request ${r.id}` }, el('div', { className: 'bar' }, this.dot,
			el('p', { className: 'title' }, el('strong', {}, r.select || 'All processes'), ' ', el('span', { className: 'quiet' }, `${r.events}, ${duration(r.duration_s * 1000)}${past}${kind}${r.reason ? `: ${r.reason}` : ''}`)),
			el('div', { className: 'buttons' }, isOperator ? this.stop : '', this.graph)), this.state, this.steps, this.why, this.nodes);
	}

	// What has come so far, until the profile of all replaces it.
	showPreview(r, isOver) {
		if (r.previews && !this.preview) {
			const of = this.isHistory ? 'queries' : 'nodes';
			this.preview = new Preview({
				title: 'Flame graph of the results so far',
				waiting: '',
				refreshMs: REFRESH_MS,
				address: (nr) => `api/v1/fleet/requests/${this.id}/preview?nr=${nr}`,
				caption: () => `${number(this.previewed)} of ${number(this.chosen)} ${of}, values as recorded`,
			});
			this.box.insertBefore(this.preview.box, this.nodes);
		}
		this.previewed = r.preview_nodes;
		this.chosen = r.counts.chosen;
		if (!this.preview)
			return;
		if (isOver && r.profile && !this.wasOver)
			this.preview.finish(`p/${r.profile}/page`, 'The graph of all results');
		else if (isOver && !r.profile)
			this.preview.close();
		else if (!isOver)
			this.preview.setParts(r.previews, r.previews === 0);
	}

	async end() {
		this.stop.disabled = true;
		await post(`fleet/requests/${this.id}/stop`).then(() => announce(this.isHistory ? 'Reading ends.' : 'The nodes are asked to stop.'), fail);
	}

	set(r) {
		const text = JSON.stringify(r), isOver = r.ended_ms > 0;
		if (r.phase !== 'records' && text === this.shown)
			return;
		if (isOver && this.shown && !this.wasOver)
			announce(r.profile ? 'The profile of the fleet is ready.' : phaseText(r));
		this.shown = text;
		this.dot.hidden = isOver;
		this.stop.hidden = isOver || ![...r.want === 'history' ? ['fetches'] : [], 'census', 'records', 'watches'].includes(r.phase);
		this.stop.disabled = r.is_stopping;
		this.graph.hidden = !r.profile;
		this.graph.href = `p/${r.profile}`;
		this.state.textContent = phaseText(r) + (r.note && !isOver ? ` ${r.note}.` : '');
		this.state.classList.toggle('error', Boolean(r.error));
		this.steps.replaceChildren(...coverage(r));
		this.why.replaceChildren(...reasons(r).filter(Boolean));
		this.why.hidden = !this.why.children.length;
		this.showPreview(r, isOver);
		this.nodes.hidden = !r.nodes.length;
		this.nodesTitle.textContent = `${r.want === 'history' ? 'Parts' : 'Nodes'} (${number(r.nr_nodes)})`;
		// Links keep the focus: rows change only when their texts do.
		const rows = JSON.stringify([r.nodes, r.phase]);
		if (rows !== this.rows)
			this.table.replaceChildren(...nodeTable(r));
		this.rows = rows;
		if (isOver && !this.wasOver && r.profile)
			this.nodes.open = true;
		this.wasOver = isOver;
	}
}

export function setUp(mayChange) {
	isOperator = mayChange;
}

// The newest first, as the server sends them.
export function set(list) {
	for (const [id, card] of cards)
		if (!list.some((r) => r.id === id)) {
			card.preview?.close();
			card.box.remove();
			cards.delete(id);
		}
	for (const r of [...list].reverse()) {
		if (!cards.has(r.id)) {
			cards.set(r.id, new Card(r));
			$('requests').prepend(cards.get(r.id).box);
		}
		cards.get(r.id).set(r);
	}
}
