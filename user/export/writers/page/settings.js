// Settings as text for other pages: the address without the parts that mean something else there, packed with
// gzip and base64url.
const SETTINGS_MARK = 'sysflame:';

// Without the parts that belong to one page: the place, the time, and numbers of events, labels and packages.
function portable({ link, linkName, time, versus, type, picked, hidden, ...rest }) {
	return { ...rest, link: '', linkName: '', hidden: rest.colour === 'kind' ? hidden : [] };
}

async function throughGzip(bytes, Stream) {
	return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new Stream('gzip'))).arrayBuffer());
}

async function packSettings(state) {
	const { hash, left } = writeHash({ ...portable(state), picked: [], hasOwn: true });
	const bytes = await throughGzip(new TextEncoder().encode(hash), CompressionStream);
	return { left, packed: SETTINGS_MARK + btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_') };
}

// Reads packed settings, the part of a link from # on, or a whole link. Throws a DataError.
async function unpackSettings(text) {
	text = text.trim();
	if (!text.startsWith(SETTINGS_MARK)) {
		if (!text.includes('#') || text.length > HASH_MOST * 2)
			throw new DataError('these are not settings of a page');
		return readHash(text.slice(text.indexOf('#')));
	}
	try {
		const packed = Uint8Array.from(atob(text.slice(SETTINGS_MARK.length, 2 * HASH_MOST).replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
		return readHash(new TextDecoder().decode(await throughGzip(packed, DecompressionStream)).slice(0, HASH_MOST));
	} catch (e) {
		throw new DataError('these settings are damaged');
	}
}

async function copySettings(app) {
	const { packed, left } = await packSettings(app.state);
	copyText(app, packed, left ? `copied without ${left}: too long` : 'copied');
}

// Pasting changes the view at once.
async function pasteSettings(app, text) {
	const settings = portable(await unpackSettings(text));
	await app.change({ ...settings, panel: settings.panel || app.state.panel, isFlipped: settings.isFlipped ?? app.state.isFlipped }, true);
	app.say('settings applied', true);
}

function settingsForm(app, button) {
	const { line, input } = field('settings, or a link', ''), error = element('p', 'error');
	const apply = () => pasteSettings(app, input.value).then(closeMenu, (e) => error.textContent = e.message);
	input.maxLength = 2 * HASH_MOST;
	input.addEventListener('keydown', (e) => e.key === 'Enter' && apply());
	openMenu(button, [element('h2', '', 'Paste settings'), line, error, menuItem('Apply', 'Enter', null, apply)]);
}

// The view as SVG with all rows. Every box has its name and numbers as title.
function drawing(app) {
	const { view, painter, state } = app, layout = app.layoutOf(Infinity), rows = layout.rows.length, escape = (text) => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd').replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
	const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${painter.width} ${rows * ROW}" font-family="system-ui,sans-serif" font-size="12"><rect width="100%" height="100%" fill="${painter.bg}"/>\n`];
	for (const box of layout.boxes) {
		const y = (state.isFlipped ? rows - 1 - box.row : box.row) * ROW, w = Math.max(box.w > 2.5 ? box.w - 1 : box.w, 0.5);
		const name = box.fog ? plural(box.fog.nodes, 'thin frame') : nameText(view, box.node), weight = box.fog ? box.fog.weight : view.totalOf(box.node);
		const text = box.fog || w < 20 ? '' : box.node === view.root && view.nameOf(box.node) < 0 ? 'all' : painter.texts.fit(painter.context, view.nameOf(box.node), w - 8);
		parts.push(`<g><title>${escape(name)}, ${amount(weight, view.unit)}, ${percent(weight, app.tree.total[0])}</title><rect x="${box.x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${ROW - 1}" rx="2" fill="${box.fog ? painter.fog : painter.fillOf(view, box)}"/>`,
			text ? `<text x="${(box.x + PAD).toFixed(2)}" y="${y + 14}" fill="${painter.text}">${escape(text)}</text>` : '', '</g>\n');
	}
	return parts.concat('</svg>\n').join('');
}
