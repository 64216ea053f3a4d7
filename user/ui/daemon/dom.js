// Elements, numbers as text, and messages. Text from outside becomes text nodes only.

export const $ = (id) => document.getElementById(id);

// Characters that turn the direction of text, or have no width, would make a name look like another one.
const HIDDEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export const visible = (text) => text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const SHOWN = ['textContent', 'title', 'aria-label', 'label'];

// Children are nodes, texts, or null. `props` are properties; on_NAME are listeners, others with a dash attributes.
export function el(tag, props = {}, ...children) {
	const e = document.createElement(tag);
	for (const [key, given] of Object.entries(props)) {
		if (given === undefined || given === null)
			continue;
		const value = SHOWN.includes(key) ? visible(String(given)) : given;
		if (key.startsWith('on_'))
			e.addEventListener(key.slice(3), value);
		else if (key.includes('-') || key === 'role' || key === 'for' || key === 'colspan')
			e.setAttribute(key, value);
		else
			e[key] = value;
	}
	e.append(...children.filter((c) => c !== null && c !== undefined && c !== '').map((c) => (c instanceof Node ? c : visible(String(c)))));
	return e;
}

// Says it to screen readers. An equal text is said again.
export function announce(text) {
	const live = $('live');
	live.textContent = '';
	setTimeout(() => {
		live.textContent = text;
	}, 50);
}

export function showError(place, error) {
	place.textContent = error ? error.message : '';
	place.hidden = !error;
}

// A message that goes by itself; `action` is a button's text.
export function toast(text, { action, run, seconds = 6, isBad = false } = {}) {
	const box = el('div', { className: isBad ? 'toast bad' : 'toast', role: isBad ? 'alert' : 'status' }, el('p', {}, text));
	const close = () => box.remove();
	const timer = setTimeout(close, seconds * 1000);
	if (action)
		box.append(el('button', {
			textContent: action,
			on_click: () => {
				clearTimeout(timer);
				close();
				run();
			},
		}));
	box.append(el('button', { className: 'link', textContent: '×', 'aria-label': 'Close', on_click: close }));
	$('toasts').append(box);
	return { close, box };
}

export const fail = (error) => toast(error.message, { isBad: true, seconds: 10 });

export function ask(title, text, yes) {
	const dialog = $('confirm');
	$('confirm-title').textContent = title;
	$('confirm-text').textContent = text;
	$('confirm-yes').textContent = yes;
	dialog.returnValue = 'no';
	dialog.showModal();
	return new Promise((resolve) => dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true }));
}

const GROUPED = new Intl.NumberFormat('en');

export const number = (n) => GROUPED.format(n).replace(/,/g, '\u202f');

const short = (n) => (n >= 100 ? n.toFixed(0) : n.toFixed(n >= 10 ? 0 : 1).replace(/\.0$/, ''));

export function bytes(n) {
	let unit = 0;
	for (; n >= 999.5 && unit < 4; unit++)
		n /= 1000;
	return `${short(n)}\u00a0${['B', 'KB', 'MB', 'GB', 'TB'][unit]}`;
}

export function duration(ms) {
	const s = ms / 1000;
	if (s < 100)
		return `${s < 10 ? s.toFixed(1).replace(/\.0$/, '') : Math.round(s)}\u00a0s`;
	const min = Math.round(s / 60);
	return min < 100 ? `${min}\u00a0min` : `${short(s / 3600)}\u00a0h`;
}

export const percent = (share) => `${share < 0.0995 ? (share * 100).toFixed(1) : Math.round(share * 100)}\u00a0%`;
export const plural = (n, one) => `${number(n)} ${one}${n === 1 ? '' : 's'}`;

const two = (n) => String(n).padStart(2, '0');

export function clock(ms, hasSeconds) {
	const d = new Date(ms);
	return `${two(d.getHours())}:${two(d.getMinutes())}${hasSeconds ? `:${two(d.getSeconds())}` : ''}`;
}

const DAY_MS = 24 * 3600 * 1000;
const midnight = (ms) => new Date(ms).setHours(0, 0, 0, 0);

export function day(ms) {
	const days = Math.round((midnight(Date.now()) - midnight(ms)) / DAY_MS);
	if (days === 0 || days === 1)
		return days ? 'Yesterday' : 'Today';
	return new Date(ms).toLocaleDateString('en-GB', { weekday: days < 7 ? 'long' : undefined, day: 'numeric', month: 'long', year: days > 300 ? 'numeric' : undefined });
}

// The same time of the clock so many hours earlier: whole days may have 23 or 25 hours.
export function earlier(ms, hours) {
	const d = new Date(ms);
	if (hours % 24)
		return ms - hours * 3600 * 1000;
	return d.setDate(d.getDate() - hours / 24);
}

export const weekday = (ms) => new Date(ms).toLocaleDateString('en-GB', { weekday: 'short' });

// The value of an input of type datetime-local.
export function localTime(ms) {
	const d = new Date(ms);
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${clock(ms, true)}`;
}

// Since when a time has no slices, and why: an entry of `gaps` in /api/v1/slices.
export function gapText({ since_ms: since, why }) {
	const time = since && (day(since) === 'Today' ? clock(since, true) : `${day(since)} ${clock(since)}`);
	return `no slices${time ? ` since ${time}` : ''}${why ? `: ${why}` : ''}`;
}

const TARGETS = { node: 'whole node', jvms: 'all JVMs', pid: 'process', comm: 'name', user: 'user', container: 'container', pod: 'pod', cgroup: 'group' };

export const targetText = ({ kind, text }) => (text ? `${TARGETS[kind] || kind} ${text}` : TARGETS[kind] || kind);

// A flame graph: its page can run scripts and save files, and reaches nothing else here.
export function graphFrame(title, className) {
	const frame = el('iframe', { title, className });
	frame.setAttribute('sandbox', 'allow-scripts allow-downloads');
	frame.allow = 'clipboard-write *';
	return frame;
}

// Closes a menu made of <details> when the focus or a click goes elsewhere, or by Esc.
export function closable(details) {
	document.addEventListener('pointerdown', (e) => details.contains(e.target) || (details.open = false));
	details.addEventListener('focusout', (e) => e.relatedTarget && !details.contains(e.relatedTarget) && (details.open = false));
	details.addEventListener('keydown', (e) => {
		if (e.key !== 'Escape' || !details.open)
			return;
		e.stopPropagation();
		details.open = false;
		details.querySelector('summary').focus();
	});
	return details;
}
