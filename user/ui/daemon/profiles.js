// The list of profiles.
import { get, post } from './api.js';
import { $, announce, ask, bytes, clock, closable, day, duration, el, fail, number, percent, plural, toast } from './dom.js';
import { command, start } from './start.js';

const PAGE = 200;
const ASKED_MOST = 1000; // in one request
const UNDO_S = 10;
const FILTER_MS = 150;
const UPLOAD_MOST = 64e6;
const FORMATS = [['html', 'Page (html)'], ['svg', 'Picture (svg)'], ['collapsed', 'Collapsed stacks'], ['pprof', 'pprof'], ['sflm', 'Raw (sflm)']];
const KINDS = [['java', 'Java'], ['native', 'native'], ['kernel', 'kernel'], ['jvm', 'JVM'], ['other', 'other']];
const SOURCES = { upload: 'upload', diff: 'comparison', range: 'from the past', fleet: 'fleet' };
const COLUMNS = 9;
const NAME_MOST = 200; // bytes

let whenEmpty = null; // what a page shows that starts no recordings of a node
let profiles = [], nrAll = 0, limit = PAGE, isOperator = false, query = '';
let nrAsked = 0, shown = 0; // turns of refresh()
const selected = new Set(), unfolded = new Set(); // ids; unfolded: all of its alerts are shown
const hidden = new Map(); // ids deleted here; the turn of refresh() that may not know it yet

const chosen = () => profiles.filter((p) => selected.has(p.id));
const hasGraph = (p) => p.state !== 'failed';
// A comparison has two numbers of samples, and weights do not always say it.
const hasSamples = (p) => hasGraph(p) && p.source !== 'diff' && (p.samples > 0 || !p.total);

function mini(p) {
	const kinds = p.summary?.kinds;
	if (!kinds)
		return '';
	const shares = KINDS.filter(([k]) => kinds[k] > 0), label = shares.map(([k, name]) => `${name} ${percent(kinds[k])}`).join(', ');
	const top = (p.summary.top || []).map((t) => `${percent(t.share)}  ${t.name}`);
	const bar = el('div', { className: 'mini', role: 'img', 'aria-label': label, title: [label, '', ...top].join('\n') });
	for (const [k] of shares) {
		const part = el('span', { className: k });
		part.style.flexGrow = kinds[k];
		bar.append(part);
	}
	return bar;
}

const tag = (text, className = '', title) => el('span', { className: `tag ${className}`, title }, text);

function tags(p) {
	return [p.pinned ? tag('pinned') : '', p.state === 'partial' ? tag('partial', 'warn', p.error || 'The recording was cut off.') : '', SOURCES[p.source] ? tag(SOURCES[p.source]) : '',
		p.lost && hasGraph(p) ? tag(`${number(p.lost)} lost`, 'warn', 'Samples that were lost') : ''];
}

// One line; the other alerts open by a click on it.
function alertLines(p) {
	const [first, ...others] = p.summary?.alerts || [], line = (text) => el('p', { className: 'quiet' }, text);
	if (!others.length)
		return first && line(first);
	return el('details', { className: 'alerts', open: unfolded.has(p.id), on_toggle: (e) => unfolded[e.target.open ? 'add' : 'delete'](p.id) },
		el('summary', { className: 'quiet' }, first, ' ', el('span', { className: 'more-alerts' }, `+${others.length} more`)), ...others.map(line));
}

function nameCell(p) {
	const name = hasGraph(p) ? el('a', { href: `p/${p.id}`, className: 'name' }, p.name || `profile ${p.id}`) : el('span', { className: 'name' }, p.name || `profile ${p.id}`);
	return el('td', { className: 'what' }, name, ...tags(p), alertLines(p), p.error ? el('p', { className: hasGraph(p) ? 'quiet' : 'error' }, hasGraph(p) ? p.error : `failed: ${p.error}`) : '');
}

// As much of a name as the server takes, in whole characters.
const cut = (name) => name.slice(0, new TextEncoder().encodeInto(name, new Uint8Array(NAME_MOST)).read);

