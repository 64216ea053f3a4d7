// The head line over a profile, p/ID, or over a range of continuous profiling, s/FROM-TO?service=X. The flame
// graph is in a frame that can do nothing here but tell its view.
import { get, pageError, post } from './api.js';
import { $, announce, clock, closable, day, duration, el, fail, number, toast } from './dom.js';
import { viewOf } from './transforms.js';

const HOUR_MS = 3600 * 1000;
const FORMATS = [['html', 'Page (html)'], ['svg', 'Picture (svg)'], ['collapsed', 'Collapsed stacks'], ['pprof', 'pprof'], ['json', 'speedscope (json)'], ['otlp', 'OTLP'], ['sflm', 'Raw (sflm)']];
const [kind, last] = location.pathname.split('/').slice(-2);

function say(text) {
	$('state').hidden = !text;
	$('state').textContent = text;
}

function title(text, facts) {
	$('name').textContent = text;
	$('facts').textContent = facts.filter(Boolean).join(' · ');
	document.title = `${text} - sysflame`;
}

// The view in the frame and in this address are the same, so that a link leads back to it.
async function openFrame(src) {
	const saved = location.hash ? '' : viewOf(await get('settings/transforms').catch(() => null));
	const frame = el('iframe', { title: 'Flame graph', className: 'frame' });
	frame.setAttribute('sandbox', 'allow-scripts');
	frame.src = src + (saved || location.hash).slice(0, 8000);
	frame.addEventListener('load', () => {
		say('');
		frame.focus();
	}, { once: true });
	addEventListener('message', (e) => {
		if (e.source === frame.contentWindow && e.data?.sysflame === 'view' && typeof e.data.hash === 'string' && e.data.hash.length < 8192)
			history.replaceState(null, '', e.data.hash.startsWith('#') ? e.data.hash : location.pathname + location.search);
	});
	$('view').append(frame);
}

function menu(text, items) {
	return closable(el('details', { className: 'actions' }, el('summary', {}, text), el('div', { className: 'menu' }, ...items)));
}

async function openProfile() {
	const p = await get(`profiles/${last}`), target = p.target && p.target !== p.name ? p.target : '';
	title(p.name || `profile ${p.id}`, [p.events, target, p.start_ms && `${day(p.start_ms)} ${clock(p.start_ms)}`, p.duration_ms && duration(p.duration_ms), p.samples && `${number(p.samples)} samples`, p.lost && `${number(p.lost)} lost`]);
	if (p.state === 'failed')
		return say(`The recording failed: ${p.error}`);
	$('actions').append(menu('Download', FORMATS.map(([format, text]) => el('a', { href: `${last}/download?format=${format}`, download: '' }, text))));
	await openFrame(`${last}/page`);
}

const address = (from, to, service) => `${from}-${to}${service ? `?service=${encodeURIComponent(service)}` : ''}`;

// Comparisons and kept ranges become profiles, which then open.
async function make(path, body, text) {
	announce(text);
	const message = toast(text, { seconds: 60 });
	try {
		const { id } = await post(path, body);
		location.assign(`../p/${id}`);
	} catch (e) {
		message.close();
		fail(e);
	}
}

async function openRange() {
	const [from, to] = last.split('-').map(Number), service = new URLSearchParams(location.search).get('service') || '', length = to - from;
	const body = { from_ms: from, to_ms: to, service }, isToday = day(from) === 'Today';
	const before = (ago) => ({ from_ms: from - ago, to_ms: to - ago, service }), node = await get('node');
	title(service || node.host, [`${isToday ? '' : `${day(from)} `}${clock(from, true)} to ${clock(to, true)}`, duration(length)]);
	const compare = (text, hours) => el('button', { textContent: text, disabled: from - hours * HOUR_MS < node.store.oldest_slice_ms, on_click: () => make('diffs', { before: before(hours * HOUR_MS), after: body }, 'The comparison is made …') });
	$('actions').append(el('a', { className: 'button', href: address(from - length, from, service), 'aria-label': 'The time before' }, '←'),
		el('a', { className: 'button', href: address(to, to + length, service), 'aria-label': 'The time after' }, '→'));
	if (node.role === 'operator')
		$('actions').append(menu('Compare', [el('p', { className: 'label' }, 'with the same time'), compare('an hour earlier', 1), compare('yesterday', 24), compare('a week ago', 168)]),
			el('button', { textContent: 'Keep', title: 'Keep this range as a profile', on_click: () => make('ranges', { ...body, name: `${service || node.host} ${clock(from)} to ${clock(to)}` }, 'The range is kept …') }));
	const src = `${last}/page${location.search}`, error = await pageError(src);
	if (error)
		return say(error);
	await openFrame(src);
}

(kind === 's' ? openRange : openProfile)().catch((e) => say(e.status === 404 ? 'There is no such profile. It may have been deleted.' : e.message));
