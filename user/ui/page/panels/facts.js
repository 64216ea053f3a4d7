// Header and footer: facts about the recording and its quality.

// "--pid 7 --comm a" as "pid 7, comm a".
const targetText = (target) => target.replace(/^--/, '').replace(/ --/g, ', ');

// The same rules as in user/export/format/title.c.
function titleOf({ meta, labels }) {
	const { title, target, host } = meta, dim = labels && labels.dims.find(({ name }) => name === 'process'), [, pid] = /^--pid (\d+)$/.exec(target) || [];
	const names = dim ? dim.values.filter((value) => (pid ? value.endsWith(`-${pid}`) || value.endsWith(` ${pid}`) : /\d$/.test(value))) : [];
	return title || (names.length === 1 ? names[0] : targetText(target) || host && `node ${host}`);
}

// Shows the facts of the whole file for the chosen event, and how much of it was selected.
function fillHeader(app) {
	const { compared, title } = app, { meta } = app.original, { type } = app.state, { name, unit } = meta.types[type], isDiff = isComparison(app.original);
	const facts = [name.replace(isDiff ? / after$/ : '', '')].filter((what) => what !== unit), total = wholeOf(app.original, type);
	if (meta.duration_ns > 0)
		facts.push(`${(meta.duration_ns / 1e9).toFixed(1)} s`);
	if (HAS_DIFF && isDiff)
		facts.push(`${amount(compared.whole.before, unit)} \u2192 ${amount(compared.whole.after, unit)}`, ...(compared.hasCounts ? [] : ['chance unknown']));
	else
		facts.push((HAS_LABELS && app.setsOf(app.state) ? `${unit === 'samples' ? count(app.tree.total[0]) : amount(app.tree.total[0], unit)} of ` : '') + amount(total, unit) + (meta.rate_hz > 0 && type === 0 ? ` @ ${count(meta.rate_hz)} Hz` : ''));
	if (meta.host && title !== `node ${meta.host}`)
		facts.push(`host ${meta.host}`);
	if (meta.target && targetText(meta.target) !== title)
		facts.push(targetText(meta.target));
	$('title').textContent = $('title').title = visible(title);
	$('facts').textContent = visible(facts.join(' \u00b7 '));
	$('canvas').setAttribute('aria-label', `Flame graph: ${title}, ${facts.join(', ')}`);
}

// What transforms, labels and times leave out of the header's amount.
function fillHidden(app) {
	const { original, compared, tree, state: { type } } = app, out = $('hiddensays'), { unit } = original.meta.types[type];
	const isDiff = isComparison(original), sides = !HAS_DIFF || !isDiff ? [[wholeOf(original, type), tree.diff ? 0 : tree.total[0]]] : tree.diff ? [[compared.whole.before, tree.diff.whole.before], [compared.whole.after, tree.diff.whole.after]] : [];
	const hidden = sides.map(([all, shown]) => all - (unit === 'samples' ? Math.round(shown) : shown));
	out.hidden = Boolean(HAS_DIFF && tree.diff && !isDiff) || !hidden.some((weight) => weight > 0);
	out.textContent = out.hidden ? '' : `${sides.map(([all], i) => `${amount(hidden[i], unit)} (${roughly(hidden[i], all)})`).join(' \u2192 ')} hidden`;
}

const wholeOf = ({ selfs, nodes }, type) => (type ? selfs[type].reduce((a, b) => a + b, 0) : nodes.total[0]);