function rename(p, row) {
	const cell = row.querySelector('.what'), input = el('input', { value: p.name, 'aria-label': 'Name of the profile', spellcheck: false });
	let isDone = false;
	const finish = async (save) => {
		if (isDone)
			return;
		isDone = true;
		const name = cut(input.value.trim());
		// If the server refuses the name, the input keeps the text.
		if (save && name && name !== p.name && !await change(p, { name }, 'The profile was renamed.')) {
			isDone = false;
			return;
		}
		show();
		focusRow(p.id);
	};
	input.addEventListener('keydown', (e) => {
		e.stopPropagation();
		if (e.key === 'Enter' || e.key === 'Escape') {
			e.preventDefault();
			finish(e.key === 'Enter');
		}
	});
	input.addEventListener('blur', () => finish(true));
	cell.replaceChildren(input);
	input.select();
	input.focus();
}

// Whether it was changed.
async function change(p, fields, text) {
	try {
		await post(`profiles/${p.id}`, fields);
		Object.assign(p, fields);
		announce(text);
		return true;
	} catch (e) {
		fail(e);
		return false;
	}
}

function actions(p, row) {
	const close = () => {
		menu.open = false;
	};
	const item = (text, run) => el('button', { textContent: text, type: 'button', on_click: () => {
		close();
		run();
	} });
	const downloads = hasGraph(p) ? FORMATS.map(([format, text]) => el('a', { href: `p/${p.id}/download?format=${format}`, download: '', on_click: close }, text)) : [];
	const changes = !isOperator ? [] : [
		item('Rename', () => rename(p, row)),
		item(p.pinned ? 'Unpin' : 'Pin', () => change(p, { pinned: !p.pinned }, p.pinned ? 'The profile is no longer pinned.' : 'The profile is pinned.').then(show)),
		item('Delete', () => remove([p])),
	];
	if (!downloads.length && !changes.length)
		return el('td', {});
	const menu = closable(el('details', { className: 'actions' }, el('summary', { 'aria-label': `Actions of ${p.name}`, title: 'Actions' }, '⋯'),
		el('div', { className: 'menu' }, ...changes, changes.length && downloads.length ? el('p', { className: 'label' }, 'Download') : '', ...downloads)));
	return el('td', { className: 'act' }, menu);
}

function row(p) {
	const tr = el('tr', { tabIndex: -1, className: selected.has(p.id) ? 'chosen' : '' });
	tr.dataset.id = p.id;
	const box = el('input', { type: 'checkbox', checked: selected.has(p.id), 'aria-label': `Select ${p.name}`, on_change: () => select(p.id, box.checked) });
	const events = p.events.split(',').filter(Boolean).map((e) => tag(e));
	tr.append(el('td', { className: 'pick' }, isOperator ? box : ''), nameCell(p), el('td', { className: 'events' }, ...events), el('td', { className: 'target' }, p.target),
		el('td', { className: 'right samples', 'data-label': 'samples' }, hasSamples(p) ? number(p.samples) : '–'), el('td', { className: 'right' }, p.duration_ms ? duration(p.duration_ms) : '–'),
		el('td', { className: 'where' }, mini(p)), el('td', { className: 'right' }, p.size_bytes ? bytes(p.size_bytes) : '–'), el('td', { className: 'when' }, el('time', { dateTime: new Date(p.start_ms).toISOString(), title: new Date(p.start_ms).toLocaleString() }, clock(p.start_ms))), actions(p, tr));
	return tr;
}

const head = () => el('thead', {}, el('tr', {}, ...['', 'Profile', 'Events', 'Target', 'Samples', 'Length', 'Where the time went', 'Size', 'When', ''].map((text) => el(text ? 'th' : 'td', { scope: text ? 'col' : undefined, className: ['Samples', 'Length', 'Size'].includes(text) ? 'right' : '' }, text))));

// Rows by day; the newest first, as the server sends them.
function table(list) {
	const t = el('table', {}, head());
	let of = '', body;
	for (const p of list) {
		const d = day(p.start_ms);
		if (d !== of) {
			body = el('tbody', {}, el('tr', { className: 'day' }, el('td', {}), el('th', { colspan: COLUMNS, scope: 'rowgroup' }, d)));
			t.append(body);
			of = d;
		}
		body.append(row(p));
	}
	return t;
}

