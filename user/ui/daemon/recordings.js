// The recordings that run: a card each.
import { get, post } from './api.js';
import { $, announce, ask, duration, el, fail, number, plural, targetText } from './dom.js';
import { Preview } from './preview.js';

const REFRESH_MS = 2000;

const cards = new Map(); // by id
let isOperator = false;

const jvmsText = (s) => (s.jvms ? [plural(s.jvms, 'JVM')] : []);

function refusalText(s) {
	const others = s.jvms_refused - 1;
	return `${others ? `${number(s.jvms_refused)} JVMs` : 'A JVM'} refused the agent. ${s.refusals}`;
}

class Card {
	constructor(s) {
		this.id = s.id;
		this.title = el('h2', { id: `recording-${s.id}` });
		this.what = el('p', { className: 'quiet' });
		this.refusals = el('p', { className: 'warn refusals', hidden: true });
		this.progress = el('progress', { 'aria-label': 'Progress of the recording' });
		this.facts = el('p', { className: 'facts' });
		this.buttons = el('div', { className: 'buttons' },
			el('button', { textContent: 'Preview', 'aria-expanded': 'false', on_click: (e) => this.toggle(e.target) }),
			...(isOperator ? [el('button', { textContent: 'Discard', on_click: () => this.discard() }),
				this.stopButton = el('button', { className: 'danger', ...(s.kept ? { textContent: 'Stop and save', 'aria-keyshortcuts': 's' } : { textContent: 'Stop' }), on_click: () => this.stop() })] : []));
		this.box = el('section', { className: 'card recording', 'aria-labelledby': this.title.id },
			el('div', { className: 'bar' }, el('span', { className: 'red-dot', 'aria-hidden': 'true' }), el('div', { className: 'title' }, this.title, this.what), this.progress, this.facts, this.buttons), this.refusals);
		$('recordings').append(this.box);
	}

	update(s) {
		const total = s.duration_s * 1000, isEnding = this.isEnding = s.state === 'ends' || this.isStopping;
		this.session = s;
		this.title.textContent = `${!isEnding ? (s.state === 'begins' ? 'Starting' : 'Recording') : s.kept ? 'Saving' : 'Ending'} ${s.events}${s.kept ? '' : ' for a scraper'}`;
		// A name that nobody gave says the target already.
		this.what.textContent = [s.name, s.name.startsWith(`${s.events}, `) ? '' : targetText(s.target), s.event || `${s.rate_hz} Hz`, ...jvmsText(s)].filter(Boolean).join(' · ');
		this.refusals.hidden = !s.jvms_refused;
		this.refusals.textContent = s.jvms_refused ? refusalText(s) : '';
		if (total)
			Object.assign(this.progress, { max: total, value: Math.min(s.elapsed_ms, total) });
		else
			this.progress.removeAttribute('value');
		const facts = [total ? `${duration(s.elapsed_ms)} of ${duration(total)}` : duration(s.elapsed_ms), plural(s.samples, 'sample')];
		this.facts.replaceChildren(facts.join(' · '), ' · ', el('span', { className: s.lost ? 'warn' : '' }, `${number(s.lost)} lost`));
		if (this.stopButton)
			this.stopButton.disabled = isEnding;
		this.preview?.setParts(s.parts, isEnding);
		this.tell(isEnding ? 'ends' : s.state);
	}

	// A screen reader hears each state once.
	tell(state) {
		const texts = { begins: 'is being started', runs: 'runs', ends: this.session.kept ? 'is being saved' : 'is being ended' };
		if (this.told !== state)
			announce(`The recording of ${this.session.events} ${texts[state]}.`);
		this.told = state;
	}

	toggle(button) {
		if (this.preview) {
			this.preview.close();
			this.preview = null;
		} else {
			this.preview = new Preview({
				title: 'Flame graph of the recording so far',
				waiting: 'The first part arrives within seconds.',
				refreshMs: REFRESH_MS,
				address: (nr) => `api/v1/sessions/${this.id}/preview?parts=${nr}`,
				caption: (nr) => `The profile after ${plural(nr, 'part')}`,
			});
			this.box.append(this.preview.box);
			this.preview.setParts(this.session.parts, this.isStopping);
		}
		button.setAttribute('aria-expanded', String(Boolean(this.preview)));
	}

	async stop() {
		this.isStopping = true;
		this.update(this.session);
		try {
			await post(`sessions/${this.id}/stop`);
		} catch (e) {
			this.isStopping = false;
			fail(e);
		}
	}

	async discard() {
		if (await ask('Discard the recording?', 'Its samples are lost. This cannot be undone.', 'Discard'))
			await post(`sessions/${this.id}/discard`).then(() => announce('The recording was discarded.'), fail);
	}

	close() {
		this.preview?.close();
		this.box.remove();
	}
}

export function setSessions(list) {
	const running = new Set(list.map((s) => s.id));
	for (const [id, card] of cards)
		if (!running.has(id)) {
			card.close();
			cards.delete(id);
			announce(`The recording of ${card.session.events} has ended.`);
		}
	for (const s of list) {
		if (!cards.has(s.id))
			cards.set(s.id, new Card(s));
		cards.get(s.id).update(s);
	}
}

// One's own that still runs: what scrapers ask for is theirs.
export const newest = () => [...cards.values()].filter((c) => c.session.kept && !c.isEnding).pop();

export function setUp(mayChange) {
	isOperator = mayChange;
	return get('sessions').then(setSessions, fail);
}
