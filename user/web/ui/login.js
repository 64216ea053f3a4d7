// The server redirects here with ?wrong=1 after a token that is not valid.
const given = new URLSearchParams(location.search), to = given.get('to') || '', isWrong = given.has('wrong');

// The page that asked for the login; the server opens only pages of its own.
document.getElementById('to').value = to;
document.getElementById('wrong').hidden = !isWrong;

// The browser leaves the cookie out when a link of another site leads here, but not when this page asks.
async function skip() {
	const response = await fetch('api/v1/node', { credentials: 'same-origin' }).catch(() => null);
	if (response?.ok)
		location.replace(`./${/^[ps]\/[\d-]+(\?|$)/.test(to) ? to : ''}${location.hash}`);
}

if (!isWrong)
	skip();
