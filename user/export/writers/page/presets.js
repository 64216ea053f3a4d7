// Named lists of transforms: those of every page, and those that the user stored in this browser.
const PRESETS = [
	{ name: 'Without JIT and GC threads', list: [['remove', '/;(CompileBroker::|CompileThread|GangWorker|WorkerThread::run|VMThread::|ConcurrentGCThread|G1Concurrent|ConcurrentMark|ShenandoahControl|ZDriver|ZDirector|C[12] CompilerThre|GC Thread|G1 (Conc|Service|Refine|Main)|VM Thread)/']] },
	{ name: 'Without waiting threads', list: [['remove', ';[idle];'], ['remove', ';[sleeping];'], ['remove', ';[disk];'], ['remove', ';[stopped];']] },
	{ name: 'From Java on', list: [['below', '/^(call_stub|StubRoutines \\(1\\)|JavaCalls::call_helper)$/']] },
	{ name: 'Generated classes as one', list: [['replace', '/(\\$\\$Lambda|\\$Proxy|LambdaForm\\$MH|GeneratedMethodAccessor|GeneratedConstructorAccessor)[^;.]*/', '$1']] },
	{ name: 'Recursion as one frame', list: [['recursion', '']] },
];
const PRESETS_MOST = 20;

const unpackPreset = (list) => list.map(([verb, what, to, isOff]) => ({ verb, what, to: to || '', isOff: Boolean(isOff) }));

// The stored text may be anything.
function keptPresets() {
	try {
		const isOne = (p) => p && typeof p.name === 'string' && Array.isArray(p.list)
			&& p.list.every((t) => Array.isArray(t) && VERBS[t[0]] && typeof t[1] === 'string');
		return JSON.parse(preferences.get('presets') || '[]').filter(isOne).slice(0, PRESETS_MOST);
	} catch (e) {
		return [];
	}
}

const keepPresets = (presets) => preferences.set('presets', JSON.stringify(presets.slice(-PRESETS_MOST)));

function presetMenu(app, button) {
	const { transforms } = app.state, use = ({ list }) => {
		closeMenu();
		setTransforms(app, transforms.concat(unpackPreset(list)));
	};
	const parts = PRESETS.map((p) => menuItem(p.name, '', null, () => use(p))), kept = keptPresets();
	if (kept.length)
		parts.push(element('hr'));
	for (const p of kept)
		parts.push(presetItem(p, () => use(p), () => {
			keepPresets(keptPresets().filter((other) => other.name !== p.name));
			presetMenu(app, button);
		}));
	if (transforms.length)
		parts.push(element('hr'), menuItem('Keep these as \u2026', '', null, () => presetForm(app, button)));
	openMenu(button, parts);
}

function presetItem({ name }, use, forget) {
	const line = element('div', 'line'), cut = menuItem('\u00d7', '', null, forget);
	cut.setAttribute('aria-label', `Forget ${name}`);
	cut.className = 'cut';
	line.append(menuItem(name, '', null, use), cut);
	return line;
}

function presetForm(app, button) {
	const { line, input } = field('name', ''), keep = () => {
		const name = input.value.trim().slice(0, 80), list = app.state.transforms.map((t) => [t.verb, t.what, t.to, t.isOff]);
		if (!name)
			return;
		keepPresets(keptPresets().filter((p) => p.name !== name).concat({ name, list }));
		closeMenu();
		app.say('kept in this browser', true);
	};
	input.addEventListener('keydown', (e) => e.key === 'Enter' && keep());
	openMenu(button, [element('h2', '', 'Keep the transforms'), line, menuItem('Keep', 'Enter', null, keep)]);
}
