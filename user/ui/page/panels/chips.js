// Transforms as chips in the toolbar, the form that edits one, and the menu of a frame.
function fillChips(app) {
	const { transforms } = app.state;
	app.toggles = app.toggles || usefulToggles(app.original);
	const isToggle = (t) => app.toggles.some((toggle) => isOf(toggle, t) && isOn(toggle, transforms)), hides = app.toggles.filter((toggle) => isOn(toggle, transforms)).map((toggle) => {
		const chip = element('span', 'chip transform'), cut = element('button', 'cut', '\u00d7');
		chip.title = toggle.title;
		chip.dataset.toggle = toggle.name;
		cut.setAttribute('aria-label', `Show again: ${toggle.name}`);
		cut.addEventListener('click', () => switchToggle(app, toggle));
		chip.append(element('span', '', `hide ${toggle.name}`), cut);
		return chip;
	});
	refill($('transforms'), ...hides, ...transforms.map((t, i) => {
		if (isToggle(t))
			return '';
		const chip = element('span', 'chip transform'), edit = element('button'), cut = element('button', 'cut', '\u00d7');
		const what = t.what || 'all', error = app.transformErrors[i];
		edit.append(element('span', '', `${VERBS[t.verb].name} `), element('b', '', VERBS[t.verb].to ? `${what} \u2192 ${t.to || '(nothing)'}` : what));
		if (app.isIdle[i] && !t.isOff && !error)
			edit.append(element('small', '', ' no effect'));
		edit.title = error || `${VERBS[t.verb].long}: ${what}. Click to change`;
		edit.setAttribute('aria-haspopup', 'menu');
		chip.classList.toggle('off', t.isOff);
		chip.classList.toggle('bad', Boolean(error));
		edit.addEventListener('click', () => transformForm(app, edit, t, i));
		cut.setAttribute('aria-label', `Take out: ${VERBS[t.verb].name} ${what}`);
		cut.addEventListener('click', () => setTransforms(app, transforms.filter((_, k) => k !== i)));
		chip.append(edit, cut);
		return chip;
	}));
}

// Resets the zoom, because a transform renumbers the nodes.
function setTransforms(app, transforms) {
	app.change({ transforms: transforms.slice(0, MOST_TRANSFORMS), link: '', linkName: '' }, true);
}

const addTransform = (app, verb, what, to = '') => setTransforms(app, app.state.transforms.concat({ verb, what, to, isOff: false }));

function verbMenu(app, button) {
	openMenu(button, Object.entries(VERBS).map(([verb, { long }]) => menuItem(long, '', null,
		() => transformForm(app, button, { verb, what: '', to: '', isOff: false }, app.state.transforms.length))));
}

function field(label, value) {
	const line = element('label', 'field', label), input = element('input');
	input.value = value;
	input.spellcheck = false;
	input.maxLength = 2000;
	line.append(input);
	return { line, input };
}

// Without the default action, which would press the button that gets the focus.
const onEnter = (input, run) => input.addEventListener('keydown', (e) => {
	if (e.key === 'Enter') {
		e.preventDefault();
		run();
	}
});

// Edits the transform at index `i`. An index after the last one adds a transform.
function transformForm(app, button, t, i) {
	const { transforms } = app.state, isNew = i === transforms.length, verb = VERBS[t.verb];
	const what = field('text or /regex/', t.what), to = field(verb.to || '', t.to), error = element('p', 'error');
	const put = (part) => {
		const list = transforms.slice();
		list[i] = { ...t, what: what.input.value, to: to.input.value, ...part };
		closeMenu();
		setTransforms(app, list);
	};
	const apply = () => {
		error.textContent = patternError(what.input.value) || (t.verb === 'fold' && patternError(to.input.value)) || '';
		if (!error.textContent)
			put({});
	};
	const swap = (k) => {
		const list = transforms.slice();
		[list[i], list[k]] = [list[k], list[i]];
		closeMenu();
		setTransforms(app, list);
	};
	for (const { input } of [what, to])
		onEnter(input, apply);
	const reach = showReach(app, t.verb, what.input, transforms.slice(0, i));
	const parts = [element('h2', '', verb.long), what.line, reach, ...(verb.to ? [to.line] : []), error, menuItem('Apply', 'Enter', null, apply)];
	if (!isNew)
		parts.push(menuItem('Switched on', '', !t.isOff, () => put({ isOff: !t.isOff })));
	if (!isNew && i > 0)
		parts.push(menuItem('Earlier', '\u2190', null, () => swap(i - 1)));
	if (!isNew && i < transforms.length - 1)
		parts.push(menuItem('Later', '\u2192', null, () => swap(i + 1)));
	openMenu(button, parts);
}

