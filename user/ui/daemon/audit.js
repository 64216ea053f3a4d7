// The audit list: who did what.
import { get } from './api.js';
import { $, clock, day, el, fail } from './dom.js';

export async function openAudit() {
	const list = await get('audit').catch((e) => fail(e) || []);
	$('audit-list').replaceChildren(el('table', {}, el('tbody', {}, ...list.map((a) => el('tr', {}, el('td', { className: 'quiet' }, `${day(a.at_ms)} ${clock(a.at_ms, true)}`), el('td', {}, a.who), el('td', {}, a.what))))));
	$('audit').showModal();
}