function showEmpty(isEmpty) {
	$('empty').hidden = !isEmpty;
	if (!isEmpty)
		return;
	$('empty').replaceChildren(...(query ? [el('p', {}, 'No profile has these words in its name, events or target.')]
		: whenEmpty ? whenEmpty() : isOperator ? [el('p', {}, 'There are no profiles yet.'), el('button', { className: 'primary', textContent: 'Start profiling', on_click: start }), el('p', { className: 'quiet' }, 'or, in a shell of the node:'), el('code', {}, command())]
			: [el('p', {}, 'There are no profiles yet.')]));
}

export function show() {
	const list = profiles.filter((p) => !hidden.has(p.id)), focused = document.activeElement?.closest?.('tr')?.dataset.id;
	for (const id of selected)
		if (!list.some((p) => p.id === id))
			selected.delete(id);
	$('profiles').replaceChildren(...(list.length ? [table(list)] : []));
	showEmpty(!list.length);
	$('show-more').hidden = profiles.length >= nrAll;
	$('clear-button').disabled = !nrAll;
	showSelected();
	if (focused)
		focusRow(focused);
	else
		$('profiles').querySelector('tr[data-id]')?.setAttribute('tabindex', '0');
}

function showSelected() {
	const list = chosen();
	$('selected').hidden = $('compare').hidden = $('delete').hidden = !list.length;
	$('selected').textContent = `${list.length} selected`;
	$('compare').disabled = list.length !== 2 || !list.every(hasGraph);
	$('compare').title = list.length === 2 ? '' : 'Select two profiles.';
}

function select(id, isChosen) {
	selected[isChosen ? 'add' : 'delete'](id);
	$('profiles').querySelector(`tr[data-id="${id}"]`)?.classList.toggle('chosen', isChosen);
	showSelected();
}

function focusRow(id) {
	for (const tr of $('profiles').querySelectorAll('tr[data-id]'))
		tr.tabIndex = tr.dataset.id === String(id) ? 0 : -1;
	$('profiles').querySelector(`tr[data-id="${id}"]`)?.focus();
}

// The list changes while people type a name or have a menu open; they see it after that.
const isBusy = () => $('profiles').querySelector('.what input, .actions[open]');

// As many of the newest profiles as the list shows.
async function fetchNewest(words) {
	const list = [], filter = words ? `&q=${encodeURIComponent(words)}` : '';
	for (;;) {
		const reply = await get(`profiles?limit=${Math.min(limit - list.length, ASKED_MOST)}&offset=${list.length}${filter}`);
		list.push(...reply.profiles);
		if (list.length >= Math.min(limit, reply.nr) || !reply.profiles.length)
			return { nr: reply.nr, profiles: list };
	}
}

// Answers may arrive in another order than they were asked for: one that is older than what is shown is dropped.
export async function refresh() {
	const asked = query, turn = ++nrAsked;
	try {
		const reply = await fetchNewest(asked);
		if (asked !== query || turn < shown)
			return;
		shown = turn;
		profiles = reply.profiles;
		nrAll = reply.nr;
		// The server's list is right from then on: somebody else may restore one.
		hidden.forEach((at, id) => turn > at && hidden.delete(id));
		if (!isBusy())
			show();
	} catch (e) {
		fail(e);
	}
}

// The older one is before.
export async function compare() {
	const list = chosen().sort((a, b) => a.start_ms - b.start_ms);
	if (list.length !== 2 || $('compare').disabled)
		return;
	announce('The comparison is made.');
	try {
		const { id } = await post('diffs', { before: list[0].id, after: list[1].id });
		location.assign(`p/${id}`);
	} catch (e) {
		fail(e);
	}
}

function sayBack(nr, asked) {
	if (nr === asked)
		announce('The profiles are back.');
	else if (nr)
		toast(`${number(nr)} of ${plural(asked, 'profile')} are back.`, { isBad: true });
}

