// The page's state as text after the # of its address, for links and the browser's history. The text is
// untrusted: everything is bounded, and parts that do not fit are skipped. A file's own view may be longer
// than an address.
const HASH_MOST = 8000;
const QUERY_MOST = 2000; // letters, also in body.html
const NAME_CHECKED = 60;
const DIMS_MOST = HAS_REQUESTS ? 56 : 12;
const PAN_LEAST = 1e-5; // of the width of a zoom

// Half of a surrogate pair would come back from an address as another character.
const nameStart = (name) => name.slice(0, NAME_CHECKED).replace(/[\ud800-\udbff]$/, '');

// The allowed values of parts of a state.
const PANELS = ['table', 'flame', 'both', 'tree', 'sandwich'];
const COLOURS = ['kind', 'owner', 'package', 'module', 'self'];

function readHash(text, most = HASH_MOST) {
	const get = new URLSearchParams(text.slice(1, most));
	const flag = (key, otherwise) => (get.has(key) ? get.get(key) === '1' : otherwise);
	const list = (key) => (get.get(key) || '').split(',').filter((n) => /^\d{1,9}$/.test(n)).map(Number);
	const choice = (key, all, otherwise) => (all.includes(get.get(key)) ? get.get(key) : otherwise);
	const range = (key) => (/^\d{1,9}-\d{1,9}$/.test(get.get(key) || '') ? get.get(key).split('-').map(Number) : null);
	// A part of the width, as 0.25-0.5.
	const part = (text) => {
		const [from, to] = /^[01]?\.?\d*-[01]?\.?\d*$/.test(text || '') ? text.split('-').map(Number) : [0, 0];
		return from >= 0 && to <= 1 && to - from >= PAN_LEAST ? [from, to] : null;
	};
	const [link, ...name] = (get.get('z') || '').split('~');
	const picked = [];
	for (let d = 0; d < DIMS_MOST; d++)
		picked.push(list(`l${d}`));
	return {
		link: /^[\d.]+$/.test(link) ? link : '',
		linkName: name.join('~'),
		isUp: flag('up', false),
		query: (get.get('q') || '').slice(0, QUERY_MOST),
		isTyped: flag('typed', true),
		isRegex: flag('re', true),
		isExact: flag('aa', false),
		isWord: flag('w', false),
		panel: choice('v', PANELS, null),
		focus: get.get('f') || '',
		colour: choice('col', COLOURS, 'kind'),
		mode: HAS_DIFF && DIFF_MODES[list('m')[0]] ? list('m')[0] : 0,
		isNormalised: flag('norm', true),
		isAbsolute: flag('abs', false),
		isFlipped: get.has('i') ? flag('i') : null,
		collapse: flag('c', true),
		byName: flag('n', false),
		isHeat: flag('heat', false),
		isPathOpen: flag('a', false),
		isLined: HAS_LINES && flag('lines', false),
		isMine: flag('mine', false),
		order: /^-?(self|total|name|change|totalChange)$/.test(get.get('o')) ? get.get('o') : '',
		selection: (get.get('sel') || '').slice(0, 2000),
		pan: part(get.get('x')),
		own: get.has('own') ? get.get('own').slice(0, 2000) : null,
		hidden: list('hide'),
		type: list('type')[0] || 0,
		picked,
		except: list('not').filter((d) => d < DIMS_MOST),
		split: (get.get('split') || '').slice(0, 60),
		time: range('time'),
		versus: range('versus'),
		...(HAS_REQUESTS && { slow: range('slow'), rival: range('rival') }),
		transforms: get.has('t') ? readTransforms(get.get('t')) : null,
	};
}

// Reads an array of [verb, what, to, 1 if off].
function readTransforms(text) {
	let list;
	try {
		list = JSON.parse(text || '[]');
	} catch (e) {
		return [];
	}
	const word = (x) => (typeof x === 'string' ? x : '');
	return (Array.isArray(list) ? list : []).slice(0, MOST_TRANSFORMS).filter((t) => Array.isArray(t) && Object.keys(VERBS).includes(t[0]))
		.map(([verb, what, to, isOff]) => ({ verb, what: word(what), to: word(to), isOff: isOff === 1 }));
}

// The parts that may be too long for an address.
const LONG_PARTS = { z: 'the zoom', sel: 'the selection', q: 'the search', f: 'the method', t: 'the transforms' };

// `s` is a state as readHash returns it. Writes only values other than the defaults. If the text is too long,
// the longest parts are omitted; `left` names them, and `whole` has everything.
function writeHash(s) {
	const put = new URLSearchParams(), set = (key, value, isSet = value) => isSet && put.set(key, String(value));
	set('z', `${s.link}~${nameStart(s.linkName)}`, s.link);
	set('up', '1', s.isUp);
	set('q', s.query);
	set('typed', '0', s.query && !s.isTyped);
	set('re', '0', s.query && !s.isRegex);
	set('aa', '1', s.query && s.isExact);
	set('w', '1', s.query && s.isWord);
	set('v', s.panel);
	set('f', s.focus, s.panel === 'sandwich' && s.focus);
	set('col', s.colour, s.colour !== 'kind');
	set('m', s.mode);
	set('norm', '0', !s.isNormalised);
	set('abs', '1', s.isAbsolute);
	set('i', s.isFlipped ? '1' : '0', s.isFlipped !== null);
	set('c', '0', !s.collapse);
	set('n', '1', s.byName);
	set('heat', '1', s.isHeat);
	set('a', '1', s.isPathOpen);
	set('lines', '1', s.isLined);
	set('mine', '1', s.isMine);
	set('o', s.order);
	set('sel', s.selection);
	set('x', s.pan && s.pan.map((p) => p.toFixed(7).replace(/\.?0+$/, '')).join('-'));
	set('own', s.own, s.own !== null);
	set('hide', s.hidden.join());
	set('type', s.type);
	s.picked.forEach((values, dim) => set(`l${dim}`, values.join()));
	set('not', s.except.join());
	set('split', s.split);
	set('time', s.time && s.time.join('-'));
	set('versus', s.versus && s.versus.join('-'));
	if (HAS_REQUESTS) {
		set('slow', s.slow && s.slow.join('-'));
		set('rival', s.rival && s.rival.join('-'));
	}
	set('t', JSON.stringify(plainTransforms(s.transforms)), s.hasOwn);
	const whole = `#${put}`, left = [], length = (part) => new URLSearchParams([part]).toString().length;
	while (put.toString().length >= HASH_MOST) {
		const [key] = [...put].reduce((a, b) => (length(b) > length(a) ? b : a));
		put.delete(key);
		left.push(LONG_PARTS[key] || 'a choice');
	}
	return { hash: `#${put}`, left: left.join(' and '), whole };
}

const plainTransforms = (list) => list.map((t) => [t.verb, t.what, t.to, t.isOff ? 1 : 0]);

// Preferences of this browser. Storage may be forbidden, for example in a frame: then they hold for this page.
const preferences = {
	get(key) {
		try {
			return localStorage.getItem(`sysflame.${key}`);
		} catch (e) {
			return this[`kept ${key}`] ?? null;
		}
	},
	set(key, value) {
		this[`kept ${key}`] = value;
		try {
			localStorage.setItem(`sysflame.${key}`, value);
		} catch (e) {
			// The page works without it.
		}
	},
};
