// The coverage of a fleet's profile: which nodes it stands for (user/fleet/controller/coverage.c).
const COVERAGE_STEPS = ['asked', 'matched', 'chosen', 'accepted', 'delivered', 'stored', 'times'], COVERAGE_SPLITS = ['node', 'zone', 'service', 'version'];

function coverageTable(rows) {
	const table = element('table');
	for (const [value, text, share] of rows) {
		const row = table.insertRow();
		row.append(element('td', 'n', value), element('td', '', text));
		row.cells[1].style.setProperty('--share', `${share || 0}%`);
	}
	return table;
}

function coverageInterval(value, few) {
	const of = (key) => value(`fleet-${key}`);
	if (of('stored') !== undefined)
		return 'Values are what the nodes pushed. They are not scaled to nodes or times without profiles.';
	if (of('estimate') !== undefined)
		return `Estimate for all nodes that match: ${count(of('estimate'))}, with 95 % confidence from ${count(of('low'))} to ${count(of('high'))}.`;
	return !few ? 'All nodes that match were asked: values are not estimated.' : `Values are estimates; ${few.replace(/^nodes delivered; /, '')}.`;
}

// One side of a comparison, or the whole; `prefix` is that of its notes.
function coverageOf(app, prefix, heading, methods = []) {
	const notes = new Map(app.original.meta.notes.filter((n) => n.key.startsWith(prefix)).map((n) => [n.key.slice(prefix.length), n])), value = (key) => (notes.get(key) || {}).value;
	if (!notes.has('fleet-asked') && !notes.has('fleet-stored'))
		return [];
	const text = (n) => n.text.replace(/ \((before|after)\)$/, ''), delivered = value('fleet-delivered'), most = Math.max(1, value('fleet-asked') || 0, value('fleet-stored') || 0);
	const shareOf = (s) => value(`fleet-${s}`) / (s === 'times' ? parseInt(text(notes.get('fleet-times')).slice(3), 10) : most) * 100;
	const nodes = [...notes].filter(([key]) => key.startsWith('fleet-node/')), heaviest = Math.max(1, ...nodes.map(([, n]) => n.value));
	const parts = heading ? [element('h3', '', heading)] : [];
	parts.push(coverageTable(COVERAGE_STEPS.filter((s) => notes.has(`fleet-${s}`)).map((s) => [count(value(`fleet-${s}`)), text(notes.get(`fleet-${s}`)), shareOf(s)])),
		element('p', '', coverageInterval(value, notes.has('fleet-few') && text(notes.get('fleet-few')))), ...methods);
	if (nodes.length)
		parts.push(element('h3', '', nodes.length < delivered ? `The ${nodes.length} nodes with most, as recorded` : 'Nodes, as recorded'),
			coverageTable(nodes.map(([key, n]) => [count(n.value), `${key.slice(11)}  ${text(n)}`, n.value / heaviest * 100])));
	return parts;
}

// How two groups of nodes differ (user/fleet/controller/contrast.c).
function coverageChange(app) {
	const { notes } = app.original.meta, change = notes.find((n) => n.key === 'fleet-change'), methods = notes.filter((n) => n.key.startsWith('fleet-method/'));
	const parts = change ? [element('p', '', change.text)] : [];
	if (methods.length)
		parts.push(element('h3', '', 'Change of self, with 95 % confidence over nodes'), coverageTable(methods.map((n) => [n.text, n.key.slice(13)])));
	return parts;
}

// Methods of an estimate (user/fleet/controller/parts.c).
function coverageMethods(app) {
	const methods = app.original.meta.notes.filter((n) => n.key.startsWith('fleet-method/'));
	return methods.length ? [element('h3', '', 'Self in all nodes that match, with 95 % confidence'), coverageTable(methods.map((n) => [n.text, n.key.slice(13)]))] : [];
}

function coverageSplits(app) {
	const splits = splitsOf(app.original).filter((by) => COVERAGE_SPLITS.includes(by)), line = element('p');
	for (const by of splits) {
		const button = element('button', '', `Split by ${by}`);
		button.onclick = () => app.change({ split: app.state.split === by ? '' : by, link: '', linkName: '' }, true);
		line.append(button, ' ');
	}
	return splits.length ? [line] : [];
}

function fillCoverage(app) {
	const value = (key) => (app.original.meta.notes.find((n) => n.key === key) || {}).value, isDiff = isComparison(app.original), panel = element('details', 'coverage');
	const parts = isDiff ? [...coverageChange(app), ...coverageOf(app, 'before_', 'Before'), ...coverageOf(app, 'after_', 'After')] : [...coverageOf(app, '', '', coverageMethods(app)), ...coverageSplits(app)];
	if (!parts.length || !app.original.meta.notes.some(({ key }) => /^(|before_|after_)fleet-(asked|stored)$/.test(key)))
		return;
	const nodes = (prefix) => value(`${prefix}fleet-delivered`) || value(`${prefix}fleet-stored`) || 0;
	const summary = isDiff ? `Coverage: ${count(nodes('before_'))} nodes before, ${count(nodes('after_'))} after`
		: value('fleet-stored') !== undefined ? `Coverage: history of ${plural(value('fleet-stored'), 'node')}`
		: `Coverage: ${count(value('fleet-delivered'))} of ${plural(value('fleet-matched'), 'matching node')}`;
	panel.append(element('summary', '', summary), ...parts);
	addPanel(app, panel);
}

// A panel below the controls that opens and closes.
function addPanel(app, panel, onToggle = () => {}) {
	panel.addEventListener('toggle', () => {
		$('alerts').classList.toggle('open', $('alerts').querySelector('details[open]') !== null);
		onToggle();
		app.resize();
	});
	$('alerts').append(panel);
	$('alerts').hidden = false;
}
