// The form that starts a recording.
import { get, post } from './api.js';
import { $, announce, closable, el, showError } from './dom.js';

// Targets that take a text: what the field asks for.
const TEXTS = {
	pid: 'number of the process',
	comm: 'name, as in ps: java',
	user: 'user name or number',
	container: 'name or id of the container',
	pod: 'name of the pod',
	cgroup: 'path below /sys/fs/cgroup',
};

// Targets for which the daemon waits a few seconds.
const MAY_BE_MISSING = ['comm', 'user', 'container', 'pod', 'cgroup', 'jvms'];

// An event that needs more than its name is typed: "java:CLASS.METHOD", "uprobe:FILE:SYMBOL".
const isPattern = (e) => /[:,]|NNN/.test(e.name);

let events = [], jvms = [], caps = {}, isReady = false;

function chosenEvents() {
	const checked = [...$('events-menu').querySelectorAll('input[type=checkbox]:checked')].map((c) => c.value);
	const typed = $('events-more')?.value.split(',').map((t) => t.trim()).filter(Boolean) || [];
	return [...checked, ...typed];
}

function showChosen() {
	$('events-chosen').textContent = chosenEvents().join(', ') || 'none chosen';
}

function eventLine(event, isChecked) {
	const box = el('input', { type: 'checkbox', value: event.name, checked: isChecked && !event.why_not, disabled: Boolean(event.why_not), on_change: showChosen });
	return el('label', { className: event.why_not ? 'event off' : 'event' }, box,
		el('span', { className: 'name' }, event.name), el('span', { className: 'quiet' }, event.why_not ? `not here: ${event.why_not}` : `${event.unit} · ${event.help}`));
}

function fillEvents(chosen) {
	const names = new Set(chosen), known = events.filter((e) => !isPattern(e));
	const typed = chosen.filter((name) => !known.some((e) => e.name === name && !e.why_not));
	const usable = known.filter((e) => !e.why_not), missing = known.filter((e) => e.why_not);
	const patterns = events.filter((e) => isPattern(e) && !e.why_not).map((e) => e.name);
	const lines = usable.map((e) => eventLine(e, names.has(e.name)));
	const more = el('div', { className: 'field' }, el('label', { for: 'events-more' }, 'Further events, separated by commas'),
		el('input', { id: 'events-more', value: typed.join(','), placeholder: patterns[0] || '', spellcheck: false, on_input: showChosen }),
		patterns.length ? el('span', { className: 'quiet' }, patterns.join(' · ')) : null);
	$('events-menu').replaceChildren(...lines, more, ...missing.map((e) => eventLine(e, false)));
	showChosen();
}

function jvmText(j) {
	const where = j.container_name || (j.container && j.container.slice(0, 12));
	const main = (j.main || 'java').split(/[./]/).pop(), service = j.service && j.service !== main && j.service !== j.main ? `${j.service} · ` : '';
	return `${service}${main} · ${j.pid}${where ? ` · ${where}` : ''} · ${Math.round(j.cpu_percent)} % CPU`;
}

// Keeps the JVM that is chosen, also when it has ended: starting then says so.
export function setJvms(list) {
	const select = $('target-jvm'), chosen = select.value;
	jvms = list;
	select.replaceChildren(...jvms.map((j) => el('option', { value: String(j.pid), title: j.main }, jvmText(j))));
	if (chosen && !jvms.some((j) => String(j.pid) === chosen))
		select.append(el('option', { value: chosen }, `${chosen} · ended`));
	if (!jvms.length && !chosen)
		select.append(el('option', { value: '' }, 'no JVM runs here'));
	if (chosen)
		select.value = chosen;
	$('target-kind').querySelector('[value=jvms]').textContent = `All JVMs (${jvms.length})`;
	suggest();
}

// Values that the running JVMs give.
function suggest() {
	const kind = $('target-kind').value;
	const of = { pid: (j) => [String(j.pid), j.service || j.main], user: (j) => [j.user], container: (j) => [j.container_name || j.container, j.service || j.main], comm: () => ['java'] }[kind];
	const values = new Map(jvms.map((j) => (of ? of(j) : [''])).filter(([v]) => v));
	$('target-values').replaceChildren(...[...values].map(([value, label]) => el('option', { value, label: label || undefined })));
}

