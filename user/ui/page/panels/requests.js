// The table of requests by route or another label: how many, their times and weights. A click on the 99th percentile
// keeps only the samples of requests that took at least as long.
const REQUEST_ROWS = 50;

// Rows by dimension. All samples count, whatever is chosen, so that a percentile stays the same.
function requestsBy(app, d) {
	app.requestRows = app.requestRows || new Map();
	if (!app.requestRows.has(d))
		app.requestRows.set(d, requestRows(app.original, d));
	return app.requestRows.get(d);
}

const slotWidth = ({ dims }) => (dims.find(isTime) || { widthNs: 0 }).widthNs;

const plainTime = (ns) => amount(ns, 'ns').replace('.00 ', ' ');

function requestTime(labels, { nrTimed }, slots) {
	const width = slotWidth(labels);
	return !nrTimed ? '\u2013' : slots ? `\u2265 ${plainTime(slots * width)}` : `< ${plainTime(width)}`;
}

// The columns: [heading, its meaning, number to sort by, text].
function requestColumns(app, labels) {
	const types = shownTypes(app).slice(0, 4), { meta } = app.original;
	return [['Requests', 'Traces seen', (row) => row.nr, (row) => count(row.nr)],
		['p50', 'Half of the requests took at least as long', (row) => row.p50, (row) => requestTime(labels, row, row.p50)],
		['p99', 'One of a hundred took at least as long', (row) => row.p99, null],
		...types.map((type) => [meta.types[type].name, 'Of all samples with this value', (row) => row.sums[type], (row) => amount(row.sums[type], meta.types[type].unit).replace(/ samples?$/, '')])];
}

// "/cart, 210 ms or more"
function slowText(app, [d, value]) {
	const { labels } = app.original, { p99 } = requestsBy(app, d).find((row) => row.value === value) || { p99: 0 };
	return `${middle(labels.dims[d].values[value] || '(none)', CHIP_LETTERS)}, ${plainTime(Math.max(1, p99) * slotWidth(labels))} or more`;
}

function slowChip(app) {
	const chip = element('span', 'chip transform'), cut = element('button', 'cut', '\u00d7');
	cut.setAttribute('aria-label', 'Show all requests again');
	cut.addEventListener('click', () => app.change({ slow: null }, true));
	chip.append(element('span', '', 'slow'), element('b', '', slowText(app, app.state.slow)), cut);
	return chip;
}

function requestRow(app, d, row, columns) {
	const { labels } = app.original, line = element('tr'), name = labels.dims[d].values[row.value] || '(none)', head = element('th'), isOnly = app.state.slow && app.state.slow[0] === d && app.state.slow[1] === row.value;
	const button = (text, isOn, title, run) => {
		const b = element('button', '', text);
		b.title = title;
		press(b, isOn);
		b.addEventListener('click', run);
		return b;
	};
	const picked = app.state.picked[d] || [], isPicked = picked.length === 1 && picked[0] === row.value && !app.state.except.includes(d);
	head.scope = 'row';
	head.append(d < DIMS_MOST ? button(middle(name, ROW_LETTERS), isPicked, `Only ${visible(name.slice(0, 1000))}`, () => pickValues(app, d, isPicked ? [] : [row.value], false)) : middle(name, ROW_LETTERS));
	line.append(head, ...columns.map(([, , , text]) => {
		const cell = element('td', 'n', text ? text(row) : '');
		if (!text && row.p99)
			cell.append(button(requestTime(labels, row, row.p99), Boolean(isOnly), `Only the slowest requests: ${count([...row.lasted.values()].filter((slots) => slots >= row.p99).length)} of ${count(row.nr)}`, () => app.change({ slow: isOnly ? null : [d, row.value] }, true)));
		else if (!text)
			cell.textContent = requestTime(labels, row, row.p99);
		return cell;
	}));
	return line;
}

const leftOut = (app) => app.original.meta.notes.find(({ key }) => key === 'traces_left_out');
const lostTraces = (app) => app.original.meta.notes.filter(({ key, value }) => value && ['traces_left_out', 'traces_dropped'].includes(key));

// What the numbers are, and what is missing.
function requestFacts(app, labels) {
	const width = slotWidth(labels);
	return [width ? `Times are lower bounds: from the first sample of a trace to its last one, in steps of ${plainTime(width)}. The table counts the whole profile. A click on p99 keeps only the samples of requests that took at least as long.`
		: 'The samples have no times. Record with --timeline to see how long requests took.',
	...lostTraces(app).map(({ value, text }) => `${count(value)} ${text}.`)];
}

function fillRequests(app, panel) {
	const { labels } = app.original, { by: d, sortBy } = app.requests, columns = requestColumns(app, labels), table = element('table'), head = element('tr'), numberOf = columns[sortBy][2];
	const rows = requestsBy(app, d).slice().sort((a, b) => numberOf(b) - numberOf(a) || b.nr - a.nr || b.sums[0] - a.sums[0] || a.value - b.value), choice = element('button', 'chip menu');
	choice.append(element('span', '', 'by '), element('b', '', middle(labels.dims[d].name, NAME_LETTERS)));
	choice.setAttribute('aria-haspopup', 'menu');
	choice.addEventListener('click', () => openMenu(choice, splitsOf(app.original, '').filter((by) => by !== SPLIT_TIER).map((by) => closing(middle(by, ROW_LETTERS), '', () => {
		app.requests.by = labels.dims.findIndex((dim) => dim.name === by);
		fillRequests(app, panel);
	}, by === labels.dims[d].name))));
	head.append(element('th', '', middle(labels.dims[d].name, NAME_LETTERS)), ...columns.map(([text, title], i) => {
		const cell = element('th', 'n'), b = element('button', '', text);
		b.title = title;
		if (i === sortBy)
			cell.setAttribute('aria-sort', 'descending');
		b.addEventListener('click', () => {
			app.requests.sortBy = i;
			fillRequests(app, panel);
		});
		cell.append(b);
		return cell;
	}));
	for (const cell of head.children)
		cell.scope = 'col';
	table.append(head, ...rows.slice(0, REQUEST_ROWS).map((row) => requestRow(app, d, row, columns)));
	refill(panel, choice, table, ...(rows.length > REQUEST_ROWS ? [element('p', '', `${count(rows.length - REQUEST_ROWS)} more`)] : []), ...requestFacts(app, labels).map((text) => element('p', '', text)));
}

// The panel is filled when it opens.
function addRequests(app) {
	const { labels } = app.original, trace = traceDim(labels), panel = element('details', 'coverage requests'), box = element('div');
	if (!trace || isComparison(app.original))
		return;
	app.requests = { by: requestDim(labels), sortBy: 2, update: () => panel.open && fillRequests(app, box) };
	if (app.requests.by < 0)
		return;
	panel.append(element('summary', '', `Slow requests: ${plural(nrOfValues(trace), 'trace')}${leftOut(app) ? `; ${count(leftOut(app).value)} left out` : ''}`), box);
	addPanel(app, panel, () => app.requests.update());
}
