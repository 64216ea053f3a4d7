const WAITS = '/\\[sleeping\\]|\\[idle\\]/', PARKED = '/Unsafe\\.park|futex|epoll|pthread_cond/';
const JVM_FOR_WORK = HAS_JVM ? 'ThreadPoolExecutor\\.getTask|ForkJoinPool\\.awaitWork|waitForReferencePendingList|ReferenceQueue\\.remove|TimerThread\\.mainLoop|CompileQueue::get|WorkerThread::run|GangWorker::|VMThread::|WatcherThread::|ConcurrentGCThread::|ServiceThread::|MonitorDeflationThread::|NMethodSweeper::|signal_thread_entry|AttachListener|' : '';
const FOR_WORK = `/${JVM_FOR_WORK}epoll|EPoll|inet_csk_accept/`;

// Toggles: what most people hide, one click each. A toggle is a list of transforms, so it works in links and in
// `--transform` as well. Threads that wait for work are idle; those that wait for a lock, time or data are not.
const TOGGLES = [
	...HAS_JVM ? [{ name: 'GC', title: 'Hide the garbage collector', list: [['remove', '/GangWorker|WorkerThread::run|VMThread::|VM Thread|ConcurrentGCThread|ConcurrentMark|GCTaskThread|ShenandoahControl|ZDriver|ZDirector|GC Thread|libjvm\\.so: GC|G1 Conc|G1 Service|G1 Refine|G1 Main/']] },
	{ name: 'JIT', title: 'Hide the JIT compilers', list: [['remove', '/CompileBroker::|CompileThread|C[12] CompilerThre|libjvm\\.so: (C[12]|JVMCI) |Compilation::|JVMCI/']] }] : [],
	{ name: 'idle', title: 'Hide threads that wait for work: parked pools, epoll; keeps locks, sleep and IO', list: [['remove', `${WAITS} & ${FOR_WORK}`]], without: [['remove', `${PARKED} & ${FOR_WORK}`]] },
	{ name: 'kernel', title: 'Hide frames of the kernel: their callers get their weight', list: [['drop', 'kind:kernel']] },
	...HAS_JVM ? [{ name: 'native', title: 'Hide native frames and those of the JVM: their callers get their weight', list: [['drop', 'kind:native,jvm,stub']] },
	{ name: 'start-up', title: 'Hide start-up: of the JVM, and the loading of classes and libraries', list: [['remove', '/Threads::create_vm|JNI_CreateJavaVM|LoadMainClass|_dl_relocate|_dl_start|dl_main|ClassLoader\\.loadClass|ClassLoader\\.defineClass|SystemDictionary::|ClassFileParser::|InstanceKlass::link|InstanceKlass::initialize|LinkResolver::|MethodHandleNatives|<clinit>/']] }] : [],
];

// Named lists of transforms: those of every page, and those that the user stored in this browser.
const LAUNCHERS = 'clone|clone3|start_thread|thread_start|thread_native_entry|Thread::call_run|JavaThread::run|JavaThread::thread_main_inner|thread_entry|JavaCalls::call|JavaCalls::call_virtual|JavaCalls::call_static|JavaCalls::call_helper|call_stub|StubRoutines \\(1\\)|_start|__libc_start_main|__libc_start_call_main|main|JLI_Launch|ThreadJavaMain|JavaMain|invokeStaticMainWithArgs|jni_invoke_static|jni_CallStaticVoidMethod';
const PRESETS = [
	{ name: 'Without waiting threads', list: [['remove', ';[idle];'], ['remove', ';[sleeping];'], ['remove', ';[disk];'], ['remove', ';[uninterruptible];'], ['remove', ';[stopped];'], ['remove', ';[pinned];']] },
	...HAS_JVM ? [{ name: 'From Java on', list: [['drop', `/^(${LAUNCHERS})$/`]] },
	{ name: 'Generated classes as one', list: [['replace', '/(\\$\\$Lambda|\\$Proxy|LambdaForm\\$MH|GeneratedMethodAccessor|GeneratedConstructorAccessor)[^;.]*/', '$1']] }] : [],
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

const isOf = ({ list, without = [] }, t) => [...list, ...without].some(([verb, what]) => t.verb === verb && t.what === what);
const isOn = (toggle, transforms) => toggle.list.every(([verb, what]) => transforms.some((t) => t.verb === verb && t.what === what && !t.isOff));

// Toggles that the profile has something for.
function usefulToggles({ frames, names, meta }) {
	// Other tools' profiles of waits do not say which threads wait; ours of CPU time have no waits.
	const hasStates = names.includes('[sleeping]') || names.includes('[idle]');
	const isJvm = [3, 4, 5, 6, 7, 9].some((kind) => frames.kind.includes(kind)), has = { kernel: frames.kind.includes(1), native: isJvm, idle: hasStates || !meta.host && names.some((name) => /getTask|awaitWork|epoll/.test(name)) };
	return TOGGLES.filter(({ name }) => has[name] ?? isJvm).map((toggle) => (toggle.without && !hasStates ? { ...toggle, list: toggle.without } : toggle));
}

function switchToggle(app, toggle) {
	const { transforms } = app.state, others = transforms.filter((t) => !isOf(toggle, t)), list = isOn(toggle, transforms) ? [] : unpackPreset(toggle.list);
	// Frames that are dropped first would be missed by the others.
	setTransforms(app, toggle.list[0][0] === 'drop' ? others.concat(list) : list.concat(others));
}

// The items of the filter menu. The shares of a large profile follow when the menu is open.
function toggleItems(app, button) {
	return app.toggles.map((toggle, i) => {
		const item = menuItem(`Hide ${toggle.name}`, '', isOn(toggle, app.state.transforms), () => {
			switchToggle(app, toggle);
			filterMenu(app, button);
			$('menu').querySelectorAll('button')[i].focus();
		});
		item.dataset.toggle = toggle.name;
		item.title = toggle.title;
		setTimeout(() => item.isConnected && (item.lastChild.textContent = toggleShare(app, toggle)));
		return item;
	});
}

// The share of the whole profile that a toggle hides: of stacks, or of the self weight of frames.
function toggleShare({ original, state: { type } }, { list }) {
	const [[verb, what]] = list, self = original.selfs[type];
	if (verb === 'remove') {
		const { hit, all } = reachOf(original, type, verb, what);
		return roughly(hit, all);
	}
	const { kinds } = compileWhat(what), { nodes: { frame }, frames: { kind } } = original;
	let hit = 0, all = 0;
	for (let i = 0; i < self.length; i++) {
		all += self[i];
		hit += i && kinds.includes(kind[frame[i]]) ? self[i] : 0;
	}
	return roughly(hit, all);
}

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
	onEnter(input, keep);
	openMenu(button, [element('h2', '', 'Keep the transforms'), line, menuItem('Keep', 'Enter', null, keep)]);
}
