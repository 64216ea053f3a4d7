// What the page shows, as text behind the # of its address: links and the browser's history keep it.
// The text is foreign input: everything is bounded, and what does not fit is left out.
const HASH_MOST = 8000;
const NAME_CHECKED = 60;

function readHash(text) {
	const get = new URLSearchParams(text.slice(1, HASH_MOST));
	const flag = (key, otherwise) => (get.has(key) ? get.get(key) === '1' : otherwise);
	const list = (key) => (get.get(key) || '').split(',').filter((n) => /^\d{1,9}$/.test(n)).map(Number);
	const [link, ...name] = (get.get('z') || '').split('~');
	return {
		link: /^[\d.]{1,4000}$/.test(link) ? link : '',
		linkName: name.join('~'),
		isUp: flag('up', false),
		query: (get.get('q') || '').slice(0, 2000),
		isRegex: flag('re', true),
		isExact: flag('aa', false),
		panel: ['table', 'flame', 'both'].includes(get.get('v')) ? get.get('v') : null,
		isFlipped: get.has('i') ? flag('i') : null,
		collapse: flag('c', true),
		byName: flag('n', false),
		hidden: list('hide'),
		type: list('type')[0] || 0,
		picked: [list('l0'), list('l1')],
		transforms: readTransforms(get.get('t')),
	};
}

// An array of [verb, what, to, 1 if off].
function readTransforms(text) {
	let list;
	try {
		list = JSON.parse(text || '[]');
	} catch (e) {
		return [];
	}
	const word = (x) => (typeof x === 'string' ? x.slice(0, 2000) : '');
	return (Array.isArray(list) ? list : []).slice(0, MOST_TRANSFORMS).filter((t) => Array.isArray(t) && Object.hasOwn(VERBS, t[0]))
		.map(([verb, what, to, isOff]) => ({ verb, what: word(what), to: word(to), isOff: isOff === 1 }));
}

// `s` as readHash gives it; only what differs from the ordinary is written.
function writeHash(s) {
	const put = new URLSearchParams();
	if (s.link)
		put.set('z', `${s.link}~${s.linkName.slice(0, NAME_CHECKED)}`);
	if (s.isUp)
		put.set('up', '1');
	if (s.query) {
		put.set('q', s.query);
		if (!s.isRegex)
			put.set('re', '0');
		if (s.isExact)
			put.set('aa', '1');
	}
	if (s.panel)
		put.set('v', s.panel);
	if (s.isFlipped !== null)
		put.set('i', s.isFlipped ? '1' : '0');
	if (!s.collapse)
		put.set('c', '0');
	if (s.byName)
		put.set('n', '1');
	if (s.hidden.length)
		put.set('hide', s.hidden.join());
	if (s.type)
		put.set('type', String(s.type));
	s.picked.forEach((values, dim) => values.length && put.set(`l${dim}`, values.join()));
	if (s.transforms.length)
		put.set('t', JSON.stringify(s.transforms.map((t) => [t.verb, t.what, t.to, t.isOff ? 1 : 0])));
	const text = put.toString();
	return text.length < HASH_MOST ? `#${text}` : '#';
}

// Preferences of this browser; storage may be forbidden, for example in a frame.
const preferences = {
	get(key) {
		try {
			return localStorage.getItem(`sysflame.${key}`);
		} catch (e) {
			return null;
		}
	},
	set(key, value) {
		try {
			localStorage.setItem(`sysflame.${key}`, value);
		} catch (e) {
			// The page works without.
		}
	},
};