function showTarget() {
	const kind = $('target-kind').value, text = $('target-text');
	$('target-jvm').hidden = kind !== 'jvm';
	text.hidden = !TEXTS[kind];
	text.required = Boolean(TEXTS[kind]);
	text.placeholder = TEXTS[kind] || '';
	suggest();
}

function target() {
	const kind = $('target-kind').value;
	if (kind === 'jvm')
		return { kind: 'pid', text: $('target-jvm').value };
	return { kind, text: TEXTS[kind] ? $('target-text').value.trim() : '' };
}

const form = () => ({ events: chosenEvents().join(','), target: target(), rate_hz: Number($('rate').value), duration_s: Number($('duration').value) });

// As one word of a shell.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// The same as a command, for people who have none of this at hand.
export function command() {
	const { events: names, target: t, rate_hz, duration_s } = form();
	const select = { node: '', jvms: ' --jvms', pid: ` -p ${quoted(t.text)}` }[t.kind] ?? ` --${t.kind} ${quoted(t.text)}`;
	return `sudo sysflame record -e ${quoted(names)} -F ${rate_hz}${duration_s ? ` -d ${duration_s}` : ''}${select}`;
}

// Messages name the fields of the API. People see labels.
const LABELS = { rate_hz: 'Rate', duration_s: 'Duration', events: 'Events', target: 'Target', 'target.text': 'Target' };

function inWordsOfPage(message) {
	return message.replace(/"([a-z_.]+)"/g, (quoted, name) => LABELS[name] || quoted).replace(/^-e (.+?): /, 'Events: $1: ').replace('; sysflame events lists them', '');
}

// Fields of typed errors.
const PLACES = { rate_hz: 'rate', duration_s: 'duration', target: 'target-text', events: 'events-chosen' };

async function submit(e) {
	e?.preventDefault();
	const body = form(), button = $('start-button');
	showError($('start-error'), null);
	if (!body.events)
		return showError($('start-error'), new Error('Choose at least one event.'));
	if (body.target.kind === 'pid' && !body.target.text)
		return showError($('start-error'), new Error('Choose a JVM. None runs on this node at the moment.'));
	button.disabled = true;
	const waits = MAY_BE_MISSING.includes(body.target.kind) ? setTimeout(() => announce('No process matches the target yet.'), 1500) : 0;
	try {
		await post('sessions', body);
		announce('The recording starts.');
		post('settings/defaults', { ...body, kind: $('target-kind').value }).catch(() => {});
	} catch (error) {
		showError($('start-error'), new Error(inWordsOfPage(error.message)));
		const place = $(PLACES[error.field]?.replace('-text', $('target-text').hidden ? '-kind' : '-text'));
		place?.focus();
		place?.setAttribute('aria-invalid', 'true');
	}
	clearTimeout(waits);
	button.disabled = !isReady;
}

export const start = () => $('start').requestSubmit();

export function setNode(node) {
	isReady = node.recorder.state === 'up';
	$('start-button').disabled = !isReady;
	caps = node.caps || {};
	if (caps.max_hz)
		$('rate').max = caps.max_hz;
	for (const o of caps.max_duration_s ? $('duration').options : [])
		o.disabled = Number(o.value) > caps.max_duration_s;
}

function apply(saved) {
	const known = [...$('target-kind').options].map((o) => o.value);
	if (!saved || typeof saved !== 'object' || !saved.target)
		return ['cpu'];
	$('target-kind').value = known.includes(saved.kind) ? saved.kind : 'node';
	// The process of then is most likely gone.
	if (!['jvm', 'pid'].includes(saved.kind))
		$('target-text').value = saved.target.text || '';
	if (saved.rate_hz > 0)
		$('rate').value = saved.rate_hz;
	if ([...$('duration').options].some((o) => Number(o.value) === saved.duration_s))
		$('duration').value = saved.duration_s;
	return String(saved.events || 'cpu').split(',');
}

export async function setUp() {
	closable($('events'));
	$('start').addEventListener('submit', submit);
	$('start').addEventListener('input', (e) => e.target.removeAttribute('aria-invalid'));
	$('target-kind').addEventListener('change', () => {
		showTarget();
		(TEXTS[$('target-kind').value] ? $('target-text') : $('target-jvm')).focus();
	});
	const [list, saved] = await Promise.all([get('events').catch(() => []), get('settings/defaults').catch(() => null)]);
	events = list;
	fillEvents(apply(saved));
	showTarget();
	get('jvms').then(setJvms, () => setJvms([]));
}
