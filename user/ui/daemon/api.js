// Calls of the HTTP interface. Every address is relative to the folder of the daemon.

// `base` leads from the page to that folder: '' or '../'.
export const base = document.querySelector('script[src^="../"]') ? '../' : '';

export class ApiError extends Error {
	constructor(message, { status = 0, type = '', field = '' } = {}) {
		super(message);
		Object.assign(this, { status, type, field });
	}
}

async function errorOf(response) {
	let error = {};
	try {
		error = (await response.json()).error || {};
	} catch (e) {
		// The reply is no JSON: a proxy's page, say.
	}
	return new ApiError(error.message || `The server replied ${response.status}.`, { status: response.status, type: error.type, field: error.field });
}

let aheadMs = 0; // of the server's clock, by its newest reply

// Times of slices and profiles are the server's. Clocks of browsers are an hour wrong at times.
export const serverTime = () => Date.now() + aheadMs;

// Returns the JSON of the reply. Throws an ApiError with a sentence for people.
async function call(path, options) {
	let response;
	try {
		response = await fetch(base + path, { credentials: 'same-origin', ...options });
	} catch (e) {
		throw new ApiError('The daemon does not answer.', { type: 'unreachable' });
	}
	const date = Date.parse(response.headers.get('Date'));
	if (date)
		aheadMs = date - Date.now();
	if (response.status === 401)
		location.assign(`${base}login`);
	if (!response.ok)
		throw await errorOf(response);
	return response.status === 204 ? null : response.json();
}

export const get = (path) => call(`api/v1/${path}`);

export function post(path, body = {}) {
	const isFile = body instanceof Blob;
	return call(`api/v1/${path}`, {
		method: 'POST',
		headers: { 'X-Sysflame': '1', 'Content-Type': isFile ? 'application/octet-stream' : 'application/json' },
		body: isFile ? body : JSON.stringify(body),
	});
}

// Why a page that is shown in a frame would fail; null if it would not.
export async function pageError(path) {
	try {
		const response = await fetch(path, { credentials: 'same-origin' });
		if (response.ok) {
			response.body?.cancel();
			return null;
		}
		return (await errorOf(response)).message;
	} catch (e) {
		return 'The daemon does not answer.';
	}
}

export async function logOut() {
	await fetch(`${base}logout`, { method: 'POST', credentials: 'same-origin', headers: { 'X-Sysflame': '1', 'Content-Type': 'application/x-www-form-urlencoded' } });
	location.assign(`${base}login`);
}

const POLL_MS = 2000;
const SILENT_MS = 10000;
const RETRY_MS = 30000;
const POLLED = ['node', 'sessions', 'fleet', 'triggers'];

// Calls on[EVENT](data) for changes. Asks every two seconds while there is no stream, or a proxy holds it back. A tab in
// the background has no stream: browsers open six connections to a server. A new stream begins with the state of all.
export function follow(on) {
	let stream = null, heard = Date.now(), profiles = '', isAsking = false;
	const poll = async () => {
		for (const what of POLLED.filter((w) => on[w]))
			await get(what).then(on[what], on.error);
		// The list itself may be long; its size and newest entry show most changes.
		const list = await get('profiles?limit=1').then(JSON.stringify, () => profiles);
		if (list !== profiles && profiles)
			on.profiles();
		profiles = list;
	};
	const connect = () => {
		if (stream || document.hidden)
			return;
		stream = new EventSource(`${base}api/v1/stream`);
		for (const what of ['node', 'sessions', 'profiles', 'jvms', 'fleet', 'triggers'].filter((w) => on[w]))
			stream.addEventListener(what, (e) => {
				heard = Date.now();
				on[what](JSON.parse(e.data || 'null'));
			});
		stream.addEventListener('error', () => {
			heard = 0;
			if (stream?.readyState !== EventSource.CLOSED)
				return;
			stream = null;
			setTimeout(connect, RETRY_MS);
		});
	};
	document.addEventListener('visibilitychange', () => {
		if (document.hidden) {
			stream?.close();
			stream = null;
		} else {
			connect();
		}
	});
	setInterval(async () => {
		if (isAsking || document.hidden || Date.now() - heard < SILENT_MS)
			return;
		isAsking = true;
		await poll();
		isAsking = false;
	}, POLL_MS);
	connect();
}