// While a pattern is typed: the share of stacks that it reaches, after the transforms before it.
function showReach(app, verb, input, before) {
	const out = element('p', 'reach'), { original, state: { split, type } } = app;
	let timer = 0, base = null;
	const fill = () => {
		const isLarge = original.nodes.nr > MANY_NODES, what = input.value;
		base = base || (isLarge ? app.profile : (changedProfile(original, split, before, true).profile || app.profile));
		out.textContent = '';
		if (!what || patternError(what) || mayTakeLong({ verb, what, to: '' }, app.sizes()))
			return;
		const part = reachOf(base, type, verb, what);
		out.textContent = part.hit ? `reaches ${percent(part.hit, part.all)} of stacks` : 'reaches no stack';
	};
	out.setAttribute('role', 'status');
	input.addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(fill, TYPING_MS);
	});
	fill();
	return out;
}

function reachOf(profile, type, verb, what) {
	const stacks = new Stacks(profile), pattern = compileWhat(what), self = profile.selfs[type], isOfStacks = ['filter', 'remove', 'replace'].includes(verb);
	const hit = stacks.hits({ ...pattern, isLocal: pattern.isLocal || !isOfStacks }), sum = { hit: 0, all: 0 };
	for (let i = 0; i < self.length; i++) {
		sum.all += self[i];
		sum.hit += hit[i] ? self[i] : 0;
	}
	return sum;
}

function patternError(what) {
	try {
		compileWhat(what);
		return '';
	} catch (e) {
		return e.message.replace(/^Invalid regular expression: /, '');
	}
}

// The menu of a box; `at` is a position in the window.
function frameMenu(app, box, at) {
	const { view } = app, node = box.node;
	if (box.fog || view.nameOf(node) < 0)
		return;
	const name = nameText(view, node), exact = `;${plainName(name)};`, anchor = { getBoundingClientRect: () => ({ left: at.x, top: at.y, bottom: at.y }), focus: () => app.focusView() };
	const space = packageVerbs(app, view, node), exactly = `/^${escapePattern(plainName(name))}$/`;
	openMenu(anchor, [
		element('h2', '', app.painter.texts.short(view.nameOf(node)).slice(0, 80)),
		closing('Zoom', 'Enter', () => app.zoomTo(node)),
		closing('Highlight', '', () => app.searchFor(name)),
		closing('Sandwich: callers and callees', 'w', () => app.change({ panel: 'sandwich', focus: name }, true)),
		closing('Copy name', '', () => copyText(app, name)),
		closing('Copy as regex', '', () => copyText(app, exactly)),
		closing('Copy stack', '', () => copyText(app, stackText(view, node))),
		closing('Copy stack as Markdown', 'y', () => copyMarkdown(app, node)),
		...space,
		element('hr'),
		...['filter', 'remove', 'focus', 'drop', 'above', 'below', 'recursion', 'gaps'].map((verb) => closing(VERBS[verb].long, '', () => addTransform(app, verb, exact))),
		closing('Replace \u2026', '', () => transformForm(app, $('filter'), { verb: 'replace', what: plainName(name), to: '', isOff: false }, app.state.transforms.length)),
		closing('Join such frames \u2026', '', () => transformForm(app, $('filter'), { verb: 'join', what: exactly, to: app.painter.texts.short(view.nameOf(node)), isOff: false }, app.state.transforms.length)),
		closing('Fold from it \u2026', '', () => transformForm(app, $('filter'), { verb: 'fold', what: exactly, to: '', isOff: false }, app.state.transforms.length)),
	]);
}

// What can be done with all methods of the frame's package or namespace.
function packageVerbs(app, view, node) {
	const name = nameText(view, node), kind = view.kindOf(node), space = isJava(kind) || name.includes('::') ? packageOf(name, kind, '') : '';
	if (!name.startsWith(space) || !space || kind === KIND_GROUP)
		return [];
	const all = `/^${escapePattern(space)}(\\.|\\/|::)/`, own = HAS_JVM && app.owners && isJava(kind) ? app.owners().packages : null;
	return [element('hr'), element('h2', '', `Package ${space}`),
		closing('Collapse into one frame', '', () => addTransform(app, 'join', all, `${space} (package)`)),
		closing('Hide: merge it into its callers', '', () => addTransform(app, 'drop', all)),
		...(own ? [closing('Mark as mine', '', () => app.change({ own: [...new Set([...own, space])].join(', '), colour: 'owner' }, true))] : [])];
}

// The stack from the root to the frame, independent of the view's direction. In a sandwich, the frames
// between the frame and the method.
function stackText(view, node) {
	const names = [], isCaller = view.isCaller(node);
	for (; node >= 0 && view.nameOf(node) >= 0; node = view.parentOf(node))
		names.push(plainName(nameText(view, node)));
	return (isCaller ? names : names.reverse()).join(';');
}

// A page opened from a file may lack the clipboard API.
function copyText(app, text, said = 'copied') {
	const done = () => app.say(said, true);
	const byHand = () => {
		const area = element('textarea');
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
		done();
	};
	if (navigator.clipboard)
		navigator.clipboard.writeText(text).then(done, byHand);
	else
		byHand();
}
