// Menus, chips and the legend.
// A menu holds items only. With a field in it, it is a dialog.
function openMenu(button, parts, label = '') {
	const menu = $('menu'), at = button.getBoundingClientRect();
	menu.replaceChildren(...parts);
	const isForm = menu.querySelector('input') !== null, heads = menu.querySelectorAll('h2'), [head] = heads;
	menu.setAttribute('role', isForm ? 'dialog' : 'menu');
	menu.setAttribute('aria-label', label || head && head.textContent || button.textContent || 'Menu');
	for (const item of isForm ? menu.querySelectorAll('[role^=menuitem]') : heads)
		item.setAttribute('role', !isForm ? 'presentation' : item.hasAttribute('aria-checked') ? 'checkbox' : 'button');
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
		(menu.owner.isConnected === false ? ownerAgain(menu.owner) : menu.owner)?.focus({ preventScroll: true });
	return was;
}

const ownerAgain = ({ dataset }) => [...document.querySelectorAll('[data-dim]')].find((chip) => chip.dataset.dim === dataset.dim);

function menuItem(text, detail, isChecked, run) {
	const b = element('button');
	b.setAttribute('role', isChecked === null ? 'menuitem' : 'menuitemcheckbox');
	if (isChecked !== null) {
		b.setAttribute('aria-checked', isChecked);
		b.append(element('small', '', isChecked ? '\u2713' : '\u2007'));
	}
	b.append(element('span', '', text), element('small', '', detail));
	b.addEventListener('click', run);
	return b;
}

// An item that closes its menu first.
const closing = (text, detail, run, isOn = null) => menuItem(text, detail, isOn, () => {
	closeMenu();
	run();
});

function menuKeys(e) {
	// Up and down skip the small buttons of a line, left and right lead to them.
	const isAcross = e.key === 'ArrowLeft' || e.key === 'ArrowRight', at = document.activeElement, line = at.closest('.line');
	const items = [...(isAcross && line || $('menu')).querySelectorAll(isAcross ? 'button' : 'input, button:not(.line .cut)')];
	const i = items.indexOf(isAcross || !line ? at : line.firstElementChild);
	if (e.key === 'ArrowDown' || e.key === 'ArrowUp' || isAcross && line) {
		e.preventDefault();
		items[(i + (e.key === 'ArrowDown' || e.key === 'ArrowRight' ? 1 : -1) + items.length) % items.length].focus();
	} else if (e.key === 'Escape') {
		closeMenu();
	}
	e.stopPropagation();
}

// Types that only count the samples behind another type's weights are not offered, as in count_is_only of
// user/profile/count.h.
function shownTypes({ profile: { meta: { types } }, state }) {
	const isCount = ({ name, unit }) => unit === 'samples' && name.endsWith('-samples') && types.some((t) => t.unit !== unit && `${t.name}-samples` === name);
	return [...types.keys()].filter((i) => i === state.type || !isCount(types[i]));
}

function typeMenu(app, button) {
	const { types } = app.profile.meta;
	openMenu(button, shownTypes(app).map((i) => closing(types[i].name, types[i].unit, () => app.change({ type: i }), i === app.state.type)));
}

// What hides: toggles with their shares, labels without a chip, transforms.
function filterMenu(app, button) {
	const { labels } = app.profile, dims = HAS_LABELS && labels && labels.ofType[app.state.type] ? labels.dims : [];
	openMenu(button, [
		...toggleItems(app, button), ...(app.toggles.length ? [element('hr')] : []),
		...(HAS_LABELS ? dims.flatMap((dim, d) => (isShownDim(dim) && d < DIMS_MOST && !hasChip(app, dim, d) ? [menuItem(`${middle(dim.name, NAME_LETTERS)} \u2026`, `all ${nrOfValues(dim)}`, null, () => labelMenu(app, button, d))] : [])) : []),
		closing('Collapse all recursion', 'R', () => app.toggleRecursion(), app.hasRecursion()),
		menuItem('Transform \u2026', '', null, () => verbMenu(app, button)),
		menuItem('Presets \u2026', '', null, () => presetMenu(app, button)),
	]);
}

function colourMenu(app, button) {
	openMenu(button, COLOURS.map((colour) => closing(COLOUR_NAMES[colour], '', () => app.change({ colour }), app.state.colour === colour)).concat(HAS_JVM ? menuItem('My packages \u2026', '', null, () => ownForm(app, button)) : []));
}