// The weight of samples whose leaf has no name. In a comparison both sides count.
function countUnnamed(app) {
	const { tree } = app, { self } = tree.hotMethods(), methods = HAS_DIFF && tree.diff && tree.diff.ofMethods();
	let unnamed = 0, whole = 0;
	for (let m = 0; m < self.length; m++) {
		const sides = methods && methods.weigh(m), weight = sides ? sides.before + sides.after : self[m];
		whole += weight;
		const name = weight > 0 ? app.profile.names[app.table.name[m]] : '', first = name.charCodeAt(0);
		// [, ? and 0; few names begin with them.
		if ((first === 91 || first === 63 || first === 48) && /^\[.*\](\+| (function|code) at )0x|^\[unknown|^\?$|^0x/.test(name))
			unnamed += weight;
	}
	return { unnamed, whole };
}

const WARN_SHARE = 0.001;

const COUNTS = ['lost', 'truncated', 'approximate']; // shown with their numbers; of the other notes only their count
const NO_REASONS = [...COUNTS, 'samples', 'frames', 'unnamed'];
const OF_NODE = 'node_'; // begins the keys of the whole node's notes (user/profile/selection.h)

// The notes by key: text and values; a comparison has two values (user/profile/diff.c).
function notesOf({ meta: { notes } }) {
	const byKey = new Map(), sides = notes.some((n) => /^(before|after)_/.test(n.key)) ? ['before', 'after'] : [''];
	for (const { key, text, value } of notes) {
		const side = sides.findIndex((s) => s && key.startsWith(`${s}_`)), plain = side < 0 ? key : key.slice(sides[side].length + 1);
		if (!byKey.has(plain))
			byKey.set(plain, { text: side < 0 ? text : text.replace(/ \((before|after)\)$/, ''), values: sides.map(() => 0) });
		byKey.get(plain).values[Math.max(side, 0)] = value;
	}
	return byKey;
}

// Notes about processes whose stacks lack callers, and why (user/capture/notes.c): a line each.
const isAlert = (key) => key.startsWith('incomplete-');

// The process of such a note; 0 if it is not about one.
const alertedPid = (key) => Number((/^incomplete-(\d+)-/.exec(key) || [])[1] || 0);

// The numbers of the processes of these label sets; null for all.
function pidsOf({ labels }, sets) {
	const process = sets && labels.dims.find(({ name }) => name === 'process');
	return process ? new Set([...process.ofSet].filter((_, s) => sets[s]).map((v) => Number((/(\d+)$/.exec(process.values[v]) || [])[1]))) : null;
}

function fillAlerts(app) {
	const byText = new Map(), pids = HAS_LABELS ? pidsOf(app.profile, app.setsOf(app.state)) : null, isShown = (key) => isAlert(key) && (!pids || !alertedPid(key) || pids.has(alertedPid(key)));
	for (const [, { text, values }] of [...notesOf(app.original)].filter(([key]) => isShown(key))) {
		const general = text.replace(/ \([\d., ]+ % of [\d., ]+\)/, ''), sum = byText.get(general) || { nr: 0, value: 0, text };
		byText.set(general, { nr: sum.nr + 1, value: sum.value + Math.max(...values), text });
	}
	// Parts of a recording have notes of their own: the shares of one are not those of the whole.
	const lines = [...byText].map(([general, { nr, value, text }]) => `${count(value)} ${nr > 1 ? general : text}`);
	// Panels stay where they are: one of their buttons may have the focus.
	for (const node of [...$('alerts').childNodes])
		if (!node.tagName)
			node.remove();
	$('alerts').prepend(lines.join('\n'));
	$('alerts').hidden = !lines.length && !$('alerts').firstElementChild;
}

// The samples of these label sets: how many, and how many lack callers or may lack a frame. null if the
// profile does not say.
function countSelected(app, sets, notes) {
	const { labels, meta: { types } } = app.profile, stack = labels.dims.find(({ name }) => name === 'stack'), sum = { samples: 0, truncated: 0, approximate: 0 };
	if (!stack && ['truncated', 'approximate'].some((key) => notes.has(key) && notes.get(key).values.some((v) => v > 0)))
		return null;
	const keys = (stack ? stack.values : []).map((value) => value.split(' ').filter(Boolean));
	types.forEach((type, t) => {
		if (countOf({ meta: { types } }, t) !== t || !['samples', 'hits'].includes(type.unit) || !labels.ofType[t])
			return;
		const { set, weight } = labels.ofType[t];
		set.forEach((s, i) => {
			const nr = weight[i] * sets[s], own = stack ? keys[stack.ofSet[s]] : [];
			sum.samples += nr;
			sum.truncated += own.some((key) => key !== 'approximate') ? nr : 0;
			sum.approximate += own.includes('approximate') ? nr : 0;
		});
	});
	return sum.samples ? sum : null;
}

// Splits the notes into `notes`, the counts of the samples that the chips leave, and `whole`, the numbers that are known
// only for the whole profile, or for its whole node if the profile holds some of the node's processes. `name` says which.
function selectNotes(app, notes) {
	const sets = HAS_LABELS && !isComparison(app.original) && notes.has('samples') && app.setsOf(app.state), own = sets && countSelected(app, sets, notes);
	const isOfNode = (key) => key.startsWith(OF_NODE), plain = [...notes].filter(([key]) => !isOfNode(key));
	if (own) {
		const keys = ['samples', 'truncated', 'approximate'].filter((key) => notes.has(key));
		return { notes: new Map(keys.map((key) => [key, { ...notes.get(key), values: [Math.round(own[key])] }])), whole: new Map(plain), name: 'whole profile' };
	}
	return { notes: new Map(plain), whole: new Map([...notes].filter(([key]) => isOfNode(key)).map(([key, note]) => [key.slice(OF_NODE.length), note])), name: 'whole node' };
}

const noteNumbers = (n) => n.values.map((v) => count(v)).join(' \u2192 ');
const reasonsOf = (notes, left) => [...notes].filter(([key, n]) => !left.includes(key) && !key.startsWith('fleet-') && !key.startsWith('source/') && !isAlert(key) && n.values.some((v) => v > 0));
const reasonText = (reasons) => reasons.map(([, n]) => `${noteNumbers(n)} ${n.text}`).join('\n');
const isMuch = (notes, key) => notes.get(key).values.some((v, side) => v > WARN_SHARE * ((notes.get('samples') || { values: [] }).values[side] || Infinity));

// Losses, and the number of other notes, with the reasons as titles. Those of the whole stand in one part.
function noteParts({ notes, whole, name }) {
	const parts = [], reasons = reasonsOf(notes, NO_REASONS), counts = ['samples', ...COUNTS].filter((key) => whole.has(key));
	const add = (text, isWarning, title) => {
		const part = element('span', isWarning ? 'warn' : '', text);
		part.title = title;
		parts.push(part);
	};
	for (const key of COUNTS.filter((k) => notes.has(k)))
		add(`${noteNumbers(notes.get(key))} ${key}`, isMuch(notes, key), notes.get(key).text);
	if (reasons.length)
		add(plural(reasons.length, 'note'), false, reasonText(reasons));
	if (counts.length)
		add(`${name}: ${counts.map((key) => `${noteNumbers(whole.get(key))} ${key}`).join(', ')}`, whole.has('lost') && isMuch(whole, 'lost'), reasonText(reasonsOf(whole, [])));
	return parts;
}

// The named frames that the recorder counted; null if it did not.
function notedNames(notes) {
	const sum = (key) => (notes.has(key) ? notes.get(key).values.reduce((a, b) => a + b, 0) : 0);
	return sum('frames') ? { unnamed: sum('unnamed'), whole: sum('frames') } : null;
}

function fillQuality(app) {
	const notes = HAS_NOTES && notesOf(app.profile), shown = HAS_NOTES && selectNotes(app, notes), parts = HAS_NOTES ? noteParts(shown) : [];
	if (!app.tree.isEmpty()) {
		if (app.isOther('unnamed', [app.tree, app.selectedKey]))
			app.unnamed = countUnnamed(app);
		const { unnamed, whole } = HAS_NOTES && notedNames(shown.notes) || app.unnamed;
		// 1 - 4 / 5 is less than a fifth in floating point, (5 - 4) / 5 is not.
		const permille = whole ? Math.floor((whole - unnamed) * 1000 / whole) : 1000;
		parts.push(element('span', '', `${(permille / 10).toFixed(1)} % named`));
	}
	if (app.hasFog)
		parts.push(element('span', 'hint', 'grey = frames narrower than 1 px'));
	$('quality').replaceChildren(...parts);
}
