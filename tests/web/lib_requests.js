// SPDX-License-Identifier: Apache-2.0
// Pages of profiles with labels of requests, made by the real program.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { build } = require('./page.js');

// A page of samples [stack, weight, labels as { route: '/a' }, trace number, slot of 10 ms, version], made from OTLP's
// JSON. `types` are further types with samples of their own.
function requestsPage(dir, samples, { types = {}, options = [] } = {}) {
	const table = (list) => ({ list, known: new Map() }), texts = table(['']), functions = table([{}]), stacks = table([{}]), links = table([{}]), attributes = table([{}]);
	const indexOf = ({ list, known }, key, made) => {
		if (!known.has(key))
			known.set(key, list.push(made) - 1);
		return known.get(key);
	};
	const string = (s) => (s ? indexOf(texts, s, s) : 0), frame = (name) => indexOf(functions, name, { nameStrindex: string(name) });
	const attribute = (key, value) => indexOf(attributes, `${key} ${value}`, { keyStrindex: string(key), value: { stringValueStrindex: string(value) } });
	const tags = (labels) => Object.entries(labels).map(([key, value]) => `${key}=${value.replace(/[%,]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`).sort().join(', ');
	const sample = ([stack, weight, labels, trace, slot]) => ({
		stackIndex: indexOf(stacks, stack, { locationIndices: stack.split(';').map(frame).reverse() }), values: [String(weight)],
		linkIndex: trace ? indexOf(links, trace, { traceId: String(trace).padStart(32, '0'), spanId: String(trace).padStart(16, '0') }) : 0,
		attributeIndices: [...(labels ? [attribute('sysflame.tags', tags(labels))] : []), ...(slot === undefined ? [] : [attribute('sysflame.time_slot', String(slot))])],
	});
	const profile = (name, unit, list) => ({ sampleType: { typeStrindex: string(name), unitStrindex: string(unit) }, samples: list.map(sample) });
	const versions = [...new Set(samples.map((s) => s[5] || ''))], ofVersion = (list, version) => list.filter((s) => (s[5] || '') === version);
	const resourceProfiles = versions.map((version) => ({
		resource: { attributes: [['service.name', 'shop'], ['service.version', version], ['sysflame.slot_ns', '10000000']].map(([key, value]) => ({ key, value: { stringValue: value } })) },
		scopeProfiles: [{ profiles: [profile('samples', 'count', ofVersion(samples, version)), ...Object.entries(types).map(([name, [unit, list]]) => profile(name, unit, ofVersion(list, version)))] }],
	}));
	const [json, html] = ['json', 'html'].map((end) => path.join(dir, `requests-${fs.readdirSync(dir).length}.${end}`));
	fs.writeFileSync(json, JSON.stringify({ dictionary: { mappingTable: [{}], functionTable: functions.list,
		locationTable: functions.list.map((_, i) => (i ? { lines: [{ functionIndex: i }] } : {})), linkTable: links.list, stringTable: texts.list, attributeTable: attributes.list, stackTable: stacks.list }, resourceProfiles }));
	execFileSync(path.join(build, 'sysflame'), ['report', '-q', json, '-o', html, ...options]);
	return html;
}

// A hundred requests of /cart, two of them slow, and a hundred of /pay that last 30 ms.
function timesPage(dir) {
	const samples = [['idle', 10]], cart = { route: '/cart', tenant: 'a' }, pay = { route: '/pay', tenant: 'a' };
	for (let i = 0; i < 100; i++)
		samples.push(['main;cart', 1, cart, i + 1, 5], [i < 2 ? 'main;slow' : 'main;cart', 1, cart, i + 1, i < 2 ? 95 : 6], ['main;pay', 1, pay, 1000 + i, i], ['main;pay', 1, pay, 1000 + i, i + 3]);
	return requestsPage(dir, samples, { types: { alloc: ['bytes', [['main;cart', 2048, cart, 1, 5]]] } });
}

module.exports = { requestsPage, timesPage };
