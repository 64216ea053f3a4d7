// Finds the data block, decodes it and starts the page, or shows why it cannot.
function setTheme(theme) {
	const stored = theme || preferences.get('theme');
	const isDark = stored ? stored === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
	document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

function showMessage(title, ...lines) {
	const message = $('message');
	document.body.hidden = message.hidden = false;
	message.replaceChildren(element('h2', '', title), ...lines.map((line) => {
		const p = element('p');
		p.append(line.startsWith('sysflame ') ? element('code', '', line) : line);
		return p;
	}));
}

const LARGE = 5e5; // characters of data

// A helper decodes a large profile, so that the page stays responsive. Meanwhile it shows rows in the shape of a
// graph.
async function decodeApart(text) {
	if (text.length < LARGE)
		return decode(text);
	const message = $('message');
	document.body.hidden = message.hidden = false;
	message.replaceChildren(element('p', '', `decoding ${count(text.length / 1e6)} MB`));
	for (let i = 0; i < 14; i++) {
		const row = element('div', 'skeleton');
		row.style.width = `${100 - i * i * 0.45}%`;
		message.append(row);
	}
	try {
		const profile = await helpers.decode.run({ text }, 1e9);
		helpers.decode.end();
		return profile;
	} catch (e) {
		if (e instanceof RangeError)
			throw new DataError(e.message);
		return decode(text); // no worker can be had
	}
}

// The text that a page without its script shows, for pages that are saved.
function takeBefore() {
	const before = $('before');
	before.remove();
	before.hidden = false;
	return before.outerHTML;
}

async function start() {
	const block = $('profile');
	if (!block)
		throw new DataError('the file is cut off: its data is missing');
	const profile = await decodeApart(block.textContent);
	block.remove();
	// The painter reads its colours before there is anything to style.
	const app = new App(profile);
	document.body.hidden = false;
	$('message').hidden = true;
	Object.assign(app, { block, before: takeBefore() });
	app.start();
	followFrame(app);
	return app;
}

function fileName() {
	const name = location.pathname.split('/').pop() || 'this page';
	try {
		return decodeURIComponent(name);
	} catch (e) {
		return name; // a literal %
	}
}

function fail(e) {
	const name = fileName();
	const isOurs = e instanceof DataError;
	document.body.dataset.panel = 'flame';
	document.body.classList.add('failed');
	showMessage('This profile cannot be shown', `${name}: ${isOurs ? e.message : `damaged data (${e && e.message})`}.`,
		'Copy the file again, or make it again from its source:', 'sysflame report IN -o OUT.html');
	window.sysflame.error = isOurs ? e.message : String(e && e.stack);
}

// For tests and for users at the console: the numbers behind the picture.
async function expose(app) {
	while (!app.hasTable)
		await new Promise((resolve) => setTimeout(resolve));
	Object.assign(window.sysflame, {
		ready: true,
		app,
		frames: app.tree.nr,
		total: () => app.tree.total[0],
		// Self and total by method name, as in the table.
		totals() {
			const { self, total } = app.tree.hotMethods(), out = {};
			app.table.name.forEach((name, m) => {
				const known = out[app.profile.names[name]] || (out[app.profile.names[name]] = { self: 0, total: 0 });
				known.self += self[m];
				known.total += total[m];
			});
			return out;
		},
		collapsed: () => collapsedText(app.tree).join(''),
		// The stacks of a data block after transforms, and whether any transform failed.
		async transformed(block, transforms) {
			const { profile, errors } = transformProfile(block ? await decode(block) : app.original, transforms);
			return { nodes: profile.nodes.nr, stacks: block ? collapsedText(new Tree(profile)).join('') : '', isWrong: errors.some(Boolean) };
		},
		settled: () => app.settle(),
		listed: () => app.lists,
		matched: () => (app.search.marks ? { view: app.search.inView.weight, all: app.search.whole.weight, hits: app.search.whole.hits.length } : null),
		middle,
	});
}

function run() {
	window.sysflame = { ready: false, error: '' };
	Helper.source = document.currentScript.textContent;
	setTheme();
	$('message').hidden = true;
	const begin = () => start().then(expose).catch(fail);
	// The script may run late, because it is unpacked first.
	if (document.readyState === 'loading')
		addEventListener('DOMContentLoaded', begin);
	else
		begin();
}

if (typeof document === 'undefined')
	serveAsHelper();
else
	run();
