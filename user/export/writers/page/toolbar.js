// Menus, chips and the legend.
function openMenu(button, parts) {
	const menu = $('menu'), at = button.getBoundingClientRect();
	menu.replaceChildren(...parts);
	menu.hidden = false;
	menu.owner = button;
	menu.style.left = `${clamp(at.left, 6, innerWidth - menu.offsetWidth - 6)}px`;
	menu.style.top = `${at.bottom + 6 + menu.offsetHeight < innerHeight ? at.bottom + 6 : Math.max(6, at.top - 6 - menu.offsetHeight)}px`;
	const first = menu.querySelector('input, button');
	if (first)
		first.focus();
}

function closeMenu() {
	const menu = $('menu'), was = !menu.hidden;
	menu.hidden = true;
	// The chip that opened the menu may have been replaced.
	if (was && menu.owner)
		(menu.owner.isConnected === false ? ownerAgain(menu.owner) : menu.owner).focus({ preventScroll: true });
	return was;
}

const ownerAgain = ({ dataset }) => [...document.querySelectorAll('[data-dim]')].find((chip) => chip.dataset.dim === dataset.dim) || $('canvas');

function menuItem(text, detail, isChecked, run) {
	const b = element('button');
	b.type = 'button';
	b.setAttribute('role', isChecked === null ? 'menuitem' : 'menuitemcheckbox');
	if (isChecked !== null) {
		b.setAttribute('aria-checked', String(isChecked));
		b.append(element('small', '', isChecked ? '\u2713' : '\u2007'));
	}
	b.append(element('span', '', text), element('small', '', detail));
	b.addEventListener('click', run);
	return b;
}

function menuKeys(e) {
	const items = [...$('menu').querySelectorAll('input, button')];
	const i = items.indexOf(document.activeElement);
	if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
		e.preventDefault();
		items[(i + (e.key === 'ArrowDown' ? 1 : -1) + items.length) % items.length].focus();
	} else if (e.key === 'Escape') {
		closeMenu();
	}
	e.stopPropagation();
}

function typeMenu(app, button) {
	openMenu(button, app.profile.meta.types.map((t, i) => menuItem(t.name, t.unit, i === app.state.type, () => {
		closeMenu();
		app.change({ type: i });
	})));
}

const VALUES_SHOWN = 200;

// The weight of each value of a label dimension.
function weighValues(labels, type, dim) {
	const weights = new Float64Array(dim.values.length), { node, set, weight } = labels.ofType[type];
	for (let i = 0; i < node.length; i++)
		weights[dim.ofSet[set[i]]] += weight[i];
	return weights;
}

// Adds a chip for every dimension with several values.
function fillDims(app) {
	const { state, profile } = app, { labels } = profile, dims = labels && labels.ofType[state.type] ? labels.dims : [];
	$('dims').replaceChildren(...dims.map((dim, d) => {
		if (dim.isNumeric || dim.values.length < 2 || d >= DIMS_MOST)
			return '';
		const picked = state.picked[d], chip = element('button', 'chip menu');
		const text = picked.length === 1 ? dim.values[picked[0]] || '(none)' : picked.length ? `${picked.length} of ${dim.values.length}` : `all ${dim.values.length}`;
		chip.type = 'button';
		chip.dataset.dim = dim.name;
		chip.setAttribute('aria-haspopup', 'menu');
		chip.classList.toggle('on', picked.length > 0);
		chip.append(element('span', '', dim.name), ' ', element('b', '', text));
		chip.addEventListener('click', () => labelMenu(app, chip, d));
		return chip;
	}));
}

