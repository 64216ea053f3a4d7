// What the node's page and the fleet's page begin with: who is logged in, and whether the server answers.
import { get, logOut } from './api.js';
import { $ } from './dom.js';

const RETRY_MS = 5000;

export function showBanner({ message }) {
	$('banner').hidden = false;
	$('banner').textContent = message;
}

// Returns the node. Null if the server does not answer; then the page loads again in a moment.
export async function enter() {
	try {
		const node = await get('node');
		// Viewers see no control that changes anything: app.css hides them.
		document.body.classList.toggle('operator', node.role === 'operator');
		$('logout').addEventListener('click', logOut);
		return node;
	} catch (e) {
		showBanner(e);
		setTimeout(() => location.reload(), RETRY_MS);
		return null;
	}
}