function optionsMenu(app, button) {
	const { state } = app, item = (text, key, isOn, run) => closing(text, key, run, isOn);
	openMenu(button, [
		...(app.tree.diff ? [] : [menuItem(`Colour: ${COLOUR_NAMES[state.colour]} \u2026`, '', null, () => colourMenu(app, button))]),
		...(HAS_DIFF && app.tree.diff ? diffItems(app, item) : []),
		item('Fold chains of equal weight if rows do not fit', 'c', state.collapse, () => app.toggleChains()),
		item('Ancestors of the zoom as rows', 'a', state.isPathOpen, () => app.change({ isPathOpen: !state.isPathOpen })),
		item('Root at the bottom', 'i', state.isFlipped, () => app.flip()),
		...(HAS_LINES && app.joined ? [item('A frame for each line', '', state.isLined, () => app.change({ isLined: !state.isLined, link: '', linkName: '' }, true))] : []),
		item('Siblings by name', 's', state.byName, () => app.change({ byName: !app.state.byName })),
		...(HAS_TIME && Timeline.dimOf(app.profile, state.type) ? [item('Strip of time', 'h', !app.isTimeHidden, () => app.toggleTime()), item('Time as a heat map', 'H', state.isHeat, () => app.change({ isHeat: !state.isHeat }))] : []),
		...(HAS_DIFF && (app.compared || state.versus || HAS_REQUESTS && state.rival) ? [1, 2].map((side) => item(DIFF_MODES[side + 2].long, '', state.mode === side + 2, () => app.change({ mode: state.mode === side + 2 ? side : side + 2 }, true))) : []),
		element('hr'),
		...splitsOf(app.original, state.split).map((by) => item(`Split by ${HAS_LABELS ? middle(by, NAME_LETTERS) : by}`, '', state.split === by, () => app.change({ split: state.split === by ? '' : by, link: '', linkName: '' }, true))),
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

// Of a file's name: no blanks, and no dash that would make it an option.
const fileStem = (title) => title.replace(/[^A-Za-z0-9._]+/g, '-').replace(/^[-.]+/, '').slice(0, 80) || 'profile';

// One line per stack with self weight, as parts of a Blob. A comparison has weights before and after, as
// `sysflame diff` writes and reads them.
function collapsedText(tree) {
	const parts = [], path = [], { before, after } = HAS_DIFF && tree.diff ? tree.diff.selfs : { before: null, after: tree.self };
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
	same.tabIndex = 0; // keys scroll the footer, which has no button then
	same.title = hasCounts ? '' : 'The profile has no numbers of samples for its weights';
	$('legend').replaceChildren(item('less', 'less'), same, item('more', 'more'), item('more hatched', 'new'), item('gone', 'gone'));
}

function fillLegend(app) {
	const { tree, state, painter } = app, { palette } = painter;
	if (HAS_DIFF && tree.diff) {
		fillScale(tree.diff);
		return;
	}
	if (palette.categories || state.colour === 'owner') {
		refill($('legend'), ...palette.legend(tree).map((c) => legendItem(app, c.category, c.name, c.weight, c.colour)));
		return;
	}
	if (state.colour === 'self') {
		$('legend').replaceChildren(element('span', 'scale', 'darker: more weight of its own'));
		return;
	}
	const { kinds, isUsed } = tree.hotMethods();
	refill($('legend'), ...[8, 1, 2, 3, 9, 4, 5, 6, 7, 10, 0].filter((kind) => isUsed[kind]).map((kind) =>
		legendItem(app, kind, KINDS[kind].name, kinds[kind], kindColour(kind), KINDS[kind].long)));
}

function legendItem(app, category, name, weight, colour, long = name) {
	const whole = app.tree.total[0];
	const b = element('button');
	b.dataset.kind = category;
	b.title = `${long}: ${percent(weight, whole)} of self. Click to fade these frames`;
	press(b, !app.state.hidden.includes(category));
	b.append(colourDot(colour), name, ' ', element('small', '', roughly(weight, whole)));
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
	refill($('crumbs'), ...(zoom === view.root ? [] : shown.map((node) => {
		const b = element('button', '', node === view.root ? 'all' : app.painter.texts.short(view.nameOf(node)));
		b.title = visible(nameText(view, node).slice(0, 1000));
		b.addEventListener('click', () => app.zoomTo(node));
		return b;
	})));
}

const KEYS = [
	['click', 'zoom into a frame; an ancestor or a breadcrumb zooms out'],
	['Esc', 'close what is open, else one zoom step back (also Back, Alt+Left)'],
	['0', 'whole profile'],
	['Ctrl + wheel', 'zoom in and out at the pointer; two fingers on a touch screen'],
	['+  -', 'zoom in and out at the selection; < and > move sideways'],
	['arrows, Enter', 'move the selection, zoom to it; in the table select a method, then its sandwich'],
	['/  Ctrl+F', 'search; a regular expression if .* is on'],
	['n  N', 'next, previous hit, the heaviest first'],
	['r', 'bottom-up: who called the code that ran'],
	['i', 'root on top or at the bottom'],
	['R', 'collapse all recursion'],
	['s', 'siblings by width or by name'],
	['w', 'sandwich: callers and callees of the selected frame, or of the hottest'],
	['h  H', 'strip of time on or off; as a heat map'],
	['c', 'fold callers with one callee of the same weight (+n) if the rows do not fit, or never'],
	['a', 'ancestors of the zoom in one row, or a row each'],
	['t', 'table on or off'],
	['m', 'menu of the selected frame (also right click): hide, focus, merge, copy ...'],
	['y', 'copy the stack of the selection as Markdown'],
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

// The state of the buttons and chips.
function showControls(app) {
	const { state, profile } = app;
	for (const b of document.querySelectorAll('[data-panel]'))
		if (b.tagName === 'BUTTON')
			press(b, b.dataset.panel === state.panel);
	for (const b of document.querySelectorAll('[data-direction]')) {
		b.disabled = Boolean(app.view.isSandwich);
		press(b, (b.dataset.direction === 'up') === state.isUp && !b.disabled);
	}
	const chip = (id, text) => $(id).querySelector('b').textContent = text;
	const type = profile.meta.types[state.type];
	chip('type', type.name);
	$('type').hidden = shownTypes(app).length < 2 || isComparison(profile);
	if (HAS_DIFF)
		showDiffControls(app);
	if (HAS_LABELS)
		fillDims(app);
	fillChips(app);
	fillHidden(app);
	const isEmpty = app.tree.isEmpty();
	$('message').hidden = !isEmpty;
	if (isEmpty)
		showEmpty(app);
}