function labelMenu(app, button, d) {
	const { labels } = app.profile, dim = labels.dims[d], weights = weighValues(labels, app.state.type, dim);
	const whole = weights.reduce((a, b) => a + b, 0), filter = element('input'), list = element('div');
	const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
	filter.placeholder = `filter ${plural(dim.values.length, dim.name)}`;
	const toggle = (value) => {
		const picked = app.state.picked.slice(), has = picked[d].includes(value);
		picked[d] = has ? picked[d].filter((v) => v !== value) : picked[d].concat(value);
		app.change({ picked });
		fill();
	};
	const fill = () => {
		const wanted = filter.value.toLowerCase(), picked = app.state.picked[d];
		const shown = order.filter((v) => dim.values[v].toLowerCase().includes(wanted)).slice(0, VALUES_SHOWN);
		list.replaceChildren(menuItem('all', '', !picked.length, () => {
			app.change({ picked: app.state.picked.map((p, i) => (i === d ? [] : p)) });
			fill();
		}), ...shown.map((v) => menuItem(dim.values[v] || '(none)', percent(weights[v], whole), picked.includes(v), () => toggle(v))));
	};
	filter.addEventListener('input', fill);
	fill();
	openMenu(button, [filter, list]);
}

function colourMenu(app, button) {
	openMenu(button, COLOURS.map((colour) => menuItem(COLOUR_NAMES[colour], '', app.state.colour === colour, () => {
		closeMenu();
		app.change({ colour });
	})));
}

function optionsMenu(app, button) {
	const { state } = app, item = (text, key, isOn, run) => menuItem(text, key, isOn, () => {
		closeMenu();
		run();
	});
	openMenu(button, [
		item('Fold chains of equal weight', 'c', state.collapse, () => app.toggleChains()),
		item('Root at the bottom', 'i', state.isFlipped, () => app.flip()),
		item('Siblings by name', 's', state.byName, () => app.change({ byName: !app.state.byName })),
		...(Timeline.dimOf(app.profile, state.type) ? [item('Strip of time', 'h', !app.isTimeHidden, () => app.toggleTime())] : []),
		element('hr'),
		...splitsOf(app.original).map((by) => item(`Split by ${by}`, '', state.split === by, () => app.change({ split: state.split === by ? '' : by, link: '', linkName: '' }, true))),
		element('hr'),
		item('Copy settings', '', null, () => copySettings(app)),
		item('Paste settings \u2026', '', null, () => settingsForm(app, button)),
	]);
}

function save(name, blob) {
	const a = element('a');
	a.href = URL.createObjectURL(blob);
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

function exportMenu(app, button) {
	const name = (app.title || 'profile').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 80);
	openMenu(button, [
		menuItem('Picture of this view', 'png', null, () => {
			closeMenu();
			app.painter.picture().toBlob((blob) => save(`${name}.png`, blob));
		}),
		menuItem('Drawing of this view', 'svg', null, () => {
			closeMenu();
			save(`${name}.svg`, new Blob([drawing(app)], { type: 'image/svg+xml' }));
		}),
		menuItem('Collapsed stacks', 'txt', null, () => {
			closeMenu();
			save(`${name}.txt`, new Blob(collapsedText(app.tree), { type: 'text/plain' }));
		}),
	]);
}

// One line per stack with self weight, as parts of a Blob. A comparison has weights before and after, as
// `sysflame diff` writes and reads them.
function collapsedText(tree) {
	const parts = [], path = [], { before, after } = tree.diff ? tree.diff.selfs : { before: null, after: tree.self };
	for (let i = 1; i < tree.nr; i++) {
		path.length = tree.depth[i];
		path[tree.depth[i] - 1] = tree.names[tree.nameOf(i)].replace(/;/g, ':');
		const [a, b] = [Math.round(after[i]), before ? Math.round(before[i]) : 0];
		if (a > 0 || b > 0)
			parts.push(`${path.join(';')} ${before ? `${b} ` : ''}${a}\n`);
	}
	return parts;
}

// A comparison has a colour scale instead of kinds.
function fillScale({ hasCounts }) {
	const item = (className, text) => {
		const span = element('span', 'scale', text);
		span.prepend(element('span', `dot ${className}`));
		return span;
	};
	const same = item('same', hasCounts ? 'same, or chance' : 'same; chance unknown');
	same.title = hasCounts ? '' : 'The profile has no numbers of samples for its weights';
	$('legend').replaceChildren(item('less', 'less'), same, item('more', 'more'), item('more hatched', 'new'), item('gone', 'gone'));
}

