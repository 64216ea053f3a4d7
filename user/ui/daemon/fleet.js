// The page of a fleet: choose a service, record its nodes, read the merged profiles.
import { follow, get, post } from './api.js';
import { openAudit } from './audit.js';
import { $, announce, bytes, clock, el, number, plural, showError } from './dom.js';
import * as overview from './overview.js';
import * as profiles from './profiles.js';
import * as requests from './requests.js';
import { enter, showBanner } from './session.js';

const NAMES_SHOWN = 6;
// Lengths that a node's slices and the store have; the latter keeps what nodes have deleted.
const LENGTHS = { '': [[5, '5 s'], [10, '10 s'], [30, '30 s'], [60, '1 min'], [300, '5 min']], history: [[300, '5 min'], [3600, '1 h'], [86400, '1 d'], [604800, '7 d'], [2592000, '30 d']] };
const EVENTS = { '': ['cpu', 'wall', 'offcpu', 'alloc', 'lock', 'nativemem'], history: ['cpu', 'offcpu', 'alloc', 'lock'] };

let census = { nodes: [], services: [], nr: 0 }, censusMs = 0, fleet = null, wasUp = true;

// A value may contain "=".
const labelsOf = (node) => new Map(node.labels.split(',').filter(Boolean).map((l) => [l.split('=', 1)[0], l.slice(l.indexOf('=') + 1)]));

// As the nodes do: KEY=VALUE and KEY!=VALUE, all must hold. Null if it is no selector yet.
function parseLabels(text) {
	const terms = text.trim() ? text.split(',').map((t) => /^([A-Za-z0-9_.-]+)(!?=)(.+)$/.exec(t.trim())) : [];
	return terms.every(Boolean) ? terms.map(([, key, op, value]) => ({ key, isEqual: op === '=', value })) : null;
}

function admits(node, terms) {
	const labels = labelsOf(node);
	return terms.every(({ key, isEqual, value }) => ((key === 'node' ? node.name : labels.get(key)) === value) === isEqual);
}

function matching() {
	const service = $('service').value, terms = parseLabels($('labels').value);
	if (!terms)
		return null;
	// A node lists some of its services only; then it may run others, too.
	return census.nodes.filter((n) => !n.verdict && admits(n, terms) && (!service || n.services.includes(service) || !n.nr_services || n.nr_services > n.services.length));
}

const isHistory = () => $('source').value === 'history';

function setOptions(select, list) {
	const before = select.value;
	select.replaceChildren(...list.map(([value, text]) => el('option', { value }, text)));
	select.value = list.some(([value]) => String(value) === before) ? before : String(list[Math.min(2, list.length - 1)][0]);
}

// The store has other lengths and events than nodes, and no number of nodes to choose.
function showSource() {
	const source = $('source').value, events = EVENTS[source];
	for (const [id, hidden] of [['by', !isHistory()], ['nodes', isHistory()]])
		$(id).closest('.field').hidden = hidden;
	$('when').options[0].hidden = isHistory();
	if (isHistory() && !$('when').value)
		$('when').value = '0';
	setOptions($('length'), LENGTHS[source]);
	const event = $('event').value;
	$('event').replaceChildren(...events.map((e) => el('option', {}, e)));
	$('event').value = events.includes(event) ? event : 'cpu';
	showMatching();
}

function showMatching() {
	const list = matching(), isRecording = !$('when').value;
	$('ask-button').textContent = isHistory() ? 'Read' : isRecording ? 'Record' : 'Fetch';
	if (!document.body.classList.contains('operator'))
		return;
	if (!list) {
		$('matching').textContent = 'Labels are written as in zone=a,version!=2.';
		return;
	}
	if (isHistory()) {
		$('matching').textContent = `${fleet.history} is asked for what all nodes have pushed, also those that are gone. No node is asked.`;
		return;
	}
	const names = list.slice(0, NAMES_SHOWN).map((n) => n.name).join(', ') + (list.length > NAMES_SHOWN ? ` and ${number(list.length - NAMES_SHOWN)} more` : '');
	$('matching').textContent = !censusMs ? 'The nodes are being asked who they are …'
		: census.error || `${number(list.length)} of ${plural(census.nr, 'node')} match${list.length ? `: ${names}.` : '.'}${isRecording ? '' : ' Their slices are fetched; nothing is recorded.'}`;
}

