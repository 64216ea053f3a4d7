// Settings as text for other pages: the address without the parts that mean something else there, packed with
// gzip and base64url.
const SETTINGS_MARK = 'sysflame:';

// Without the parts that belong to one page: the place, the time, and numbers of events, labels and packages.
function portable({ link, linkName, time, versus, type, picked, except, hidden, pan, ...rest }) {
	return { ...rest, ...(HAS_REQUESTS && { slow: null, rival: null }), pan: null, link: '', linkName: '', hidden: rest.colour === 'kind' ? hidden : [] };
}

async function throughGzip(bytes, Stream) {
	return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new Stream('gzip'))).arrayBuffer());
}

async function packSettings(state) {
	const { hash, left } = writeHash({ ...portable(state), picked: [], except: [], hasOwn: true });
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
	onEnter(input, apply);
	openMenu(button, [element('h2', '', 'Paste settings'), line, error, menuItem('Apply', 'Enter', null, apply)]);
}