function fillLegend(app) {
	const { tree, state, painter } = app, { palette } = painter;
	if (tree.diff) {
		fillScale(tree.diff);
		return;
	}
	if (palette.categories) {
		$('legend').replaceChildren(...palette.legend(tree).map((c) => legendItem(app, c.category, c.name, `${c.name}: ${percent(c.weight, tree.total[0])} of self`, (dot) => dot.style.background = c.colour)));
		return;
	}
	if (state.colour === 'self') {
		$('legend').replaceChildren(element('span', 'scale', 'darker: more weight of its own'));
		return;
	}
	const used = new Set(app.profile.frames.kind), { kinds } = tree.hotMethods();
	$('legend').replaceChildren(...[8, 1, 2, 3, 9, 4, 5, 6, 7, 10, 0].filter((kind) => used.has(kind)).map((kind) =>
		legendItem(app, kind, KINDS[kind].name, `${KINDS[kind].long}: ${percent(kinds[kind], tree.total[0])} of self`, (dot) => dot.classList.add(`k${kind}`))));
}

function legendItem(app, category, name, title, paint) {
	const b = element('button'), dot = element('span', 'dot');
	b.type = 'button';
	b.dataset.kind = category;
	b.title = `${title}. Click to fade these frames`;
	b.setAttribute('aria-pressed', String(!app.state.hidden.includes(category)));
	paint(dot);
	b.append(dot, name);
	b.addEventListener('click', () => {
		const { hidden } = app.state;
		app.change({ hidden: hidden.includes(category) ? hidden.filter((k) => k !== category) : hidden.concat(category) });
	});
	return b;
}

const CRUMBS_SHOWN = 4;

function fillCrumbs(app) {
	const { view, zoom } = app, path = [];
	for (let node = zoom; node >= 0; node = view.parentOf(node))
		path.unshift(node);
	const shown = path.length > CRUMBS_SHOWN + 1 ? [path[0], ...path.slice(-CRUMBS_SHOWN)] : path;
	$('crumbs').replaceChildren(...(zoom === view.root ? [] : shown.map((node) => {
		const b = element('button', '', node === view.root ? 'all' : app.painter.texts.short(view.nameOf(node)));
		b.type = 'button';
		b.title = nameText(view, node).slice(0, 1000);
		b.addEventListener('click', () => app.zoomTo(node));
		return b;
	})));
}

const KEYS = [
	['click', 'zoom into a frame; an ancestor or a breadcrumb zooms out'],
	['Esc', 'close what is open, else one zoom step back (also Back, Alt+Left)'],
	['0', 'whole profile'],
	['Ctrl + wheel', 'zoom in and out at the pointer; two fingers on a touch screen'],
	['arrows, Enter', 'move the selection, zoom to it; in the table go to a method, search for it'],
	['/  Ctrl+F', 'search; a regular expression if .* is on'],
	['n  N', 'next, previous hit, the heaviest first'],
	['r', 'bottom-up: who called the code that ran'],
	['i', 'root on top or at the bottom'],
	['s', 'siblings by width or by name'],
	['w', 'sandwich: callers and callees of the selected frame, or of the hottest'],
	['h', 'strip of time on or off, if the profile keeps time'],
	['c', 'callers with one callee of the same weight as one frame (+n), or all'],
	['t', 'table on or off'],
	['m', 'menu of the selected frame (also right click): hide, focus, merge, copy ...'],
	['d', 'dark or light'],
	['Shift', 'pin the card with the numbers'],
	['?', 'this list'],
];

function showKeys() {
	const dialog = $('keys'), list = element('dl');
	for (const [keys, what] of KEYS) {
		const dt = element('dt');
		for (const key of keys.split('  '))
			dt.append(element('kbd', '', key), ' ');
		list.append(dt, element('dd', '', what));
	}
	dialog.replaceChildren(element('h2', '', 'Keys'), list);
	dialog.showModal();
}