async function remove(list) {
	const ids = list.map((p) => p.id), done = [];
	for (const id of ids)
		await post(`profiles/${id}/delete`).then(() => done.push(id), fail);
	if (!done.length)
		return;
	done.forEach((id) => hidden.set(id, nrAsked));
	show();
	toast(`${plural(done.length, 'profile')} deleted`, { action: 'Undo', seconds: UNDO_S, run: async () => {
		let nr = 0;
		for (const id of done)
			await post(`profiles/${id}/restore`).then(() => {
				hidden.delete(id);
				nr++;
			}, fail);
		sayBack(nr, done.length);
		refresh();
	} });
}

async function clearAll() {
	if (!await ask('Delete all profiles?', 'Pinned profiles stay.', 'Delete all'))
		return;
	const restore = (undo, asked) => post('profiles/restore-all', { undo }).then(({ nr }) => sayBack(nr, asked), fail).then(refresh);
	await post('profiles/delete-all').then(({ nr, undo }) => toast(`${plural(nr, 'profile')} deleted`, undo ? { action: 'Undo', seconds: UNDO_S, run: () => restore(undo, nr) } : {}), fail);
	refresh();
}

async function upload(files) {
	for (const file of files) {
		if (file.size > UPLOAD_MOST) {
			fail(new Error(`${file.name} is larger than 64 MB.`));
			continue;
		}
		const message = toast(`${file.name} is being read …`, { seconds: 600 });
		await post(`profiles?name=${encodeURIComponent(cut(file.name))}`, file)
			.then(() => toast(`${file.name} was added`), (e) => fail(new Error(`${file.name}: ${e.message}`)));
		message.close();
	}
	refresh();
}

function setUpDrop() {
	let depth = 0;
	const hasFiles = (e) => [...e.dataTransfer?.types || []].includes('Files');
	const on = (type, run) => addEventListener(type, (e) => {
		if (!hasFiles(e))
			return;
		e.preventDefault();
		run(e);
		$('drop').hidden = depth <= 0;
	});
	on('dragenter', () => depth++);
	on('dragleave', () => depth--);
	on('dragover', () => {});
	on('drop', (e) => {
		depth = 0;
		upload([...e.dataTransfer.files]);
	});
}

// Arrows move through the rows; Enter opens, Space selects.
function onKey(e) {
	const tr = e.target.closest('tr[data-id]'), isRow = e.target === tr;
	if (!tr || e.target.matches('input:not([type=checkbox])') || e.ctrlKey || e.metaKey || e.altKey)
		return;
	const all = [...$('profiles').querySelectorAll('tr[data-id]')], at = all.indexOf(tr);
	const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
	if (next !== undefined && !e.target.closest('.actions[open]')) {
		e.preventDefault();
		if (all[next])
			focusRow(all[next].dataset.id);
	} else if (e.key === 'Enter' && isRow) {
		tr.querySelector('a.name')?.click();
	} else if (e.key === ' ' && isRow) {
		e.preventDefault();
		tr.querySelector('.pick input')?.click();
	}
}

export async function setUp(mayChange, empty) {
	let timer;
	whenEmpty = empty;
	isOperator = mayChange;
	$('filter').addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			query = $('filter').value.trim();
			refresh();
		}, FILTER_MS);
	});
	$('filter').addEventListener('keydown', (e) => {
		if (e.key === 'ArrowDown')
			$('profiles').querySelector('tr[data-id]')?.focus();
		else if (e.key === 'Escape')
			$('filter').blur();
	});
	$('profiles').addEventListener('keydown', onKey);
	$('profiles').addEventListener('focusout', () => setTimeout(() => !isBusy() && document.activeElement === document.body && show()));
	$('show-more').addEventListener('click', () => {
		limit += PAGE;
		refresh();
	});
	$('compare').addEventListener('click', compare);
	$('delete').addEventListener('click', () => remove(chosen()));
	$('clear-button').addEventListener('click', clearAll);
	$('upload').addEventListener('click', () => $('upload-file').click());
	$('upload-file').addEventListener('change', (e) => upload([...e.target.files]).then(() => {
		e.target.value = '';
	}));
	if (isOperator)
		setUpDrop();
	await refresh();
}
