// The head line over a profile, p/ID, or over a range of continuous profiling, s/FROM-TO?service=X. The flame
// graph is in a frame that can do nothing here but tell its view.
import { get, pageError, post } from './api.js';
import { $, announce, clock, closable, day, duration, earlier, el, fail, gapText, graphFrame, number, toast, visible } from './dom.js';
import { viewOf } from './transforms.js';

const FORMATS = [['html', 'Page (html)'], ['svg', 'Picture (svg)'], ['collapsed', 'Collapsed stacks'], ['pprof', 'pprof'], ['json', 'speedscope (json)'], ['otlp', 'OTLP'], ['sflm', 'Raw (sflm)']];
const SERVICES_MOST = 50, OTHERS_MOST = 200, UNDO_S = 10;
const [kind, last] = location.pathname.split('/').slice(-2);

function say(text) {
	$('state').hidden = !text;
	$('state').textContent = text;
}

function title(text, facts) {
	$('name').textContent = visible(text);
	$('facts').textContent = visible(facts.filter(Boolean).join(' · '));
	document.title = `${visible(text)} - sysflame`;
}

// The view in the frame and in this address are the same, so that a link leads back to it.
async function openFrame(src) {
	const saved = location.hash ? '' : viewOf(await get('settings/transforms').catch(() => null));
	const frame = graphFrame('Flame graph', 'frame');
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

// Replaces the profile's name by a text field. Enter saves the new name, Esc restores the old one.
function rename(p, whenDone) {
	const input = el('input', { value: p.name, 'aria-label': 'Name of the profile', spellcheck: false });
	let isDone = false;
	const finish = async (keeps) => {
		const name = input.value.trim();
		if (isDone)
			return;
		isDone = true;
		if (keeps && name && name !== p.name)
			await post(`profiles/${p.id}`, { name }).then((now) => Object.assign(p, now), fail);
		whenDone();
	};
	input.addEventListener('keydown', (e) => ['Enter', 'Escape'].includes(e.key) && finish(e.key === 'Enter'));
	input.addEventListener('blur', () => finish(true));
	$('name').replaceChildren(input);
	input.select();
	input.focus();
}

// Nothing of a deleted profile can be used, until it is restored.
function setUsable(isUsable) {
	for (const part of ['name', 'actions', 'view'])
		$(part).inert = !isUsable;
}

async function remove(p) {
	await post(`profiles/${p.id}/delete`);
	setUsable(false);
	toast('The profile was deleted.', { action: 'Undo', seconds: UNDO_S, run: () => post(`profiles/${p.id}/restore`).then(() => {
		setUsable(true);
		announce('The profile is back.');
	}, fail) });
}

// The newest profiles that have values of the same events.
async function compareProfileMenu(p) {
	const { profiles } = await get(`profiles?limit=${OTHERS_MOST}`);
	const others = profiles.filter((o) => o.id !== p.id && o.state !== 'failed' && o.source !== 'diff' && o.events === p.events);
	const item = (o) => el('button', { textContent: `${o.name || `profile ${o.id}`} · ${day(o.start_ms)} ${clock(o.start_ms)}`, on_click: () => {
		const [before, after] = [o, p].sort((a, b) => a.start_ms - b.start_ms || a.id - b.id);
		make('diffs', { before: before.id, after: after.id }, 'The comparison is made …');
	} });
	return menu('Compare', others.length ? [el('p', { className: 'label' }, 'with another profile'), ...others.slice(0, SERVICES_MOST).map(item)] : [el('p', { className: 'label' }, 'There is no other profile of these events.')]);
}

async function addChanges(p, showTitle) {
	const pin = el('button', { on_click: () => post(`profiles/${p.id}`, { pinned: !p.pinned }).then((now) => {
		Object.assign(p, now);
		showPin();
		announce(p.pinned ? 'The profile is pinned.' : 'The profile is no longer pinned.');
	}, fail) });
	const showPin = () => {
		pin.textContent = p.pinned ? 'Unpin' : 'Pin';
	};
	showPin();
	const compare = p.source !== 'diff' && await compareProfileMenu(p).catch(fail);
	$('actions').append(...(compare instanceof Node ? [compare] : []), el('button', { textContent: 'Rename', on_click: () => rename(p, showTitle) }), pin, el('button', { textContent: 'Delete', on_click: () => remove(p).catch(fail) }));
}

// The graph is shown also without these.
const nodeFacts = () => get('node').catch((e) => {
	fail(e);
	return { host: 'Whole node' };
});

async function openProfile() {
	const p = await get(`profiles/${last}`), target = p.target && p.target !== p.name ? p.target : '';
	const showTitle = () => title(p.name || `profile ${p.id}`, [p.events, target, p.start_ms && `${day(p.start_ms)} ${clock(p.start_ms)}`, p.duration_ms && duration(p.duration_ms), p.samples && `${number(p.samples)} samples`, p.lost && `${number(p.lost)} lost`]);
	showTitle();
	if (p.state === 'failed')
		return say(`The recording failed: ${p.error}`);
	if (p.error)
		$('warning').append(p.error);
	$('warning').hidden = !p.error;
	$('actions').append(menu('Download', FORMATS.map(([format, text]) => el('a', { href: `${last}/download?format=${format}`, download: '' }, text))));
	const opened = openFrame(`${last}/page`), node = await nodeFacts();
	if (node.role === 'operator')
		await addChanges(p, showTitle);
	await opened;
}

// What a range is limited to: parts of the address, and of the body of a request.
const FILTERS = ['service', 'container', 'pod', 'comm', 'pid', 'with', 'event'];
// The server widens a range to whole slices, and says which range was asked for.
const search = new URLSearchParams(location.search), asked = /^(\d+)-(\d+)$/.exec(search.get('asked') || '');
search.delete('asked');
const filters = String(search) && `?${search}`;
const address = (from, to) => `${from}-${to}${filters}`;

function filterOf(search) {
	const given = new URLSearchParams(search), filter = {};
	for (const name of FILTERS.filter((f) => given.get(f)))
		filter[name] = name === 'pid' ? Number(given.get(name)) : given.get(name);
	return filter;
}

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

function compareMenu(span, filter, oldest, services) {
	const { from_ms: from, to_ms: to } = span, after = { ...span, ...filter };
	const item = (text, isThere, before) => el('button', { textContent: text, disabled: !isThere, title: isThere ? '' : 'No slices are kept of that time.', on_click: () => make('diffs', { before, after }, 'The comparison is made …') });
	const ago = (text, hours) => {
		const shift = to - earlier(to, hours);
		return item(text, oldest && to - shift > oldest, { ...filter, from_ms: from - shift, to_ms: to - shift });
	};
	const others = services.filter((s) => s !== filter.service).slice(0, SERVICES_MOST).map((service) => item(service, true, { ...span, ...(filter.event && { event: filter.event }), service }));
	return menu('Compare', [el('p', { className: 'label' }, 'with the same time'), ago('an hour earlier', 1), ago('yesterday', 24), ago('a week ago', 168),
		...(others.length ? [el('p', { className: 'label' }, 'with another service'), ...others] : [])]);
}

const KINDS = [['service', 'Service'], ['pod', 'Pod'], ['container', 'Container'], ['comm', 'Process name'], ['pid', 'PID']];

// Limits the range further. Each kind replaces its own limit; the others stay.
function onlyMenu(span, services, jvms) {
	const kind = el('select', { 'aria-label': 'Kind' }, ...KINDS.map(([value, text]) => el('option', { value }, text)));
	const text = el('input', { 'aria-label': 'Value', required: true, spellcheck: false }), list = el('datalist', { id: 'only-values' });
	const suggest = () => {
		const values = { service: services, container: jvms.map((j) => j.container_name || j.container), pid: jvms.map((j) => String(j.pid)) }[kind.value] || [];
		list.replaceChildren(...[...new Set(values.filter(Boolean))].map((value) => el('option', { value })));
		text.placeholder = KINDS.find(([k]) => k === kind.value)[1];
		text.pattern = kind.value === 'pid' ? '[1-9][0-9]*' : '.*';
	};
	text.setAttribute('list', 'only-values');
	kind.addEventListener('change', suggest);
	suggest();
	const show = (query) => location.assign(`${span.from_ms}-${span.to_ms}${String(query) && `?${query}`}`);
	const form = el('form', { className: 'only', on_submit: (e) => {
		e.preventDefault();
		const query = new URLSearchParams(filters);
		query.set(kind.value, text.value.trim());
		show(query);
	} }, kind, text, list, el('button', {}, 'Show'));
	const others = FILTERS.filter((f) => f !== 'event' && search.get(f)).map((f) => el('button', { type: 'button', textContent: `Without ${KINDS.find(([k]) => k === f)[1].toLowerCase()} ${search.get(f)}`, on_click: () => {
		const query = new URLSearchParams(filters);
		query.delete(f);
		show(query);
	} }));
	return menu('Only', [form, ...others]);
}

const GAPS_SHOWN = 3;

// The frame says how much is missing; this says when and why.
function showGaps(gaps) {
	const texts = gaps.slice(0, GAPS_SHOWN).map((g) => `${clock(g.from_ms, true)} to ${clock(g.to_ms, true)}: ${gapText(g)}`);
	if (gaps.length > GAPS_SHOWN)
		texts.push(`and ${gaps.length - GAPS_SHOWN} more times without slices`);
	$('warning').textContent = visible(texts.join('; '));
	$('warning').hidden = !gaps.length;
}

async function openRange() {
	const [from, to] = last.split('-').map(Number), span = { from_ms: from, to_ms: to }, length = to - from, filter = filterOf(filters);
	const [node, jvms, slices] = await Promise.all([nodeFacts(), get('jvms').catch(() => []), get(`slices?from_ms=${from}&to_ms=${to}&steps=1&event=${encodeURIComponent(filter.event || '')}`).catch(() => ({ series: [], gaps: [] }))]);
	const name = FILTERS.filter((f) => filter[f] && f !== 'event').map((f) => (f === 'pid' ? `pid ${filter[f]}` : filter[f])).join(', ') || node.host;
	title(name, [`${day(from) === 'Today' ? '' : `${day(from)} `}${clock(from, true)} to ${clock(to, true)}`, duration(length), filter.event, asked && `whole slices; asked for ${clock(Number(asked[1]), true)} to ${clock(Number(asked[2]), true)}`]);
	$('actions').append(el('a', { className: 'button', href: address(from - length, from), 'aria-label': 'The time before', title: 'The time before' }, '←'),
		el('a', { className: 'button', href: address(to, to + length), 'aria-label': 'The time after', title: 'The time after' }, '→'));
	$('actions').append(onlyMenu(span, slices.series.map((s) => s.service), jvms));
	if (node.role === 'operator')
		$('actions').append(compareMenu(span, filter, node.store.oldest_slice_ms, slices.series.map((s) => s.service)),
			el('button', { textContent: 'Keep', title: 'Keep this range as a profile', on_click: () => make('ranges', { ...span, ...filter, name: `${name} ${clock(from)} to ${clock(to)}` }, 'The range is kept …') }));
	const src = `${last}/page${filters}`, error = await pageError(src);
	if (error)
		return say(error);
	showGaps(slices.gaps);
	await openFrame(src);
}

(kind === 's' ? openRange : openProfile)().catch((e) => say(e.status === 404 ? 'There is no such profile. It may have been deleted.' : e.message));
