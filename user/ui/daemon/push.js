// How pushing profiles to receivers goes: a sentence for each.
import { $, el } from './dom.js';

const names = { otlp: 'OTLP', pyroscope: 'Pyroscope', parca: 'Parca' };

export function showPush(node) {
	const list = node.push || [];
	$('push').hidden = !list.length;
	$('push').replaceChildren(...list.map((r) => el('li', { className: r.ok ? '' : 'warn' }, `${names[r.kind]} at ${r.url}: ${r.text}`)));
}
