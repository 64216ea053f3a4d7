// A recording with lines has a frame for each line of a method that was on a stack. They are joined per method,
// and the details list the lines; view > "A frame for each line" has them apart.
const LINES_SHOWN = 30;
const withoutLine = (name) => name.replace(/:\d+$/, '');

// The profile with one frame per method and kind of frame.
function joinLines(profile) {
	const stacks = new Stacks(profile), { frames } = stacks, { sources } = profile.frames, to = new Int32Array(frames.nr), methods = new Map(), places = new Map();
	frames.indexNames();
	for (let f = 0, { nr } = frames; f < nr; f++) {
		to[f] = f;
		if (!sources.has(f))
			continue;
		const text = withoutLine(frames.text(f)), method = `${frames.kindClass(f)} ${frames.module[f]} ${text}`, place = `${frames.kind[f]} ${method}`;
		if (!places.has(place)) {
			const known = (frames.byName.get(text) || []).find((g) => `${frames.kindClass(g)} ${frames.module[g]} ${text}` === method), g = frames.addFrame(text, f);
			frames.method[g] = methods.get(method) ?? (known === undefined ? frames.method[g] : frames.method[known]);
			methods.set(method, frames.method[g]);
			if (known !== undefined) {
				frames.names.pop();
				frames.name[g] = frames.name[known];
			}
			places.set(place, g);
		}
		to[f] = places.get(place);
	}
	stacks.move(STEPS.rename(stacks, to), 0);
	profile.texts = sourceTexts(profile);
	return { ...profileOf(stacks), lined: profile };
}

// The text of lines by the frame's name, from `report --source-path` (user/export/source_text.c).
function sourceTexts({ meta: { notes } }) {
	const found = notes.map(({ key, text }) => [/^(?:before_|after_)?source\/(.*)$/s.exec(key), text]);
	return new Map(found.filter(([m]) => m).map(([[, name], text]) => [name, text]));
}

// The weights of a method's lines, in the chosen labels and times, before transforms: [source, self, total, text].
function linesOf(lined, choice, name) {
	const tree = new Tree(lined), { frames: { sources, name: nameOf }, names } = lined, rows = new Map();
	tree.select({ ...choice, versus: null });
	for (const [f, source] of sources)
		if (withoutLine(plainName(names[nameOf[f]])) === plainName(name))
			rows.set(f, { source, self: 0, total: 0, text: lined.texts.get(names[nameOf[f]]) || '' });
	const { frame, total, self, end, nr } = tree, until = new Map();
	for (let i = 1; i < nr && rows.size; i++) {
		const row = rows.get(frame[i]);
		if (!row)
			continue;
		row.self += self[i];
		// With recursion a stack counts once for a line.
		if (i >= (until.get(row.source) || 0)) {
			row.total += total[i];
			until.set(row.source, end[i]);
		}
	}
	const sums = new Map();
	for (const { source, self: own, total: all, text } of rows.values()) {
		const sum = sums.get(source) || [source, 0, 0, text];
		sums.set(source, [source, sum[1] + own, sum[2] + all, text]);
	}
	return [...sums.values()].filter(([, , all]) => all > 0);
}

// The number of a source "HashMap.java:629".
const lineNumber = (source) => Number(/\d+$/.exec(source) || 0);

// The histogram of lines for the details: the heaviest ones, in their order.
function lineParts({ profile, original, tree }, name) {
	const { lined } = original;
	if (!lined || !profile)
		return [];
	const all = linesOf(lined, tree.choice, name), shown = all.slice().sort((a, b) => b[2] - a[2]).slice(0, LINES_SHOWN).sort((a, b) => lineNumber(a[0]) - lineNumber(b[0]));
	if (!all.length)
		return [];
	const most = Math.max(...all.map(([, , total]) => total)), whole = tree.total[0], list = element('table', 'lines');
	list.append(element('caption', 'note', all.length > shown.length ? `The ${shown.length} heaviest of ${count(all.length)} lines` : 'Lines'));
	for (const [source, self, total, text] of shown) {
		const row = list.insertRow(), bar = element('i');
		row.append(element('td', '', source), element('td', '', percent(total, whole)), element('td'));
		bar.style.width = `${total / most * 100}%`;
		const own = bar.appendChild(element('b'));
		own.style.width = `${total ? self / total * 100 : 0}%`;
		row.cells[2].append(bar);
		if (text)
			list.insertRow().append(Object.assign(element('td', 'code', text), { colSpan: 3, title: text }));
		row.title = `${source}: total ${percent(total, whole)}, self ${percent(self, whole)}`;
	}
	return [list];
}
