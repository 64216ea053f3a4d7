// Triggers that fired: when, why, and the profiles that were kept.
import { get } from './api.js';
import { $, clock, day, el, plural } from './dom.js';

const SHOWN = 3;
let list = [], isLong = false;

function line(t) {
	const links = [t.recording && el('a', { href: `p/${t.recording}` }, 'recording'), t.before && el('a', { href: `p/${t.before}` }, 'before')].filter(Boolean);
	return el('li', {}, el('time', { className: 'quiet', dateTime: new Date(t.at_ms).toISOString() }, `${day(t.at_ms)} ${clock(t.at_ms, true)}`), ' ', el('strong', {}, t.name), t.source === 'alert' ? el('span', { className: 'tag' }, 'alert') : '',
		` ${t.why} `, t.target === 'node' ? '' : el('span', { className: 'quiet' }, t.target), ' ', ...links.flatMap((l) => [l, ' ']), t.refused ? el('span', { className: 'warn' }, `nothing recorded: ${t.refused}`) : '');
}

function show() {
	$('triggers').hidden = !list.length;
	$('fired').replaceChildren(...list.slice(0, isLong ? list.length : SHOWN).map(line));
	$('fired-more').hidden = list.length <= SHOWN;
	$('fired-more').textContent = isLong ? 'Show fewer' : `Show ${plural(list.length - SHOWN, 'earlier one')}`;
}

export function set(next) {
	list = next;
	show();
}

export function setUp() {
	$('fired-more').addEventListener('click', () => {
		isLong = !isLong;
		show();
	});
	return get('triggers').then(set, () => {});
}