function fillServices() {
	const chosen = $('service').value;
	const gone = chosen && !census.services.some((s) => s.name === chosen) ? [{ name: chosen, nodes: 0 }] : [];
	$('service').replaceChildren(el('option', { value: '' }, 'All processes'), ...[...gone, ...census.services].map((s) => el('option', { value: s.name }, `${s.name} · ${plural(s.nodes, 'node')}`)));
	$('service').value = chosen;
	const values = new Set(census.nodes.flatMap((n) => n.labels.split(',').filter(Boolean)));
	$('by-values').replaceChildren(...['node', 'service', ...new Set([...values].map((v) => v.slice(0, v.indexOf('='))))].map((value) => el('option', { value })));
	$('label-values').replaceChildren(...[...values].sort().slice(0, 100).map((value) => el('option', { value })));
}

const nodeName = (n) => (n.url ? el('a', { href: n.url, target: '_blank', rel: 'noopener noreferrer', title: 'Open the page of this node' }, n.name) : n.name);

const natural = (a, b) => a.name.localeCompare(b.name, 'en', { numeric: true });
const GROUPED_FROM = 50, GROUPS_MAX = 40;

// The label by which nodes are grouped: of those with few values, the one with most.
function groupingKey() {
	const values = new Map();
	for (const label of Object.keys(census.labels || {})) {
		const key = label.slice(0, label.indexOf('='));
		values.set(key, (values.get(key) || 0) + 1);
	}
	return [...values].filter(([, nr]) => nr > 1 && nr <= GROUPS_MAX).sort((a, b) => b[1] - a[1])[0]?.[0];
}

function nodeTable(list) {
	return el('table', { className: 'nodes' }, el('thead', {}, el('tr', {}, el('td', {}), ...['Node', 'Labels', 'Services', 'CPUs', 'JVMs', 'Version'].map((t) => el('th', { scope: 'col', className: /CPUs|JVMs|Version/.test(t) ? 'right' : '' }, t)))), el('tbody', {}, ...[...list].sort(natural).map(nodeRow)));
}

// A group's table is made when it is opened.
function nodeGroup(key, value, nr, open) {
	const list = census.nodes.filter((n) => labelsOf(n).get(key) === value), sum = (field) => list.reduce((all, n) => all + n[field], 0);
	const left = nr - list.length, place = el('div', {});
	const box = el('details', { className: 'node-group', 'data-group': `${key}=${value}` }, el('summary', {}, el('strong', {}, `${key} ${value}`), el('span', { className: 'quiet' }, `${plural(nr, 'node')}${left ? '' : `, ${plural(sum('cpus'), 'CPU')}, ${plural(sum('jvms'), 'JVM')}`}`)), place);
	box.addEventListener('toggle', () => {
		if (box.open && !place.children.length)
			place.replaceChildren(nodeTable(list), left ? el('p', { className: 'note' }, `${plural(left, 'more node')} of this group: choose them by labels.`) : '');
	});
	box.open = open;
	return box;
}

function nodeGroups(key) {
	const open = new Set([...document.querySelectorAll('.node-group[open]')].map((g) => g.dataset.group));
	const groups = Object.entries(census.labels).filter(([label]) => label.startsWith(`${key}=`)).map(([label, nr]) => ({ name: label.slice(key.length + 1), nr })).sort(natural);
	const without = census.nr - groups.reduce((all, g) => all + g.nr, 0);
	return [...groups.map((g) => nodeGroup(key, g.name, g.nr, open.has(`${key}=${g.name}`))), without > 0 ? el('p', { className: 'note' }, `${plural(without, 'node')} without ${key}`) : ''];
}

function nodeList() {
	const key = census.nr > GROUPED_FROM && groupingKey();
	if (!census.nodes.length)
		return [el('p', { className: 'note' }, census.error || 'No node has answered. Nodes run sysflame serve --fleet.')];
	if (key)
		return nodeGroups(key);
	return [nodeTable(census.nodes), census.nr > census.nodes.length ? el('p', { className: 'note' }, `${plural(census.nr - census.nodes.length, 'more node')}`) : ''];
}

