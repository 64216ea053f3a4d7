// The server redirects here with ?wrong=token or ?wrong=code after a login that failed.
const given = new URLSearchParams(location.search), to = given.get('to') || '', wrong = given.get('wrong');
const code = new URLSearchParams(location.hash.slice(1)).get('code'), $ = (id) => document.getElementById(id);

// The page that asked for the login; the server opens only pages of its own.
$('to').value = to;
$('wrong').hidden = !wrong;
$('wrong').textContent = wrong === 'code' ? 'This address was used already, or is older than ten minutes.' : 'This token is not valid.';

// The browser leaves the cookie out when a link of another site leads here, but not when this page asks.
async function skip() {
	const response = await fetch('api/v1/node', { credentials: 'same-origin' }).catch(() => null);
	if (response?.ok)
		location.replace(`./${/^[ps]\/[\d-]+(\?|$)/.test(to) ? to : ''}${location.hash}`);
}

if (code) {
	history.replaceState(null, '', location.pathname + location.search);
	$('code').value = code;
	document.querySelector('form').submit();
} else if (!wrong) {
	skip();
}
