// The page of the node: what runs, the past, and the profiles.
import { follow, get, post } from './api.js';
import { openAudit } from './audit.js';
import { $, announce, bytes, clock, day, el, fail, number, showError } from './dom.js';
import * as profiles from './profiles.js';
import { showPush } from './push.js';
import * as recordings from './recordings.js';
import { enter, showBanner } from './session.js';
import * as start from './start.js';
import * as strip from './strip.js';
import * as triggers from './triggers.js';
import { parseLines } from './transforms.js';

let nrJvms = 0, node = null, wasUp = true;

function showHost() {
	const facts = [node.host, node.kernel && `Linux ${node.kernel.replace(/^Linux /, '')}`, node.cpus && `${number(node.cpus)} CPUs`, `${nrJvms} JVM${nrJvms === 1 ? '' : 's'}`, node.fleet?.is_up && `node ${node.fleet.node} of a fleet`];
	$('host').textContent = facts.filter(Boolean).join(' · ');
	$('version').textContent = `sysflame ${node.version} · ${bytes(node.store.profile_bytes + node.store.slice_bytes + node.store.index_bytes)} of ${bytes(node.store.max_bytes)} used`;
	document.title = `${node.host} - sysflame`;
}

function showHealth() {
	const { recorder } = node, isUp = recorder.state === 'up';
	$('health').replaceChildren(el('span', { className: isUp ? 'state up' : 'state down' }, isUp ? 'recorder up' : 'recorder down'),
		isUp ? ` · overhead ${recorder.cpu_percent.toFixed(1)} % of a CPU, ${bytes(recorder.memory_bytes)}` : ` since ${clock(recorder.since_ms, true)}`);
	$('banner').hidden = isUp;
	$('excluded').textContent = node.excluded.map(e => `${e.comm} (PID ${e.pid}): ${e.why}`).join(' ');
	$('excluded').hidden = !node.excluded.length;
	const { restarts, restarted_ms, restart_why } = recorder, wasRestarted = isUp && Date.now() - restarted_ms < 3600e3;
	$('restarts').textContent = wasRestarted ? `${restart_why} ${day(restarted_ms)} ${clock(restarted_ms, true)}${restarts > 1 ? `, ${number(restarts)} times in all` : ''}. Recordings that ran then are shorter.` : '';
	$('restarts').hidden = !wasRestarted;
	$('disk').textContent = node.store.error && `${node.store.error} This began ${day(node.store.error_since_ms).toLowerCase()} ${clock(node.store.error_since_ms, true)}.`;
	$('disk').hidden = !node.store.error;
	$('banner').textContent = isUp ? '' : `The recorder has been down since ${day(recorder.since_ms).toLowerCase()} ${clock(recorder.since_ms, true)}. It restarts by itself. Profiles can be read meanwhile.`;
	if (wasUp !== isUp)
		announce(isUp ? 'The recorder is up again.' : 'The recorder is down.');
	wasUp = isUp;
}

function showFleet() {
	const { fleet } = node, isDown = fleet && !fleet.is_up;
	$('fleet').hidden = !isDown;
	$('fleet').textContent = isDown ? `Node ${fleet.node} has no connection to its fleet${fleet.since_ms ? ` since ${day(fleet.since_ms).toLowerCase()} ${clock(fleet.since_ms, true)}` : ''}: ${fleet.text}. Everything else goes on.` : '';
}

function setNode(next) {
	node = next;
	showHost();
	showHealth();
	showFleet();
	start.setNode(node);
	strip.setNode(node);
	showPush(node);
}

function setJvms(list) {
	nrJvms = list.length;
	start.setJvms(list);
	if (node)
		showHost();
}

async function openSettings() {
	const saved = await get('settings/transforms').catch(() => null);
	$('transforms').value = Array.isArray(saved?.lines) ? saved.lines.join('\n') : '';
	showError($('settings-error'), null);
	$('settings').showModal();
}

async function saveSettings(e) {
	e.preventDefault();
	const lines = $('transforms').value.split('\n').map((l) => l.trim()).filter(Boolean);
	try {
		parseLines(lines);
		await post('settings/transforms', { lines });
		$('settings').close();
		announce('The settings are saved.');
	} catch (error) {
		showError($('settings-error'), error);
	}
}

function onKey(e) {
	if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, select, textarea, [contenteditable]') || document.querySelector('dialog[open]'))
		return;
	const newest = recordings.newest(), run = { '/': () => $('filter').focus(), '?': () => $('keys').showModal() };
	if (node.role === 'operator')
		Object.assign(run, { s: () => (newest ? newest.stop() : start.start()), c: profiles.compare });
	if (!run[e.key])
		return;
	e.preventDefault();
	run[e.key]();
}

async function main() {
	node = await enter();
	if (!node)
		return;
	const isOperator = node.role === 'operator';
	$('keys-button').addEventListener('click', () => $('keys').showModal());
	if (isOperator) {
		$('settings-button').addEventListener('click', openSettings);
		$('settings-save').addEventListener('click', saveSettings);
		$('audit-button').addEventListener('click', openAudit);
	}
	await Promise.all([isOperator ? start.setUp() : null, recordings.setUp(isOperator), profiles.setUp(isOperator), strip.setUp(), triggers.setUp()]);
	setNode(node);
	get('jvms').then(setJvms, () => {});
	document.addEventListener('keydown', onKey);
	follow({ node: (n) => setNode({ ...node, ...n }), sessions: recordings.setSessions, profiles: profiles.refresh, jvms: setJvms, triggers: triggers.set, error: showBanner });
}

main();
