// The chips of processes, threads, .. and their menus. A menu lists only what the other chips leave.
const ROWS_SHOWN = 200;
const FEW = 12; // threads; their pools are open at first
const CHIP_LETTERS = 36, ROW_LETTERS = 52, NAME_LETTERS = 24;
const CHIPS_MOST = 6; // of labels of requests

// A long name keeps both ends.
function middle(text, most) {
	const end = Math.floor(most * 0.45);
	return text.length > most ? `${text.slice(0, most - end - 1)}\u2026${text.slice(-end)}` : text;
}

// The weight of each value of a dimension in the label sets that the other dimensions leave.
function weighValues(app, d) {
	const { state, profile: { labels } } = app, dim = labels.dims[d], weights = new Float64Array(dim.values.length), { node, set, weight } = labels.ofType[state.type];
	const sets = app.setsOf({ ...state, picked: state.picked.map((values, k) => (k === d ? [] : values)) });
	for (let i = 0; i < node.length; i++)
		weights[dim.ofSet[set[i]]] += weight[i] * (sets ? sets[set[i]] : 1);
	return weights;
}

const isShownDim = (dim) => !dim.isNumeric && !['jvm', 'stack', 'tags'].includes(dim.name) && dim.values.length > 1;
const nrOfValues = ({ values }) => values.filter(Boolean).length;
const plurals = (word) => (/s$/.test(word) ? `${word}es` : `${word}s`);

// Processes and threads always have a chip, in a page of requests also the first labels of these, others when they are
// limited; else the filter menu has them.
function hasChip({ state, profile: { labels: { dims } } }, dim, d) {
	const isOfRequest = ({ name, isTag }) => name === 'version' || name === 'trace_id' || isTag;
	return dim.name === 'process' || dim.name === 'thread' || state.picked[d].length > 0 ||
		HAS_REQUESTS && isOfRequest(dim) && dims.filter((one) => isOfRequest(one) && isShownDim(one)).indexOf(dim) < CHIPS_MOST;
}

// Adds a chip for a dimension with several values.
function fillDims(app) {
	const { state, profile } = app, { labels } = profile, dims = labels && labels.ofType[state.type] ? labels.dims : [];
	$('dims').replaceChildren(...dims.map((dim, d) => {
		if (!isShownDim(dim) || d >= DIMS_MOST || !hasChip(app, dim, d))
			return '';
		const picked = state.picked[d], chip = element('button', 'chip menu'), name = middle(dim.values[picked[0]] || '(none)', CHIP_LETTERS);
		const isExcept = state.except.includes(d), nr = isExcept ? dim.values.length - picked.length : picked.length;
		const rival = HAS_REQUESTS && state.rival && state.rival[0] === d ? ` \u2192 ${middle(dim.values[state.rival[1]] || '(none)', CHIP_LETTERS)}` : '';
		const text = picked.length === 1 ? (isExcept ? `not ${name}` : name) : picked.length ? pooled(dim, picked, isExcept) || `${nr} of ${nrOfValues(dim)}` : `all ${nrOfValues(dim)}`;
		chip.dataset.dim = dim.name;
		chip.setAttribute('aria-haspopup', 'dialog');
		chip.classList.toggle('on', picked.length > 0);
		chip.append(element('span', '', middle(dim.name, NAME_LETTERS)), ' ', element('b', '', HAS_REQUESTS ? text + rival : text));
		chip.addEventListener('click', () => labelMenu(app, chip, d));
		return chip;
	}), ...(HAS_REQUESTS && state.slow ? [slowChip(app)] : []));
}