function nodeRow(n) {
	const more = n.nr_services > n.services.length ? ` and ${number(n.nr_services - n.services.length)} more` : '';
	return el('tr', {}, el('td', {}), el('td', { className: 'name' }, nodeName(n)), el('td', {}, ...n.labels.split(',').filter(Boolean).map((l) => el('span', { className: 'tag' }, l))),
		el('td', { className: 'services' }, n.verdict ? `${n.verdict}: ${n.why}` : n.services.join(', ') + more), el('td', { className: 'right', 'data-label': 'CPUs' }, n.cpus || '–'), el('td', { className: 'right', 'data-label': 'JVMs' }, n.jvms),
		el('td', { className: 'right' }, n.version));
}

function showNodes() {
	$('nodes-state').textContent = censusMs ? `${plural(census.nr, 'node')} answered at ${clock(censusMs, true)}${census.twins ? `; ${plural(census.twins, 'answer')} came from a second node of the same name` : ''}${census.silent ? `; ${census.silent}` : ''}` : '';
	$('host').textContent = censusMs ? `${plural(census.nr, 'node')} · ${plural(census.services.length, 'service')}` : '';
	$('node-list').replaceChildren(...nodeList().filter(Boolean));
}

async function readCensus() {
	census = await get('fleet/nodes');
	censusMs = census.at_ms;
	fillServices();
	showMatching();
	showNodes();
}

function showHealth() {
	const { nats } = fleet;
	$('health').replaceChildren(el('span', { className: nats.is_up ? 'state up' : 'state down' }, nats.is_up ? 'NATS connected' : 'NATS not connected'), ` · ${nats.url}`);
	$('banner').hidden = nats.is_up;
	$('banner').textContent = nats.is_up ? '' : `There is no connection to NATS: ${nats.text}. It is tried again. Profiles can be read meanwhile.`;
	if (wasUp !== nats.is_up)
		announce(nats.is_up ? 'NATS is connected.' : 'NATS is not connected.');
	wasUp = nats.is_up;
}

function setFleet(next) {
	fleet = next;
	$('source-field').hidden = !fleet.history;
	showHealth();
	requests.set(fleet.requests);
	overview.set(fleet).catch(() => {});
	if (fleet.census_ms !== censusMs)
		readCensus().catch(() => {});
}

function setNode(node) {
	$('version').textContent = `sysflame ${node.version} · ${bytes(node.store.profile_bytes + node.store.index_bytes)} of ${bytes(node.store.max_bytes)} used`;
}

// The choice of "20", "10%" or "±5%" as a field of the request.
function howMany(nodes) {
	if (nodes.startsWith('±'))
		return { within_percent: parseFloat(nodes.slice(1)) };
	return nodes.endsWith('%') ? { share_percent: parseFloat(nodes) } : nodes && { nodes: Number(nodes) };
}

function order() {
	const service = $('service').value, labels = $('labels').value.trim().replace(/\s*,\s*/g, ','), nodes = $('nodes').value, when = $('when').value;
	return {
		select: [service && `service=${service}`, labels].filter(Boolean).join(','),
		events: $('event').value,
		duration_s: Number($('length').value),
		reason: $('reason').value.trim(),
		...(when !== '' && { ago_s: Number(when) }),
		...(isHistory() ? { source: 'history', by: $('by').value.trim() } : howMany(nodes)),
	};
}

async function start(e) {
	e.preventDefault();
	$('ask-button').disabled = true;
	showError($('ask-error'), null);
	try {
		await post('fleet/requests', order());
		announce(isHistory() ? 'The store is asked.' : 'The nodes are asked.');
		setFleet(await get('fleet'));
	} catch (error) {
		showError($('ask-error'), error);
	}
	$('ask-button').disabled = false;
}

async function main() {
	const node = await enter();
	if (!node)
		return;
	const isOperator = node.role === 'operator';
	$('viewer').hidden = isOperator;
	$('audit-button').addEventListener('click', openAudit);
	$('ask').addEventListener('submit', start);
	$('source').addEventListener('change', showSource);
	for (const id of ['service', 'labels', 'when'])
		$(id).addEventListener('input', showMatching);
	requests.setUp(isOperator);
	overview.setUp(isOperator, async () => setFleet(await get('fleet')));
	setNode(node);
	showMatching();
	setFleet(await get('fleet'));
	await profiles.setUp(isOperator, () => [el('p', {}, 'There are no profiles of the fleet yet.'), el('p', { className: 'quiet' }, isOperator ? 'Choose a service above, and record it.' : '')]);
	follow({ node: setNode, fleet: setFleet, profiles: profiles.refresh, error: showBanner });
}

main();