// The pool of a thread "exec-7-4711": "exec". The last number before the thread's own counts its threads.
const poolOf = (thread) => thread.replace(/-\d+$/, '').replace(/[-#._ ]*\d+([^\d]*)$/, '$1');

// "exec x10" if these values are all threads of one pool.
function pooled(dim, values, isExcept) {
	const pool = dim.name === 'thread' && poolOf(dim.values[values[0]]), isAll = pool && dim.values.every((value, v) => (poolOf(value) === pool) === values.includes(v));
	return isAll ? `${isExcept ? 'not ' : ''}${middle(pool, CHIP_LETTERS)} x${values.length}` : '';
}

// The rows of a menu: { text, weight, values, kids, isHead }, the heaviest first and JVMs before other processes.
function menuRows(app, d) {
	const { labels } = app.profile, dim = labels.dims[d], weights = weighValues(app, d), picked = app.state.picked[d];
	const kept = new Set(picked), rows = [...weights.keys()].filter((v) => weights[v] > 0 || kept.has(v)).map((v) => ({ text: dim.values[v] || '(none)', weight: weights[v], values: [v] }));
	const byWeight = (a, b) => Boolean(b.isJvm) - Boolean(a.isJvm) || b.weight - a.weight || a.values[0] - b.values[0];
	if (dim.name === 'process' && dim.isJvm)
		for (const row of rows)
			row.isJvm = dim.isJvm[row.values[0]];
	return dim.name === 'thread' ? threadRows(labels, dim, rows, byWeight) : rows.sort(byWeight);
}

function joined(rows, key, byWeight) {
	const groups = new Map();
	for (const row of rows)
		groups.set(key(row), (groups.get(key(row)) || []).concat(row));
	return [...groups].map(([name, kids]) => ({ text: name, kids: kids.sort(byWeight), values: kids.flatMap((kid) => kid.values), weight: kids.reduce((sum, kid) => sum + kid.weight, 0) }));
}

// Threads by process and pool.
function threadRows({ dims, nr }, dim, rows, byWeight) {
	const process = dims.find((other) => other.name === 'process'), owner = new Int32Array(dim.values.length);
	for (let s = 0; process && s < nr; s++)
		owner[dim.ofSet[s]] = process.ofSet[s];
	const ofOwner = joined(rows, (row) => owner[row.values[0]], byWeight), all = [];
	for (const one of ofOwner)
		one.isJvm = process && process.isJvm && process.isJvm[one.text];
	for (const { text, kids, values, weight } of ofOwner.sort(byWeight)) {
		const pools = joined(kids, (row) => poolOf(row.text), byWeight).map((pool) => (pool.kids.length > 1 ? { ...pool, text: `${pool.text} x${pool.kids.length}` } : pool.kids[0])).sort(byWeight);
		if (ofOwner.length > 1)
			all.push({ text: process.values[text] || '(none)', values, weight, kids: pools, isHead: true });
		all.push(...pools);
	}
	return all;
}

// Changes what a dimension is limited to; in `except` mode the values are left out.
function pickValues(app, d, values, isExcept) {
	const { picked, except } = app.state;
	return app.change({ ...(HAS_REQUESTS && app.state.rival && app.state.rival[0] === d && { rival: null, mode: 0 }), picked: picked.map((old, k) => (k === d ? values : old)), except: except.filter((k) => k !== d).concat(isExcept && values.length ? d : []) }, true);
}

// Compares the chosen values, before, with another one, after.
function compareButton(app, d, row, extra) {
	const { rival } = app.state, isOn = Boolean(rival) && rival[0] === d && rival[1] === row.values[0];
	const b = extra('compare', () => {
		closeMenu();
		app.change(isOn ? { rival: null, mode: 0 } : { rival: [d, row.values[0]] }, true);
	}, `Compare with ${row.text}`);
	press(b, isOn);
	return b;
}

function labelMenu(app, button, d) {
	const dim = app.profile.labels.dims[d], filter = element('input'), list = element('div'), rows = menuRows(app, d), open = new Set(dim.values.length <= FEW ? rows.map((row) => row.text) : []);
	const whole = rows.reduce((sum, row) => sum + (row.isHead ? 0 : row.weight), 0), pick = (values, isExcept) => {
		pickValues(app, d, values, isExcept);
		fill();
	};
	filter.placeholder = `filter ${count(nrOfValues(dim))} ${plurals(middle(dim.name, NAME_LETTERS))}`;
	filter.setAttribute('aria-label', filter.placeholder);
	list.setAttribute('role', 'group');
	const line = (row, level) => {
		const { picked, except } = app.state, isExcept = except.includes(d), has = row.values.every((v) => picked[d].includes(v)), part = element('div', `line level${level}`);
		const item = menuItem(middle(row.text, ROW_LETTERS), percent(row.weight, whole), picked[d].length > 0 && has !== isExcept, () =>
			pick(has ? picked[d].filter((v) => !row.values.includes(v)) : [...new Set([...picked[d], ...row.values])], isExcept));
		const extra = (text, run, title) => {
			const b = element('button', 'cut', text);
			b.title = title;
			b.setAttribute('aria-label', title);
			b.addEventListener('click', run);
			return b;
		};
		item.title = visible(row.text.slice(0, 1000));
		item.setAttribute('role', 'checkbox');
		part.append(item, extra('only', () => pick(row.values, false), `Only ${row.text}`), extra('except', () => pick([...new Set([...(isExcept ? picked[d] : []), ...row.values])], true), `All except ${row.text}`));
		if (HAS_REQUESTS && row.values.length === 1 && picked[d].length && !isExcept && !has)
			part.append(compareButton(app, d, row, extra));
		if (row.kids && !row.isHead) {
			const more = extra(open.has(row.text) ? '\u25be' : '\u25b8', () => {
				open[open.has(row.text) ? 'delete' : 'add'](row.text);
				fill();
			}, `Threads of ${row.text}`);
			more.setAttribute('aria-expanded', open.has(row.text));
			part.append(more);
		} else {
			part.append(element('span', 'cut'));
		}
		return part;
	};
	const fill = () => {
		const wanted = filter.value.toLowerCase(), has = (row) => row.text.toLowerCase().includes(wanted) || row.kids && row.kids.some(has), isSplit = rows.some((row) => row.isHead), lines = [];
		for (const row of rows.filter(has).slice(0, ROWS_SHOWN)) {
			if (row.isJvm === 0 && lines.isJvm)
				lines.push(element('hr'));
			lines.isJvm = row.isJvm;
			lines.push(line(row, isSplit && !row.isHead ? 1 : 0));
			if (row.kids && !row.isHead && (open.has(row.text) || wanted && !row.text.toLowerCase().includes(wanted)))
				lines.push(...row.kids.filter(has).map((kid) => line(kid, isSplit ? 2 : 1)));
		}
		const all = menuItem('all', '', !app.state.picked[d].length, () => pick([], false));
		all.setAttribute('role', 'checkbox');
		refill(list, all, ...lines);
	};
	filter.addEventListener('input', fill);
	fill();
	openMenu(button, [filter, list], dim.name);
}
